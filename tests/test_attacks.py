"""Rows 1 to 31 of the attack table, those that need no faults: a test's number is its row's."""

import contextlib
import io
import os

import prototype
import verify
from case import Case, codes, judge, read, rechain, store
from prototype import Host, Writer, dump, load
from rei_log import expand, sha256


class WithoutKeys(Case):
    """Rows 1 to 20, and 31: what somebody can do who can only write the files."""

    def setUp(self):
        super().setUp()
        self.segments = read(self.log)

    def edited(self, old=b"4242", new=b"4243"):
        segments = [list(segment) for segment in self.segments]
        segments[0][2] = segments[0][2].replace(old, new)
        self.assertNotEqual(segments, self.segments)
        return segments

    def test_00_honest(self):
        self.verdict("ok", "unproven")
        self.verdict("ok", "unproven", self.pub)
        self.verdict("ok", "local", self.key)
        options = [*self.key, *self.pub, "--host-state", self.writer.state]
        self.assertEqual(self.verdict("ok", "local", options)["levels"], ["L0", "L1", "L2"])

    def test_01_edit(self):
        store(self.log, self.edited())
        report = self.found("CHAIN", "ROOT")
        chain = next(entry for entry in report["violations"] if entry["code"] == "CHAIN")
        self.assertEqual((chain["seg"], chain["seq"]), (0, 3))
        self.assertEqual(report["last_good"]["seq"], 1)

    def test_02_edit_and_rechain(self):
        store(self.log, rechain(self.edited()))
        self.found("TAG", options=self.key)
        self.found("CP_ROOT", options=self.pub)
        self.remove("checkpoints")
        self.verdict("ok", "unproven")  # L0 claims nothing against this

    def test_03_delete(self):
        segments = read(self.log)
        for n, at in ((n, at) for n in (0, 1) for at in range(len(segments[n]) - 1)):
            other = [list(segment) for segment in segments]
            del other[n][at]
            store(self.log, other)
            self.found("SEQ", "CHAIN" if n or at else "HEADER_POSITION")
        del segments[0][3]
        store(self.log, segments)
        self.found("SEQ", "CHAIN", "SEAL_COUNT")

    def test_04_delete_and_rechain(self):
        segments = read(self.log)
        del segments[0][3]
        store(self.log, rechain(segments, counts=False))
        self.found("SEAL_COUNT")
        store(self.log, rechain(segments))
        self.found("TAG", options=self.key)

    def test_05_delete_a_batch(self):
        for n, first, end in ((0, 2, 5), (0, 5, 7), (1, 2, 5)):
            other = [list(segment) for segment in self.segments]
            del other[n][first:end]
            store(self.log, rechain(other))
            self.found("PREV_STATE" if end == 7 else "EPOCH_GAP")
            self.found("TAG", options=self.key)

    def test_06_swap(self):
        segments = read(self.log)
        for at in range(len(segments[0]) - 1):
            other = [list(segment) for segment in segments]
            other[0][at:at + 2] = reversed(other[0][at:at + 2])
            store(self.log, other)
            self.found("SEQ", "CHAIN")

    def test_07_repeat(self):
        segments = read(self.log)
        segments[0].insert(3, segments[0][2])
        store(self.log, segments)
        self.found("SEQ", "CHAIN", "SEAL_COUNT")

    def test_08_truncate_with_checkpoints(self):
        segments = read(self.log)
        for kept in (2, 5):
            store(self.log, [segments[0], segments[1][:kept]])
            self.found("LOG_SHORTER_THAN_CHECKPOINT", options=self.pub)
            self.found("LOG_SHORTER_THAN_CHECKPOINT", "TRUNCATED_TAIL", options=self.key)

    def test_09_truncate_without_checkpoints(self):
        segments = read(self.log)
        self.remove("checkpoints")
        store(self.log, [segments[0], segments[1][:5]])
        self.verdict("incomplete", "unproven", self.pub)
        self.found("TRUNCATED_TAIL", options=self.key)

    def test_10_truncate_without_token(self):
        checkpoint = self.keep("kept", self.writer.checkpoint())
        segments = read(self.log)
        self.remove("checkpoints", "head")
        store(self.log, [segments[0], segments[1][:5]])
        self.verdict("incomplete", "unproven", self.key)
        self.found("LOG_SHORTER_THAN_CHECKPOINT", options=["--trusted-checkpoint", checkpoint])
        self.found("HEADTOK_MISSING", options=[*self.key, "--host-state", self.writer.state])

    def test_11_delete_a_middle_segment(self):
        writer = self.grow(Writer(self.at("three"), self.host), 3)
        os.remove(writer.path(1))
        self.found("SEGMENT_MISSING", log=writer.directory)
        os.remove(writer.path(0))
        self.found("SEGMENT_MISSING", log=writer.directory)

    def test_12_delete_the_last_segment(self):
        checkpoint = self.keep("kept", self.writer.checkpoint())
        store(self.log, read(self.log)[:1])
        self.remove("checkpoints")
        self.verdict("ok", "unproven", self.pub)  # the limit that the table names
        self.assertEqual(self.exit("--require-anchor", *self.pub), 3)
        self.found("KEYSTATE_GEN", options=["--host-state", self.writer.state])
        self.found("TRUNCATED_TAIL", options=self.key)
        self.found("LOG_SHORTER_THAN_CHECKPOINT", options=["--trusted-checkpoint", checkpoint])

    def exit(self, *options):
        with contextlib.redirect_stdout(io.StringIO()):
            return verify.main([self.log, *options])

    def test_13_swap_segments(self):
        store(self.log, read(self.log)[::-1])
        self.found("SEG_NUMBER", "SEQ", "CHAIN")

    def other(self, host, log=bytes(range(1, 17))):
        return self.grow(Writer(self.at("other"), host, log=log))

    def test_14_paste_from_another_log(self):
        other, segments = self.other(self.host), read(self.log)
        segments[0][2] = read(other.directory)[0][4]
        store(self.log, segments)
        self.found("SEQ", "CHAIN")
        segments[0][2] = read(other.directory)[0][2]
        store(self.log, segments)
        self.found("CHAIN")

    def test_15_another_log_in_its_place(self):
        checkpoint, ours = self.keep("kept", self.writer.checkpoint()), self.writer.log.hex()
        other = self.other(self.host).directory
        self.found("LOG_ID", options=["--log-id", ours], log=other)
        self.found("CP_ROOT", options=["--trusted-checkpoint", checkpoint], log=other)
        self.verdict("ok", "local", [*self.key, *self.pub], other)  # a log of this host: nobody said which
        foreign = Host(self.at("foreign"), 2)
        theirs = self.grow(Writer(self.at("theirs"), foreign, log=bytes(range(2, 18)))).directory
        self.found("BIRTH_CERT", options=self.pub, log=theirs)
        self.verdict("unverifiable", None, self.key, theirs)
        store(theirs, [read(self.log)[0], read(theirs)[1]])
        self.found("LOG_ID", "BIRTH", "SEGKEY_CHAIN", "CHAIN", log=theirs)

    def test_16_duplicate_keys(self):
        for old, new in ((b'"pid":4242', b'"pid":1,"pid":4242'), (b'"pid":4242', b'"p\\u0069d":1,"pid":4242'),
                         (b'"seq":2', b'"seq":2,"seq":2'), (b'"pid":4242', b'"a":{"b":[{"c":1,"c":1}]}'),
                         (b'"pid":4242', b'"a":{"b":{"c":1,"\\u0063":1}}')):
            store(self.log, self.edited(old, new))
            self.found("DUPKEY")
        store(self.log, self.edited(b'"pid":4242', b'"pid":4242,"Pid":1'))
        self.assertNotIn("DUPKEY", codes(self.found("CHAIN")))

    def test_17_other_bytes_for_the_same(self):
        for old, new, code in (
                (b'"pid":', b'"pid": ', "NONCANON"), (b'"v":1,"seg":0', b'"seg":0,"v":1', "NONCANON"),
                (b"4242", b"1e0", "PARSE"), (b"4242", b"1.0", "PARSE"), (b"4242", b"-0", "NONCANON"),
                (b"4242", b"9007199254740993", "PARSE"), (b"4242", b"9" * 5000, "PARSE"),
                (b"4242", b"NaN", "PARSE"), (b"/etc", b"\\/etc", "NONCANON"), (b"/etc", b"\\ud800", "PARSE"),
                (b"/etc", b"\\ud83d\\ude00", "NONCANON"), (b"/etc", b"\\u007f", "NONCANON"),
                (b"/etc", b"\xff", "PARSE"), (b"/etc", b"\xed\xa0\x80", "PARSE"),
                (b'{"v"', b'\xef\xbb\xbf{"v"', "PARSE"),
                (b"4242}}", b"4242}}\r", "NONCANON"), (b"4242}}", b"4242}}x", "PARSE"),
                (b'"open"', b"null", "PARSE"), (b'"seq":2', b'"seq":true', "PARSE"),
                (b'"p":', b'"q":', "PARSE"), (b'"v":1', b'"v":2', "VERSION"), (b'"b":"', b'"b":"0', "PARSE")):
            store(self.log, self.edited(old, new))
            self.found(code, "CHAIN")

    def test_17_fields_of_a_known_kind(self):
        """Re-chained by a stranger, so that nothing but the reading of the body can say it."""
        self.remove("checkpoints", "head")
        for body, code in (({"old": "1", "new": "2", "source": "timer", "more": 1}, "PARSE"),
                           ({"new": "2", "old": "1", "source": "timer"}, "NONCANON"),
                           ({"old": 1, "new": "2", "source": "timer"}, "PARSE")):
            segments = [list(segment) for segment in self.segments]
            segments[0][2] = dump({**load(segments[0][2]), "k": "clock", "d": body})
            store(self.log, rechain(segments))
            report = self.found(code)
            self.assertEqual(codes(report), {code})

    def test_18_lost(self):
        segments = read(self.log)
        segments[0][4] = segments[0][4].replace(b'"lost":"0"', b'"lost":"7"')
        store(self.log, segments)
        self.found("CHAIN", "TAG", options=self.key)
        self.found("LOST_BACK")

    def test_19_lines_after_close(self):
        with open(self.writer.path(1), "ab") as file:
            file.write(b"torn")
        self.found("LINE_AFTER_CLOSE")
        with open(self.writer.path(1), "ab") as file:
            file.write(b"\n" + read(self.log)[1][-1] + b"\n")
        self.found("LINE_AFTER_CLOSE")

    def test_20_no_seals(self):
        segments = read(self.log)
        bare = [[line for line in segment if load(line)["k"] != "seal"] for segment in segments]
        bare[1][0] = bare[1][0].replace(b'"state":"closed"', b'"state":"crash"')
        store(self.log, rechain(bare))
        self.remove("checkpoints", "head")
        self.found("UNSEALED")
        self.found("UNSEALED", options=self.key)

    def test_31_own_keys(self):
        """Everything from segment k on by a stranger, who has no keys and no checkpoints to fit."""
        self.remove("checkpoints")
        mine = Writer(self.at("mine"), None, master=bytes(32), log=self.writer.log)
        mine.skseed = lambda n: bytes([0xf0 + n]) * 32
        mine.birth = self.writer.birth
        self.grow(mine)
        ours, theirs = read(self.log), read(mine.directory)
        store(self.log, rechain([ours[0], theirs[1]]))
        self.found("SEGKEY_CHAIN", options=self.pub)
        store(self.log, rechain(theirs))
        self.found("BIRTH", options=self.pub)
        announced = load(theirs[1][0])["d"]["vk"].encode()
        first = load(ours[0][0])["d"]["nvk"].encode()
        head = ours[0][0].replace(first, announced)
        store(self.log, rechain([[head, *ours[0][1:]], theirs[1]]))
        self.found("SEGKEY_SIG", options=self.pub)
        store(self.log, [[head, ours[0][1]]])
        self.found("SEGKEY_SIG", options=self.pub)
        host, stranger = self.writer.birth["hk"].encode(), prototype.public(b"x" * 32).hex().encode()
        store(self.log, [[line.replace(host, stranger) for line in segment] for segment in ours])
        self.found("BIRTH_CERT", options=self.pub)


class Owner(Case):
    """Rows 21 to 30: who has everything that the host holds at T. In full in test_exhaustive.py."""

    def busy(self):
        """A log whose segment 1 is open with five seals, and its owner at that moment."""
        writer = Writer(self.at("open"), self.host)
        self.grow(writer, 1)
        writer.open()
        for _ in range(4):
            writer.append()
            writer.seal()
        return writer, writer.copy(self.at("owned"))

    def test_21_reseal_old_data(self):
        _, owner = self.busy()
        self.cut(owner, 1, 2)
        owner.append()
        owner.seal()
        self.found("EPOCH_GAP", options=self.key, log=owner.directory)

    def test_21_reseal_with_a_faked_epoch(self):
        _, owner = self.busy()
        self.cut(owner, 1, 2)
        owner.append()
        owner.epoch = 1
        owner.seal()
        self.found("TAG", options=self.key, log=owner.directory)

    def test_22_truncate_and_go_on(self):
        _, owner = self.busy()
        self.cut(owner, 1, 6)
        owner.seal()
        self.found("EPOCH_GAP", options=self.key, log=owner.directory)

    def crash(self, head="found"):
        _, owner = self.busy()
        self.cut(owner, 1, 4)
        owner.restart(head(owner) if callable(head) else head)
        owner.close()
        return owner.directory

    def test_23_truncate_and_claim_a_crash(self):
        log = self.crash()
        self.found("TRUNCATED_TAIL", options=self.key, log=log)
        self.verdict("ok", "unproven", self.pub, log)

    def test_24_token_dropped(self):
        self.found("HEADTOK_MISSING", options=self.key, log=self.crash(None))

    def test_25_token_forged(self):
        def forged(owner):
            b = prototype.token_bytes(owner.log, 1, 1, owner.seq - 1, owner.p, 0)
            return prototype.token(b, expand(owner.step, b"head", 1))
        self.found("HEADTOK_FORGED", options=self.key, log=self.crash(forged))

    def test_26_delete_the_open_segment(self):
        _, owner = self.busy()
        os.remove(owner.path(1))
        owner.prev = {"seg": 0, "state": "closed", "last_seq": 6, "last_e": 2}
        owner.open()
        self.found("SEGMENT_MISSING", options=self.key, log=owner.directory)

    def test_26_and_open_it_anew(self):
        _, owner = self.busy()
        self.cut(owner, 0, 7)
        owner.write_slot(1, b"\x55" * 32)
        owner.prev = {"seg": 0, "state": "closed", "last_seq": 6, "last_e": 2}
        owner.open()
        owner.close()
        options = [*self.key, "--host-state", owner.state]
        self.found("TAG", "KEYSTATE_VALUE", "HEADTOK_FORGED", options=options, log=owner.directory)

    def test_27_rollback_of_everything(self):
        old = self.writer.copy(self.at("old"))
        self.grow(self.writer, 1)
        checkpoint = self.keep("kept", self.writer.checkpoint())
        options = [*self.key, *self.pub, "--host-state", old.state]
        self.verdict("ok", "local", options, old.directory)
        anchor = ["--trusted-checkpoint", checkpoint]
        self.found("LOG_SHORTER_THAN_CHECKPOINT", options=anchor, log=old.directory)
        report = self.verdict("ok", "anchored", anchor)
        self.assertEqual(report["anchored"]["size"], report["size"])

    def test_28_fork(self):
        other = self.writer.copy(self.at("fork"))
        self.grow(self.writer, 1)
        other.prev = dict(other.prev)
        other.open()
        other.append(body={"path": "/other", "pid": 1})
        checkpoint = self.keep("kept", other.close())
        options = [*self.key, *self.pub]
        self.verdict("ok", "local", options)
        self.verdict("ok", "local", options, other.directory)
        self.found("CP_ROOT", options=[*options, "--trusted-checkpoint", checkpoint])

    def signed_by(self, signers, origin=None, root=None, size=None):
        made = self.writer
        origin = origin or made.origin
        root = prototype.base64.b64encode(root or made.frontier.root()).decode()
        return prototype.note(f"{origin}\n{made.seq if size is None else size}\n{root}\n", signers)

    def test_29_forged_checkpoint(self):
        origin, ours, foreign = self.host.origin, self.host.seed, b"\x77" * 32
        own = self.writer.origin
        good = self.signed_by([(origin, ours), ("witness", foreign)])
        self.verdict("ok", "anchored", [*self.pub, "--trusted-checkpoint", self.keep("good", good)])
        collision = prototype.key_id(origin, prototype.public(ours)) + bytes(64)
        for raw in (self.signed_by([(origin, foreign)]), self.signed_by([("witness", foreign)]),
                    self.signed_by([(f"{own}/seg/0", self.writer.skseed(1))]),
                    self.signed_by([(f"{own}/seg/2", self.writer.skseed(2))]),
                    self.signed_by([(f"{own}/seg/0", self.writer.skseed(0))])
                    + f"\u2014 {origin} {prototype.base64.b64encode(collision).decode()}\n".encode()):
            self.found("CP_SIG", options=[*self.pub, "--trusted-checkpoint", self.keep("bad", raw)])
            with open(os.path.join(self.log, "checkpoints"), "wb") as file:
                file.write(raw)
            self.found("CP_SIG", options=self.pub)
            self.remove("checkpoints")

    def test_29_root_that_is_not_the_logs(self):
        raw = self.signed_by([(self.host.origin, self.host.seed)], root=bytes(32))
        self.found("CP_ROOT", options=["--trusted-checkpoint", self.keep("bad", raw)])
        raw = self.signed_by([(self.host.origin, self.host.seed)], root=sha256(b""), size=0)
        self.verdict("ok", "anchored", ["--trusted-checkpoint", self.keep("empty", raw)])

    def test_30_checkpoint_of_another_log(self):
        raw = self.signed_by([(self.host.origin, self.host.seed)], origin="rei.example/node-8")
        self.found("CP_ORIGIN", options=["--trusted-checkpoint", self.keep("bad", raw)])
        other = Writer(self.at("other"), self.host, log=bytes(range(1, 17)))
        other.open()
        path = self.keep("other.note", other.close())
        self.found("CP_ORIGIN", options=["--trusted-checkpoint", path])
