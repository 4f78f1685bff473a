"""What every test of the second verifier begins with: a host, a closed log, and ways to change its lines."""

import os
import shutil
import tempfile
import unittest

import prototype
import verify
from prototype import Host, Writer, dump, load
from rei_log import Frontier, sha256

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
    """The same lines with `seq`, `p`, `r` made anew, as a stranger can; with `n` and `e` if asked."""
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
                last = load(segments[n - 1][-1])["d"].get("e")
                line["d"]["prev"].update(last_seq=tree.size - 1, last_e=last)
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
