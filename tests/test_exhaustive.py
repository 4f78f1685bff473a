"""The second verifier against every small change of a small log, and the owner of the host at every T.

Run by `python3 -m unittest discover -s tests`. Flips take most of the time, so by default they hit each bit of every
eighth byte; `REI_EVERY_FLIP=1` flips all of them, and takes minutes.
"""

import os
import random
import re
import shutil

import prototype
import verify
from prototype import Writer, load, token, token_bytes
from rei_log import expand
from case import Case, codes, judge, read, store


SAMPLE = 1 if os.environ.get("REI_EVERY_FLIP") else 8


class Small(Case):
    """A closed log of two segments with four lines each, and one change of its bytes at a time."""

    def grow(self, writer, segments=2):
        for _ in range(segments):
            writer.open()
            writer.append()
            writer.close()
        return writer

    def setUp(self):
        super().setUp()
        self.raw = {}
        for name in os.listdir(self.log):
            with open(os.path.join(self.log, name), "rb") as file:
                self.raw[name] = file.read()
        self.names = sorted(name for name in self.raw if name.startswith("seg-"))
        self.everything = verify.arguments([self.log, *self.key, *self.pub])
        self.public = verify.arguments([self.log, *self.pub])

    def write(self, name, raw):
        with open(os.path.join(self.log, name), "wb") as file:
            file.write(raw)

    def restore(self):
        for name, raw in self.raw.items():
            self.write(name, raw)
        self.assertEqual(verify.Verifier(self.everything).run()["verdict"], "ok")

    def verdicts(self, options=None):
        return verify.Verifier(options or self.everything).run()["verdict"]

    def flip(self, name, options, expected):
        """Flips bits of a file, each bit of a byte; `expected` says of an offset and a bit which verdicts that may give."""
        raw = bytearray(self.raw[name])
        with open(os.path.join(self.log, name), "r+b", buffering=0) as file:
            # Another part of the bytes for each file.
            for offset in range(sum(map(ord, name)) % SAMPLE, len(raw), SAMPLE):
                for bit in range(8):
                    os.pwrite(file.fileno(), bytes([raw[offset] ^ 1 << bit]), offset)
                    found, wanted = self.verdicts(options), expected(offset, bit)
                    if found not in wanted:
                        self.fail(f"{name} bit {bit} of byte {offset}: {found}, not {wanted}")
                os.pwrite(file.fileno(), raw[offset:offset + 1], offset)
        self.restore()

    def test_every_bit_of_the_segments(self):
        for name in self.names:
            self.flip(name, self.everything, lambda *_: ("tampered",))

    def test_every_bit_of_the_token(self):
        """What follows its second line feed is left over from a longer token, and says nothing."""
        end = len(b"\n".join(self.raw["head"].split(b"\n")[:2])) + 1
        self.assertLess(end, len(self.raw["head"]))
        self.flip("head", self.everything, lambda at, _: ("tampered" if at < end else "ok",))

    def test_every_bit_of_the_checkpoints(self):
        """Two places where a flip may show nothing: the name and id of a signature, which is then one of an
        unknown key beside a good one; and the last line feed, where a crash may have cut the file off."""
        raw, free = self.raw["checkpoints"], set()
        for found in re.finditer(rb"(?<=\xe2\x80\x94 )[^ ]+ .{6}", raw):
            free |= set(range(*found.span()))
        free.add(len(raw) - 1)
        self.assertLess(len(free), len(raw) / 4)
        either = ("ok", "tampered")
        self.flip("checkpoints", self.public, lambda at, _: either if at in free else ("tampered",))

    def test_every_truncation(self):
        """Of the last segment: token or checkpoint convict; the bare files are never `ok`."""
        name = self.names[1]
        for bare in (False, True):
            if bare:
                self.drop("checkpoints", "head")
            for length in range(len(self.raw[name])):
                self.write(name, self.raw[name][:length])
                wanted = ("incomplete",) if bare else ("tampered",)
                self.assertIn(self.verdicts(), wanted, length)
                self.assertIn(self.verdicts(self.public), wanted, length)

    def drop(self, *names):
        for name in names:
            os.remove(os.path.join(self.log, name))

    def test_every_truncation_of_the_first_segment(self):
        self.drop("checkpoints", "head")
        for length in range(len(self.raw[self.names[0]])):
            self.write(self.names[0], self.raw[self.names[0]][:length])
            self.assertEqual(self.verdicts(self.public), "tampered", length)

    def test_every_line_dropped_repeated_swapped(self):
        self.drop("checkpoints", "head")
        segments = read(self.log)
        flat = [(n, line) for n, segment in enumerate(segments) for line in segment]

        def put(lines):
            store(self.log, [[line for n, line in lines if n == at] for at in (0, 1)])
            return self.verdicts(self.public), self.verdicts()
        for at in range(len(flat)):
            dropped = put(flat[:at] + flat[at + 1:])
            last = "incomplete" if at == len(flat) - 1 else "tampered"
            self.assertEqual(dropped, (last, last), at)
            self.assertEqual(put(flat[:at + 1] + flat[at:]), ("tampered",) * 2, at)
            for to in range(at + 1, len(flat)):
                lines = [line for _, line in flat]
                lines[at], lines[to] = lines[to], lines[at]
                both = put([(n, line) for (n, _), line in zip(flat, lines)])
                self.assertEqual(both, ("tampered",) * 2, (at, to))

    def test_any_change_ends_with_a_verdict(self):
        """Heavier damage, to any file, with everything given: no exception, no `ok` for a segment."""
        chance = random.Random(4)
        options = verify.arguments([self.log, *self.key, *self.pub, "--host-state", self.writer.state,
                                    "--trusted-checkpoint", self.keep("kept", self.raw["checkpoints"])])
        for _ in range(400):
            name = chance.choice(sorted(self.raw))
            raw = bytearray(self.raw[name])
            for _ in range(chance.randint(1, 4)):
                at, end = sorted(chance.choices(range(len(raw) + 1), k=2))
                raw[at:end] = chance.choice([b"", raw[:at], chance.randbytes(9), b"\n", raw[at:end] * 2])
            self.write(name, raw)
            found = self.verdicts(options)
            self.assertIn(found, verify.EXITS)
            if name in self.names and raw != self.raw[name]:
                self.assertIn(found, ("tampered", "unverifiable"))
            self.write(name, self.raw[name])


class OwnerAtEveryT(Case):
    """The owner of all state at T cuts the log behind any line, with each token, and goes on in each way."""

    def states(self):
        """(name, writer) for each T behind a seal of a log of three segments, the last one open."""
        writer = Writer(self.at("grown"), self.host)
        for n in range(3):
            writer.open()
            yield f"{n}.0", writer
            for epoch in (1, 2):
                writer.append()
                writer.append()
                if n < 2 and epoch == 2:
                    writer.seal(flags=1)
                    continue
                writer.seal()
                yield f"{n}.{epoch}", writer

    def owner(self, writer):
        if os.path.exists(self.at("owned")):
            shutil.rmtree(self.at("owned"))
        return writer.copy(self.at("owned"))

    def cuts(self, writer):
        """Every place behind a segment's first seal where a cut removes at least one more."""
        segments = read(writer.directory)
        for n, segment in enumerate(segments):
            for count in range(2, len(segment) + (n < writer.top)):
                yield n, count

    def tokens(self, owner):
        """No token, the current one, and three that the owner makes for where the log now ends."""
        with open(os.path.join(owner.directory, "head"), "rb") as file:
            current = file.read()
        segments = read(owner.directory)[owner.top]
        seal = next(line for line in reversed(segments) if load(line)["k"] == "seal")
        facts = load(seal)
        last, seq, h = facts["d"]["e"], facts["seq"], prototype.leaf(seal)
        yield "none", None
        yield "current", current
        for label, epoch in (("old", last), ("next", last + 1), ("own", owner.epoch)):
            key = expand(owner.step, b"head", epoch)
            yield label, token(token_bytes(owner.log, owner.top, epoch, seq, h, 0), key)

    def put(self, owner, raw):
        path = os.path.join(owner.directory, "head")
        if raw is None:
            os.remove(path)
        else:
            owner.write_head(raw)

    def stop(self, owner, raw):
        self.put(owner, raw)

    def restart(self, owner, raw):
        """Claims a crash. The next segment's master key is the one that the owner has, whichever that is."""
        held = self.held
        if held != owner.top + 1:
            master = owner.read_master(held)
            owner.write_slot(held, None)
            owner.write_slot(owner.top + 1, master)
        last = load(read(owner.directory)[-1][-1])
        if last["d"].get("f") == 1:
            owner.prev = {"seg": owner.top, "state": "closed", "last_seq": last["seq"],
                          "last_e": last["d"]["e"]}
            owner.open()
        else:
            owner.restart(raw)
        owner.close()

    def go_on(self, owner, raw):
        owner.append()
        owner.close()

    def reseal(self, owner, raw):
        segment = read(owner.directory)[owner.top]
        owner.epoch = 1 + max(load(line)["d"]["e"] for line in segment if load(line)["k"] == "seal")
        owner.append()
        owner.close()

    def test_every_cut(self):
        attacks = 0
        for name, writer in self.states():
            options = [*self.key, *self.pub]
            report = judge(self.owner(writer).directory, *options)
            self.assertEqual((report["verdict"], codes(report)), ("incomplete", set()), name)
            for n, count in list(self.cuts(writer)):
                for way in (self.stop, self.restart, self.go_on, self.reseal):
                    attacks += self.attack(name, writer, (n, count), way, options)
        self.assertGreater(attacks, 300)

    def attack(self, name, writer, cut, way, options):
        owner = self.cut(self.owner(writer), *cut)
        choices = list(self.tokens(owner)) if way in (self.stop, self.restart) else [("own", None)]
        self.held = writer.top + 1
        for label, raw in choices:
            owner = self.cut(self.owner(writer), *cut)
            way(owner, raw)
            facts = (name, cut, way.__name__, label)
            report = judge(owner.directory, *options, "--host-state", owner.state)
            self.assertEqual(report["verdict"], "tampered", facts)
            wanted = "tampered"
            if raw is None and way == self.stop:  # bare files: the limit that the table names
                wanted = "ok" if load(read(owner.directory)[-1][-1])["d"].get("f") == 1 else "incomplete"
            self.assertEqual(judge(owner.directory, *options)["verdict"], wanted, facts)
        return len(choices)

    def test_owner_without_an_attack(self):
        """The control: what an owner does to an uncut log is what its writer does, and is no alarm."""
        for name, writer in self.states():
            for way in (self.restart, self.go_on):
                owner, self.held = self.owner(writer), writer.top + 1
                way(owner, "found")
                report = judge(owner.directory, *self.key, *self.pub, "--host-state", owner.state)
                self.assertEqual((report["verdict"], codes(report)), ("ok", set()), (name, way.__name__))
