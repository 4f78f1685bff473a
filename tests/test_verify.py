"""Honest ends of a log, and input of every sort: rows 32 to 34, 39, 40, 42 and 43 of the attack table."""

import json
import os
import resource
import subprocess
import sys

import prototype
import verify
from case import Case, judge, read, store
from prototype import dump, load
from rei_log import expand


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

    def token(self):
        with open(os.path.join(self.log, "head"), "rb") as file:
            return file.read()

    def test_35_crash_before_the_token(self):
        """The newest seal is durable, its token is not yet."""
        writer = self.writer
        writer.open()
        writer.append()
        older = self.token()
        writer.seal()
        writer.write_head(older)
        self.verdict("incomplete", "local", self.key)
        writer.restart()
        writer.close()
        self.verdict("ok", "local", self.key)

    def test_35_crash_in_two_openings(self):
        """Segments that were opened and took nothing, under the token of the one before."""
        older = self.token()
        self.writer.open()
        for _ in range(2):
            self.writer.write_head(older)
            self.verdict("incomplete", "local", self.key)
            self.writer.restart()
        self.writer.close()
        self.verdict("ok", "local", self.key)

    def test_an_older_token(self):
        """Kept by whoever had copies: two seals behind, or behind a segment that took events."""
        writer, oldest = self.writer, self.token()
        writer.open()
        opened = self.token()
        writer.append()
        writer.seal()
        older = self.token()
        writer.seal()
        writer.write_head(older)
        self.verdict("incomplete", "local", self.key)
        for token in (opened, oldest):
            writer.write_head(token)
            self.found("HEADTOK_STALE", options=self.key)
        writer.restart(oldest)
        writer.close()
        self.found("HEADTOK_STALE", options=self.key)

    def test_warnings(self):
        self.remove("head", "checkpoints")
        report = self.verdict("ok", "unproven", self.key)
        self.assertEqual({entry["code"]: entry["count"] for entry in report["warnings"]},
                         {"UNKNOWN_KIND": 3, "HEADTOK_ABSENT": 1, "SEG_UNSIGNED": 1})

    def test_32_while_it_is_written(self):
        """Looked at again and again while a process writes, rolls over, and dies and comes back: no alarm."""
        child = os.fork()
        if child == 0:
            try:
                for turn in range(40):
                    self.writer.open() if self.writer.closed else self.writer.restart()
                    for _ in range(turn % 5 * 3):
                        self.writer.append()
                        self.writer.seal()
                    if turn % 3:
                        self.writer.close()
                    else:
                        self.writer.append()
            finally:
                os._exit(0)
        seen, options = set(), [*self.key, *self.pub, "--host-state", self.writer.state]
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            report = judge(self.log, *options)
            self.assertIn(report["verdict"], ("ok", "incomplete"), report)
            seen.add(report["size"])
        self.assertGreater(len(seen), 5)
        self.assertEqual(judge(self.log, *options)["segments"], 42)

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
        argv = [sys.executable, program, *options]
        return subprocess.run(argv, capture_output=True, timeout=60, check=False)

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

    def test_memory(self):
        """A last line without end, larger than what the verifier may take."""
        os.truncate(self.writer.path(1), 300 << 20)
        program, limit = os.path.abspath(verify.__file__), 200 << 20
        done = subprocess.run([sys.executable, program, self.log, "--json"], capture_output=True, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(json.loads(done.stdout)["violations"][0]["code"], "LINE_AFTER_CLOSE")

    def test_more_checkpoints_than_it_takes(self):
        most, verify.CHECKPOINTS_MAX = verify.CHECKPOINTS_MAX, 1
        self.addCleanup(setattr, verify, "CHECKPOINTS_MAX", most)
        self.verdict("unverifiable")

    def test_another_origin(self):
        host = prototype.Host(self.at("elsewhere"), origin="rei.example/node-8")
        self.found("ORIGIN", options=["--pub", host.pub])

    def test_a_slot_that_was_to_be_wiped(self):
        """A crash before the last step of an opening leaves it, and its value counts."""
        options = [*self.key, "--host-state", self.writer.state]
        master = expand(self.host_master(), b"master", self.writer.log, 0)
        self.writer.write_slot(1, master)
        self.verdict("ok", "local", options)
        self.writer.write_slot(1, bytes(32))
        self.found("KEYSTATE_VALUE", options=options)

    def host_master(self):
        return expand(bytes([0x41]) * 32, b"log", self.host.series, 0)

    def test_another_version(self):
        segments = read(self.log)
        segments[0][0] = segments[0][0].replace(b'{"v":1', b'{"v":2')
        store(self.log, segments)
        self.found("VERSION")
        segments = [[line.replace(b'{"v":1', b'{"v":2') for line in segment] for segment in segments]
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

    def test_junk_beside_the_log(self):
        for name in ("head", "checkpoints"):
            path = os.path.join(self.log, name)
            with open(path, "rb") as file:
                kept = file.read()
            for junk in (b"\n\n", b"\xff\n\xff\n", b"[" * 60000, b"{}\n" + b"0" * 64 + b"\n",
                         b"%%\n%%\n\n\n%%\n",
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
            file.write(f"{self.writer.origin}\n12\nabc".encode())
        self.assertIn("CP_TORN", [entry["code"] for entry in self.verdict("ok")["warnings"]])

    def test_long_token_left_over(self):
        with open(os.path.join(self.log, "head"), "ab") as file:
            file.write(b"0a\n")
        self.verdict("ok", "local", self.key)
