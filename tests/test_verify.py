"""The second verifier against the vectors of the text and the rows of its attack table that need no faults.

Run by `python3 -m unittest discover -s tests`. A test's number is its row's.
"""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import prototype
import verify
from prototype import Host, Writer, dump, load
from kinds import GRAMMAR, KINDS, TYPES, Refused
from rei_log import Frontier, expand, lines, sha256, strict_json

MASTER = bytes(range(0x20, 0x40))


def judge(directory, *options):
    """The report on a log, in this process."""
    return verify.Verifier(verify.arguments([directory, *options])).run()


def codes(report):
    return {entry["code"] for entry in report["violations"]}


def read(directory):
    """The raw lines of each segment, and the torn bytes of the last one."""
    segments = []
    for name in sorted(name for name in os.listdir(directory) if name.startswith("seg-")):
        with open(os.path.join(directory, name), "rb") as file:
            segments.append(file.read().split(b"\n")[:-1])
    return segments


def store(directory, segments):
    """Replaces the segments of a log."""
    for name in os.listdir(directory):
        if name.startswith("seg-"):
            os.remove(os.path.join(directory, name))
    for n, segment in enumerate(segments):
        with open(os.path.join(directory, "seg-%020d.jsonl" % n), "wb") as file:
            file.write(b"".join(line + b"\n" for line in segment))


def rechain(segments, counts=True, epochs=False):
    """The same lines with `seq`, `p`, `r` made anew, as somebody without keys can; with `n` and `e` if asked."""
    log = bytes.fromhex(load(segments[0][0])["d"]["log"])
    p, tree, made = sha256(b"rei/genesis/1\0" + log), Frontier(), []
    for n, segment in enumerate(segments):
        made.append([])
        count = epoch = 0
        for raw in segment:
            line = load(raw)
            line.update(seg=n, seq=tree.size, p=p.hex())
            count += 1
            if line["k"] == "seal":
                line["d"]["r"] = tree.root().hex()
                line["d"]["n"] = count - 1 if counts else line["d"]["n"]
                line["d"]["e"] = epoch if epochs else line["d"]["e"]
                count, epoch = 0, epoch + 1
            if line["k"] == "head" and n and line["d"]["prev"]["seg"] is not None:
                line["d"]["prev"].update(last_seq=tree.size - 1, last_e=load(segments[n - 1][-1])["d"].get("e"))
            made[-1].append(dump(line))
            p = prototype.leaf(made[-1][-1])
            tree.push(p)
    return made


class Case(unittest.TestCase):
    """A fresh directory with a host and a closed log of two segments."""

    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        self.host = Host(self.at("host"))
        self.key, self.pub = ["--key", self.host.key], ["--pub", self.host.pub]
        self.writer = self.grow(Writer(self.at("log"), self.host))
        self.log = self.writer.directory

    def at(self, name):
        return os.path.join(self.root, name)

    def grow(self, writer, segments=2):
        for _ in range(segments):
            writer.open()
            writer.append()
            writer.append(body={"path": "/etc/passwd", "pid": 4343})
            writer.seal()
            writer.append()
            writer.close()
        return writer

    def remove(self, *names, log=None):
        for name in names:
            os.remove(os.path.join(log or self.log, name))

    def found(self, *wanted, options=(), log=None):
        """Asserts that the log is tampered with, and that these codes are among what is found."""
        report = judge(log or self.log, *options)
        self.assertEqual(report["verdict"], "tampered", report)
        self.assertLessEqual(set(wanted), codes(report), report)
        return report

    def verdict(self, wanted, completeness=None, options=(), log=None):
        report = judge(log or self.log, *options)
        self.assertEqual(report["verdict"], wanted, report)
        self.assertIn(report["completeness"], (completeness, report["completeness"])[completeness is None:])
        return report

    def keep(self, name, raw):
        """A file of the auditor's."""
        with open(self.at(name), "wb") as file:
            file.write(raw)
        return self.at(name)

    def cut(self, owner, n, count):
        """The owner of everything cuts his log behind `count` lines of segment n; memory stays as it is."""
        segments = read(owner.directory)[:n + 1]
        segments[n] = segments[n][:count]
        store(owner.directory, segments)
        owner.top = n
        owner.replay()
        kinds = [load(line)["k"] for line in reversed(segments[n])]
        owner.count = kinds.index("seal") if "seal" in kinds else len(kinds)
        return owner


class Vectors(Case):
    """Section 7 of the text."""

    def bare(self):
        writer = Writer(self.at("bare"), master=MASTER)
        writer.open()
        writer.append()
        writer.seal()
        return writer

    def test_keys(self):
        log = bytes(range(16))
        step = expand(MASTER, b"seg", log, 0)
        self.assertEqual(step.hex(), "1eb846ffe927baf436fa22a722139771ccf913a6b2a3298fe33aa1f71f57cb50")
        self.assertEqual(expand(step, b"tag", 0).hex(),
                         "0a902bafd7fb72d58e3a6b3ded11dec8a1d9845148f093d5854a38dd659d9ac9")
        step = expand(step, b"step", 0)
        self.assertEqual(step.hex(), "ab5c5568fa814c24ae0a84f5d541a35e19fc7b536661b7262ac616942432b83f")
        self.assertEqual(expand(step, b"tag", 1).hex(),
                         "1f3bb8764f3da2be2819e250bf256a2a179e6b2169855f45460e17f4e618df80")
        self.assertEqual(expand(MASTER, b"master", log, 0).hex(),
                         "345a3958a81f7b84be4d63f0d5070b61c291aedc71e341992e06c0d230627333")

    def test_lines_and_token(self):
        writer = self.bare()
        with open(writer.path(0), "rb") as file:
            leaves = [item[2].hex() for item in lines(file) if not isinstance(item[1], int)]
        self.assertEqual(leaves, ["92e72d5f61fcf89991ca779e218a121adaeed7aeb179f09fda3639662897c774",
                                  "eb798b4c16b24d82c733576c450bbd91076eb26f4677a8506f1b6d89223d13fc",
                                  "c8ac86579a53c5c99bf90367593e332c962d172d74dbdd1dc3cfb2fceef1c795",
                                  "bf8ea7fe84e8b3ac6ad595215537d8c5d54fdf798cdb8a2d9e896df001f19c50"])
        self.assertEqual(writer.frontier.root().hex(),
                         "452bc8b2e6e8ef404bb3adc47c194e7aee7a5f1d17c75059ebda107d8a2c3629")
        with open(os.path.join(writer.directory, "head"), "rb") as file:
            self.assertEqual(file.read().split(b"\n")[1],
                             b"d71469561ca284795a52ce4c2006eb8777b4c018f98966a9dbcd36b87ae232e4")

    def test_birth_token(self):
        with open(os.path.join(Writer(self.at("born"), master=MASTER).directory, "head"), "rb") as file:
            self.assertEqual(file.read(), (
                b'{"log":"000102030405060708090a0b0c0d0e0f","seg":-1,"e":0,"seq":-1,"h":"6e6db90080a20e2a29effc3'
                b'4b0e75dd721dd394f1241b72e506196f7db7d2b90","f":0}\n'
                b"962acd92e1f14bf0f10dbab2fae0396ff94c7a9e5efebf7219d1678f3fde031d\n"))

    def test_checkpoint(self):
        self.assertEqual(self.bare().checkpoint().decode(), (
            "rei.example/node-7\n4\nRSvIsubo70BLs63EfBlOeu56Xx0Xx1BZ69oQfYosNik=\n\n— rei.example/node-7/seg/0 "
            "wrcwVYolyrd/DegzP5cyLZvnjzIEwo3kKA0T4LhP/GOsQv1edbMtjGAOdem0ipPXbgJ11vziyidUhoNrODzcVz553go=\n"))

    def test_note_of_the_standard(self):
        pub = self.keep("pub", b"example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k")
        name, key = verify.read_pub(pub)
        value = prototype.base64.b64decode(
            "Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=")
        self.assertEqual(verify.key_id(name, key), value[:4])
        self.assertTrue(verify.signed(key, b"This is an example message.\n", value[4:]))
        self.assertFalse(verify.signed(key, b"This is an example message!\n", value[4:]))

    def test_the_vector_verifies(self):
        writer = self.bare()
        report = self.verdict("incomplete", "local", ["--m0", MASTER.hex()], writer.directory)
        self.assertEqual((report["size"], report["seals_checked"]), (4, 2))
        self.found("TAG", options=["--m0", bytes(32).hex()], log=writer.directory)

    def test_tree(self):
        def root(leaves):
            if len(leaves) == 1:
                return leaves[0]
            half = 1 << (len(leaves) - 1).bit_length() - 1
            return sha256(b"\x01" + root(leaves[:half]) + root(leaves[half:]))
        tree, leaves = Frontier(), []
        self.assertEqual(tree.root(), sha256(b""))
        for size in range(1, 100):
            leaves.append(sha256(bytes([size])))
            tree.push(leaves[-1])
            self.assertEqual(tree.root(), root(leaves))


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
                (b"/etc", b"\xff", "PARSE"), (b"/etc", b"\xed\xa0\x80", "PARSE"), (b'{"v"', b'\xef\xbb\xbf{"v"', "PARSE"),
                (b"4242}}", b"4242}}\r", "NONCANON"), (b"4242}}", b"4242}}x", "PARSE"),
                (b'"open"', b"null", "PARSE"), (b'"seq":2', b'"seq":true', "PARSE"),
                (b'"p":', b'"q":', "PARSE"), (b'"v":1', b'"v":2', "PARSE"), (b'"b":"', b'"b":"0', "PARSE")):
            store(self.log, self.edited(old, new))
            self.found(code, "CHAIN")

    def test_17_raw_characters_stay(self):
        for body in ({"path": "\x7f/\u2028\u202e\U0001f600\x1b\b\f\n\r\t\0\"\\"}, {"a": [[], {}, None, True]}):
            line = {"v": 1, "seg": 0, "seq": 0, "k": "x", "t": "1", "b": "1", "p": "0" * 64, "d": body}
            self.assertEqual(strict_json(dump(line)), line)
            TYPES["line"](line)

    def test_17_unknown_field_of_a_known_kind(self):
        for old, new in ((b'"f":0', b'"f":0,"g":0'), (b'"lost":"0"', b'"lost":0'),
                         (b'"e":1,"n":2', b'"n":2,"e":1'), (b'"lost":"0"', b'"lost":"00"')):
            segments = read(self.log)
            segments[0][4] = segments[0][4].replace(old, new)
            self.assertNotEqual(segments, read(self.log))
            with self.assertRaises(Refused):
                TYPES["seal"](strict_json(segments[0][4])["d"])

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
        store(self.log, [[line.replace(self.writer.birth["hk"].encode(), prototype.public(b"x" * 32).hex().encode())
                          for line in segment] for segment in ours])
        self.found("BIRTH_CERT", options=self.pub)


class Owner(Case):
    """Rows 21 to 30: who has everything that the host holds at T; the exhaustive form is in test_verify_all.py."""

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
        self.found("LOG_SHORTER_THAN_CHECKPOINT", options=["--trusted-checkpoint", checkpoint], log=old.directory)
        report = self.verdict("ok", "anchored", ["--trusted-checkpoint", checkpoint])
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

    def signed_by(self, signers, origin="rei.example/node-7", root=None, size=None):
        made = self.writer
        root = prototype.base64.b64encode(root or made.frontier.root()).decode()
        return prototype.note(f"{origin}\n{made.seq if size is None else size}\n{root}\n", signers)

    def test_29_forged_checkpoint(self):
        origin, ours, foreign = self.host.origin, self.host.seed, b"\x77" * 32
        good = self.signed_by([(origin, ours), ("witness", foreign)])
        self.verdict("ok", "anchored", [*self.pub, "--trusted-checkpoint", self.keep("good", good)])
        collision = prototype.key_id(origin, prototype.public(ours)) + bytes(64)
        for raw in (self.signed_by([(origin, foreign)]), self.signed_by([("witness", foreign)]),
                    self.signed_by([(f"{origin}/seg/0", self.writer.skseed(1))]),
                    self.signed_by([(f"{origin}/seg/2", self.writer.skseed(2))]),
                    self.signed_by([(f"{origin}/seg/0", self.writer.skseed(0))])
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
        self.found("CP_ROOT", options=["--trusted-checkpoint", path])


class Crash(Case):
    """Rows 32 to 34, and the rest of what an honest end can look like."""

    def crashed(self):
        writer = self.writer
        writer.open()
        writer.append()
        writer.seal()
        writer.append()
        with open(writer.path(2), "ab") as file:
            file.write(b'{"v":1,"seg":2,"se')
        return writer

    def test_32_crash(self):
        writer = self.crashed()
        for options in ((), self.pub, self.key, [*self.key, *self.pub, "--host-state", writer.state]):
            report = self.verdict("incomplete", None, options)
            self.assertEqual((report["unsealed_lines"], report["torn_bytes"]), (1, 18))

    def test_33_crash_and_restart(self):
        writer = self.crashed()
        writer.boot = "boot-2"
        writer.restart()
        writer.append()
        writer.close()
        options = [*self.key, *self.pub, "--host-state", writer.state]
        report = self.verdict("ok", "local", options)
        recovered = [entry for entry in report["warnings"] if entry["code"] == "RECOVERED"]
        self.assertEqual([(entry["seg"], entry["seq"], entry["count"]) for entry in recovered], [(2, 18, 1)])

    def test_34_torn_tail_edited(self):
        writer = self.crashed()
        writer.restart()
        writer.close()
        for tail in (b'{"v":1,"seg":2,"sf', b'{"v":1,"seg":2,"s', b""):
            with open(writer.path(2), "r+b") as file:
                file.truncate(file.read().rindex(b"\n") + 1)
                file.seek(0, os.SEEK_END)
                file.write(tail)
            self.found("PREV_STATE")

    def test_33_torn_opening(self):
        master = self.writer.read_master(2)
        self.writer.write_slot(3, expand(master, b"master", self.writer.log, 2))
        with open(self.writer.path(2), "wb") as file:
            for content in (b"", b'{"v":1', b',"seg":2'):
                file.write(content)
                file.flush()
                options = [*self.key, "--host-state", self.writer.state]
                report = self.verdict("incomplete", "local", options)
                self.assertIn("TORN_OPENING", [entry["code"] for entry in report["warnings"]])
        self.writer.write_slot(2, None)
        self.found("UNSEALED", options=[*self.key, "--host-state", self.writer.state])

    def test_39_clocks(self):
        writer = self.crashed()
        writer.boot = "boot-2"
        line = writer.line
        writer.line = lambda kind, body: {**line(kind, body), "t": "5", "b": "7"}
        writer.restart()
        writer.close()
        report = self.verdict("ok", "local", self.key)
        self.assertIn("CLOCK_BACK", [entry["code"] for entry in report["warnings"]])

    def test_40_boottime(self):
        line, writer = self.writer.line, self.writer
        writer.line = lambda kind, body: {**line(kind, body), "b": str(10**10 - writer.seq)}
        writer.open()
        writer.close()
        self.found("BOOTTIME_BACKWARDS", options=self.key)


class Input(Case):
    """Whatever the files are, the verifier ends, with an answer."""

    def run_alone(self, *options):
        program = os.path.join(os.path.dirname(os.path.abspath(verify.__file__)), "verify.py")
        return subprocess.run([sys.executable, program, *options], capture_output=True, timeout=60, check=False)

    def test_exit_codes(self):
        self.assertEqual(self.run_alone(self.log).returncode, 0)
        self.assertEqual(self.run_alone(self.log, "--require-anchor").returncode, 3)
        self.assertEqual(self.run_alone(self.log, "--pub", self.at("missing")).returncode, 2)
        self.assertEqual(self.run_alone(self.log, "--no-such").returncode, 2)
        self.assertEqual(self.run_alone(self.at("host")).returncode, 2)
        self.remove("checkpoints")
        store(self.log, [read(self.log)[0][:2]])
        self.assertEqual(self.run_alone(self.log).returncode, 3)
        done = self.run_alone(self.log, "--json", *self.key)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(json.loads(done.stdout)["violations"][0]["code"], "TRUNCATED_TAIL")

    def test_files_that_are_none(self):
        for name in ("seg-%020d.jsonl" % 1, "head", "checkpoints"):
            path, aside = os.path.join(self.log, name), self.at("aside")
            os.rename(path, aside)
            for make in (os.mkfifo, lambda at: os.symlink(self.at("aside"), at), os.mkdir):
                make(path)
                self.verdict("unverifiable", None, self.key)
                os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.remove(path)
            os.rename(aside, path)
        self.verdict("ok", "local", self.key)

    def test_secret_for_all_to_read(self):
        os.chmod(self.host.key, 0o640)
        with self.assertRaises(verify.Unusable):
            judge(self.log, *self.key)

    def test_another_version(self):
        segments = read(self.log)
        segments[0][0] = segments[0][0].replace(b'{"v":1', b'{"v":2')
        store(self.log, segments)
        self.verdict("unverifiable")

    def test_junk_lines(self):
        self.remove("checkpoints", "head")
        for junk in (b"", b"\0" * 100, b"[" * 65535, b'{"a":' * 10000, b'"' * 65535, b"x" * 200000,
                     b"9" * 65000, b'{"v":1}', b"[]", b"null", b'"\\', b"\xff" * 70000):
            segments = read(self.writer.directory)
            store(self.log, [[*segments[0][:3], junk, *segments[0][3:]], *segments[1:]])
            report = self.found("OVERSIZE" if len(junk) > 65535 else "PARSE", "CHAIN")
            self.assertEqual(report["size"], 15)
            store(self.log, segments)
            store(self.log, [[junk]])
            self.assertIn(judge(self.log, *self.key)["verdict"], ("tampered",))
            store(self.log, segments)

    def test_depth(self):
        line = b'{"v":1,"seg":0,"seq":0,"k":"x","t":"1","b":"1","p":"' + b"0" * 64 + b'","d":{"a":%s}}'
        strict_json(line % (b"[" * 14 + b"]" * 14))
        strict_json(line % (b'"' + b"[" * 99 + b'"'))
        with self.assertRaises(Refused):
            strict_json(line % (b"[" * 15 + b"]" * 15))

    def test_junk_beside_the_log(self):
        for name in ("head", "checkpoints"):
            path = os.path.join(self.log, name)
            with open(path, "rb") as file:
                kept = file.read()
            for junk in (b"\n\n", b"\xff\n\xff\n", b"[" * 60000, b"{}\n" + b"0" * 64 + b"\n", b"%%\n%%\n\n\n%%\n",
                         b'{"log":"","seg":1e9}\n' + b"0" * 64 + b"\n", kept.replace(b"rei", b"r\xe9i")):
                with open(path, "wb") as file:
                    file.write(junk)
                report = judge(self.log, *self.key)
                self.assertEqual(report["verdict"] == "ok", junk == kept, (name, junk[:40], report))
            with open(path, "wb") as file:
                file.write(kept)

    def test_far_numbers(self):
        """A token, and a place in a series, so far away that their keys would take for ever."""
        segments = read(self.log)
        for g, epoch in ((1, 2**53 - 1), (2**53 - 1, 0)):
            b = prototype.token_bytes(self.writer.log, g, epoch, 1, bytes(32), 0)
            self.writer.write_head(b + b"\n" + b"0" * 64 + b"\n")
            self.found("HEADTOK_FORGED", options=self.key)
        line = load(segments[0][0])
        line["d"]["birth"]["i"] = 2**53 - 1
        store(self.log, [[dump(line), *segments[0][1:]]])
        self.found("BIRTH_CERT", options=self.key)

    def test_torn_checkpoint(self):
        with open(os.path.join(self.log, "checkpoints"), "ab") as file:
            file.write(b"rei.example/node-7\n12\nabc")
        self.assertIn("CP_TORN", [entry["code"] for entry in self.verdict("ok")["warnings"]])

    def test_long_token_left_over(self):
        with open(os.path.join(self.log, "head"), "ab") as file:
            file.write(b"0a\n")
        self.verdict("ok", "local", self.key)


if __name__ == "__main__":
    unittest.main()
