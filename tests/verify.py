#!/usr/bin/env python3
"""A second verifier of the log format rei-log/1, written from its text and from nothing else.

Takes a log directory and what the auditor holds; prints the verdict and leaves with its exit code: 0 ok,
1 tampered, 2 unverifiable, 3 incomplete. Reads every byte once and keeps nothing that grows with the lines.
Needs Python's own library only. Not built: prune records, anchor receipts, archives.
"""

import argparse
import array
import bisect
import hmac
import json
import os
import re
import sys

from ed25519 import signed
from kinds import KINDS, TYPES, Refused
from rei_log import (Frontier, Unusable, expand, key_id, lines, mac, notes, open_regular, parse_note,
                     parse_token, read_pub, read_regular, read_series, read_slots, sha256, strict_json)

CHECKPOINTS_MAX = 1 << 20  # notes in one file; some hundred bytes of memory each
FINDINGS_MAX = 1000        # violations, and warnings, that a report lists
BUDGET = 1 << 20           # key steps that a log may ask for beyond those that its own seals pay for


class Segment:
    """What is kept of a segment: its keys, where it ended, and its two newest seals."""

    def __init__(self, start):
        self.master = None                  # M_n; None without M_0, like the next two
        self.start = self.step = start      # S[n][0], and S[n][e] of the next seal
        self.vk = self.nvk = None
        self.epoch = self.lines = self.unsealed = 0   # `epoch` is that of the next seal
        self.closed = self.signed = False
        self.seals = {}                     # epoch -> (seq, hash) of the two newest seals
        self.tail = (0, 0, sha256(b""))     # byte, length and hash of what follows the last LF


class Verifier:
    """One pass over one log. `options` are those of the command line."""

    def __init__(self, options):
        self.options, self.directory = options, os.fsencode(options.directory)
        self.pub = read_pub(options.pub) if options.pub else None
        self.series = read_series(options.key) if options.key else None
        self.trusted = read_regular(options.trusted_checkpoint) if options.trusted_checkpoint else None
        self.found = {"violations": {}, "warnings": {}}
        self.unusable = None
        self.other_version, self.known = None, False
        self.log = self.origin = self.birth = self.first = self.master = self.p = self.boot = None
        self.frontier, self.segments, self.busy, self.budget = Frontier(), [], -1, BUDGET
        self.wall_ns = self.boot_ns = self.seals = self.signatures = self.lost = 0
        self.incomplete, self.local, self.anchored = False, False, None
        self.good = self.newest = None

    # findings

    def say(self, where, code, seg=None, seq=None, byte=None, count=1):
        """One entry for each code and segment: the first place, and how often."""
        known = self.found[where]
        if (code, seg) in known:
            known[code, seg]["count"] += count
        elif len(known) < FINDINGS_MAX:
            known[code, seg] = {"code": code, "seg": seg, "seq": seq, "byte": byte, "count": count}

    def violate(self, code, *place):
        self.say("violations", code, *place)

    def check(self, good, code, *place):
        if not good:
            self.violate(code, *place)

    def signed(self, key, message, signature):
        self.signatures += 1
        return signed(key, message, signature)

    # the run

    def run(self):
        try:
            before = self.read_state()
            self.name_sizes()
            self.top = self.highest()
            if self.top < 0:
                raise Unusable(f"{self.options.directory!a} holds no segment of a log")
            self.scan()
            after = self.read_state()
            self.judge_tokens(before[0], after[0])
            self.judge_checkpoints()
            self.judge_slots(before[1], after[1])
        except (Unusable, OSError) as error:
            self.unusable = str(error)
        return self.report()

    def read_state(self):
        """The head token (read until two readings agree: its owner may be writing) and the key slots."""
        path, state, last = os.path.join(self.directory, b"head"), self.options.host_state, None
        for _ in range(10):
            head = read_regular(path) if os.path.lexists(path) else None
            seen = (head and parse_token(head), read_slots(state) if state else None)
            if seen == last:
                break
            last = seen
        return seen

    def highest(self):
        form, top = re.compile(rb"seg-([0-9]{20})\.jsonl"), -1
        with os.scandir(self.directory) as entries:
            for entry in entries:
                found = form.fullmatch(entry.name)
                top = max(top, int(found[1]) if found else -1)
        return top

    def name_sizes(self):
        """Which sizes of the tree the checkpoints speak about: the scan keeps their roots."""
        sizes, path = set(), os.path.join(self.directory, b"checkpoints")
        self.notes_end = 0
        if os.path.lexists(path):
            with open_regular(path) as file:
                self.notes_end = os.fstat(file.fileno()).st_size
                for count, (note, _) in enumerate(notes(file, self.notes_end)):
                    if count == CHECKPOINTS_MAX:
                        raise Unusable(f"more than {CHECKPOINTS_MAX} checkpoints: too many for this verifier")
                    found = re.match(rb"[^\n]*\n([0-9]{1,20})\n", note or b"")
                    sizes.add(int(found[1]) if found else 0)
        found = re.match(rb"[^\n]*\n([0-9]{1,20})\n", self.trusted or b"")
        sizes.add(int(found[1]) if found else 0)
        self.sizes = array.array("Q", sorted(size for size in sizes if size < 2**63))
        self.roots, self.next = bytearray(), 0
        self.keep_root()

    def keep_root(self):
        if self.next < len(self.sizes) and self.sizes[self.next] == self.frontier.size:
            self.roots += self.frontier.root()
            self.next += 1

    def scan(self):
        for n in range(self.top + 1):
            try:
                file = open_regular(os.path.join(self.directory, b"seg-%020d.jsonl" % n))
            except Unusable as error:
                if not isinstance(error.__cause__, FileNotFoundError):
                    raise
                self.violate("SEGMENT_MISSING", n, self.frontier.size, None)
                return
            with file:
                self.scan_segment(n, file)

    def scan_segment(self, n, file):
        segment = Segment(self.master and expand(self.master, b"seg", self.log, n))
        segment.master = self.master
        self.master = self.master and expand(self.master, b"master", self.log, n)
        self.segments.append(segment)
        for byte, raw, leaf in lines(file):
            if isinstance(raw, int):
                segment.tail = (byte, raw, leaf)
                break
            self.scan_line(n, segment, (n, self.frontier.size, byte), raw, leaf)
            segment.lines += 1
            self.p = leaf
            self.frontier.push(leaf)
            self.keep_root()
        if segment.closed and segment.tail[1]:
            self.violate("LINE_AFTER_CLOSE", n, self.frontier.size, segment.tail[0])
        if n == self.top and not segment.closed:
            self.incomplete = True
        elif segment.unsealed:
            first = self.frontier.size - segment.unsealed
            self.say("warnings", "RECOVERED", n, first, None, segment.unsealed)
        if not segment.epoch:
            torn = n == self.top and segment.lines < 2
            self.say("warnings" if torn else "violations", "TORN_OPENING" if torn else "UNSEALED", n)

    def scan_line(self, n, segment, place, raw, leaf):
        self.check(not segment.closed, "LINE_AFTER_CLOSE", *place)
        try:
            line = self.parse_line(raw, place)
        except Refused as refused:
            segment.unsealed += 1
            self.violate(refused.args[0], *place)
            return
        body, kind = line["d"], line["k"]
        self.check(line["seg"] == n, "SEG_NUMBER", *place)
        self.check(line["seq"] == place[1], "SEQ", *place)
        self.check((kind == "head") == (segment.lines == 0), "HEADER_POSITION", *place)
        if kind == "head" and segment.lines == 0:
            self.judge_head(n, segment, body, place)
            boot = body.get("host", {}).get("boot_id")
            self.boot_ns = self.boot_ns if boot is not None and boot == self.boot else 0
            self.boot = boot
        if place[1] or self.log:
            expected = self.p if place[1] else sha256(b"rei/genesis/1\0" + self.log)
            self.check(bytes.fromhex(line["p"]) == expected, "CHAIN", *place)
        self.check(int(line["b"]) >= self.boot_ns, "BOOTTIME_BACKWARDS", *place)
        if int(line["t"]) < self.wall_ns:
            self.say("warnings", "CLOCK_BACK", *place)
        self.boot_ns, self.wall_ns = int(line["b"]), int(line["t"])
        if kind == "seal":
            self.judge_seal(n, segment, line, raw, leaf, place)
        else:
            segment.unsealed += 1

    def parse_line(self, raw, place):
        if raw is None:
            raise Refused("OVERSIZE")
        line = strict_json(raw)
        TYPES["line"](line)
        if line["v"] != 1:
            self.other_version = self.other_version or line["v"]
            raise Refused("VERSION")
        self.known = True
        if line["k"] in KINDS:
            TYPES[line["k"]](line["d"])
        else:
            self.say("warnings", "UNKNOWN_KIND", *place)
        if line["k"] == "seal" and not 0 <= line["d"]["f"] <= 3:
            raise Refused("PARSE")
        return line

    # header and seal

    def judge_head(self, n, segment, body, place):
        log, vk, nvk = (bytes.fromhex(body[key]) for key in ("log", "vk", "nvk"))
        if self.log is None:
            self.log, self.origin = log, body["origin"]
        self.check(log == self.log and self.options.log_id in (None, log.hex()), "LOG_ID", *place)
        pinned = f"{self.pub[0]}/{log.hex()}" if self.pub else self.origin
        self.check(body["origin"] == self.origin == pinned, "ORIGIN", *place)
        if n == 0:
            self.judge_birth(body.get("birth"), vk, place)
            segment.master = self.first
            segment.start = segment.step = self.first and expand(self.first, b"seg", self.log, 0)
            self.master = self.first and expand(self.first, b"master", self.log, 0)
        else:
            self.check(body.get("birth") == self.birth, "BIRTH", *place)
            self.check(vk == self.segments[n - 1].nvk, "SEGKEY_CHAIN", *place)
        message = b"rei/segkey/1\0" + log + n.to_bytes(8, "big") + vk + nvk
        self.check(self.signed(vk, message, bytes.fromhex(body["ks"])), "SEGKEY_SIG", *place)
        segment.vk, segment.nvk = vk, nvk
        self.judge_prev(n, body["prev"], place)

    def judge_birth(self, birth, vk, place):
        """The host's certificate of the log's first key; with it, or the bare option, M_0."""
        self.birth = birth
        self.first = self.options.m0
        if birth is None:
            self.check(not self.pub, "BIRTH_CERT", *place)
            self.check(not self.series, "BIRTH", *place)
            return
        series, host, i = bytes.fromhex(birth["series"]), bytes.fromhex(birth["hk"]), birth["i"]
        first = bytes.fromhex(birth["vk0"])
        message = b"rei/birth-cert/1\0" + self.log + series + max(i, 0).to_bytes(8, "big") + first
        good = i >= 0 and self.signed(host, message, bytes.fromhex(birth["hs"]))
        self.check(good and (not self.pub or host == self.pub[1]), "BIRTH_CERT", *place)
        self.check(vk == first, "BIRTH", *place)
        if self.series and series != self.series[0]:
            self.unusable = f"the log names series {series.hex()}, the key is of {self.series[0].hex()}"
        elif self.series and i > BUDGET:
            self.unusable = f"the log says that it is number {i} of its series: too far for this verifier"
        elif self.series:
            ratchet = self.series[1]
            for number in range(i):
                ratchet = expand(ratchet, b"series", series, number)
            self.first = expand(ratchet, b"log", series, i)

    def judge_prev(self, n, prev, place):
        """What the header says of the segment before, against what was seen of it."""
        if n == 0:
            self.check(prev == {"seg": None, "state": "none"}, "PREV_STATE", *place)
            return
        before = self.segments[n - 1]
        state = "closed" if before.closed else "crash"
        good = prev["state"] == state and prev["seg"] == n - 1
        good = good and prev.get("last_seq", -1) == place[1] - 1
        good = good and prev.get("last_e", -1) == before.epoch - 1
        if state == "crash":
            _, length, digest = before.tail
            good = good and prev.get("tail", 0) == length
            good = good and prev.get("tail_sha256", None if length else digest.hex()) == digest.hex()
        else:
            good = good and not {"tail", "tail_sha256", "head"} & prev.keys()
        self.check(good, "PREV_STATE", *place)
        if not before.closed and self.first:
            head = prev.get("head")
            token = (head["b"].encode(), head["tag"].encode()) if head else None
            code = self.token_code(token, n - 1)
            self.check(code is None, code, *place)

    def judge_seal(self, n, segment, line, raw, leaf, place):
        body, epoch = line["d"], segment.epoch
        self.check(body["e"] == epoch, "EPOCH_GAP", *place)
        self.check(body["n"] == segment.unsealed, "SEAL_COUNT", *place)
        self.check(bytes.fromhex(body["r"]) == self.frontier.root(), "ROOT", *place)
        self.check(int(body["lost"]) >= self.lost, "LOST_BACK", *place)
        if segment.step:
            tag = mac(expand(segment.step, b"tag", epoch), b"rei/seal/1\0" + self.log + raw[:-67])
            self.check(hmac.compare_digest(tag.hex(), body["tag"]), "TAG", *place)
            segment.step = expand(segment.step, b"step", epoch)
            self.budget += 4
        segment.seals = {epoch - 1: segment.seals.get(epoch - 1), epoch: (place[1], leaf.hex(), body["f"])}
        self.lost, segment.unsealed, segment.closed = int(body["lost"]), 0, bool(body["f"] & 1)
        segment.epoch += 1
        self.busy = n if epoch else self.busy
        self.seals += 1
        if not self.found["violations"]:
            self.good = {"seq": place[1], "t": line["t"], "root": body["r"]}

    # the end of the log: tokens, checkpoints, key state

    def step_key(self, g, epoch):
        """S[g][epoch], or None where it is too far away to be honest."""
        if g < len(self.segments):
            step = self.segments[g].start
        else:
            master, ahead = self.master, range(len(self.segments), g)
            self.budget -= len(ahead)
            for number in ahead if self.budget > 0 else ():
                master = expand(master, b"master", self.log, number)
            step = expand(master, b"seg", self.log, g)
        self.budget -= epoch
        if self.budget < 0:
            return None
        for number in range(epoch):
            step = expand(step, b"step", number)
        return step

    def token_code(self, token, n, end=True, age=True):
        """What a head token says against the log up to segment n, or None. While a log is being written its
        end is judged by the token read before the scan, its age by the one read after: neither can race."""
        if token is None:
            return "HEADTOK_MISSING"
        b, tag = token
        try:
            told = strict_json(b)
            TYPES["token"](told)
        except Refused:
            return "HEADTOK_FORGED"
        g, epoch = told["seg"], told["e"]
        if g < -1 or epoch < 0:
            return "HEADTOK_FORGED"
        if g < 0:
            key = expand(self.first, b"birth", self.log)
        else:
            step = self.step_key(g, epoch)
            key = step and expand(step, b"head", epoch)
        if not key or not hmac.compare_digest(mac(key, b"rei/headtok/1\0" + b).hex().encode(), tag):
            return "HEADTOK_FORGED"
        if g > n:
            return "TRUNCATED_TAIL" if end else None
        if self.busy > g:
            return "HEADTOK_STALE" if age else None
        if g < 0:
            return None
        last, seal = self.segments[g].epoch - 1, self.segments[g].seals.get(epoch)
        if epoch > last:
            return "TRUNCATED_TAIL" if end else None
        if last - epoch > 1:
            return "HEADTOK_STALE" if age else None
        return None if seal == (told["seq"], told["h"], told["f"]) else "HEADTOK_FORGED"

    def judge_tokens(self, before, after):
        if not self.first or len(self.segments) <= self.top:
            return
        if after is None and self.options.host_state is None:
            self.say("warnings", "HEADTOK_ABSENT")
            return
        codes = {self.token_code(before, self.top, age=False), self.token_code(after, self.top, end=False)}
        for code in codes - {None}:
            self.violate(code, self.top, self.frontier.size)
        self.local = codes == {None}

    def host_name(self):
        """The host's key is called as the origin without the log's id."""
        if self.pub or not self.log:
            return self.pub and self.pub[0]
        return self.origin.removesuffix("/" + self.log.hex())

    def key_of(self, name):
        if name == self.host_name():
            return self.pub[1] if self.pub else self.birth and bytes.fromhex(self.birth["hk"])
        found = re.fullmatch(r"(.*)/seg/(0|[1-9][0-9]{0,18})", name, re.S)
        if found and found[1] == self.origin and int(found[2]) < len(self.segments):
            return self.segments[int(found[2])].vk
        return None

    def judge_note(self, raw):
        """The codes of a checkpoint, its size and root."""
        body, origin, size, root, signatures = parse_note(raw)
        codes, verdicts = set(), {}
        if origin != self.origin:
            codes.add("CP_ORIGIN")
        for name, identity, signature in signatures:
            key = self.key_of(name)
            if key and key_id(name, key) == identity and name not in verdicts:
                verdicts[name] = self.signed(key, body, signature)
        if not verdicts or not all(verdicts.values()):
            codes.add("CP_SIG")
        for name in verdicts:
            if name != self.host_name() and not codes:
                self.segments[int(name.rpartition("/")[2])].signed = True
        if size > self.frontier.size:
            codes.add("LOG_SHORTER_THAN_CHECKPOINT")
        else:
            at = bisect.bisect_left(self.sizes, size)
            if self.roots[32 * at:32 * at + 32] != root:
                codes.add("CP_ROOT")
        return codes, size, root

    def judge_checkpoints(self):
        path = os.path.join(self.directory, b"checkpoints")
        if self.notes_end:
            with open_regular(path) as file:
                for note, ended in notes(file, self.notes_end):
                    self.judge_local_note(note, ended)
        for n, segment in enumerate(self.segments[:-1]):
            if not segment.signed:
                self.say("warnings", "SEG_UNSIGNED", n)
        if self.trusted is not None:
            try:
                codes, size, root = self.judge_note(self.trusted)
            except Refused as error:
                raise Unusable("the trusted checkpoint is not a checkpoint") from error
            for code in codes:
                self.violate(code, None, size)
            self.anchored = None if codes else {"size": size, "root": root.hex()}

    def judge_local_note(self, note, ended):
        """A note that its writer did not finish, the last one, is no violation."""
        try:
            if note is None:
                raise Refused("CP_PARSE")
            codes, size, root = self.judge_note(note)
        except Refused:
            origin = (self.origin or "").encode() + b"\n"
            torn = not ended and note is not None and (b"\n\n" not in note or not note.endswith(b"\n"))
            torn = torn and (note.startswith(origin) or origin.startswith(note))
            self.say("warnings" if torn else "violations", "CP_TORN" if torn else "CP_PARSE")
            return
        for code in codes:
            self.violate(code, None, size)
        if not codes and (self.newest is None or self.newest["size"] <= size):
            self.newest = {"size": size, "root": root.hex()}

    def judge_slots(self, before, after):
        """Key state read before the scan bounds the top from below, the one read after from above."""
        if before is None or len(self.segments) <= self.top:
            return
        low, high = (edge((slot[0] for slot in slots), default=None)
                     for edge, slots in ((min, before), (max, after)))
        good = low is not None and high is not None and low <= self.top + 1 <= high
        self.check(good, "KEYSTATE_GEN", self.top)
        last = self.segments[-1]
        if not last.epoch and all(slot[0] != self.top for slot in before + after):
            self.violate("UNSEALED", self.top)
        masters = {n: segment.master for n, segment in enumerate(self.segments[-2:], len(self.segments) - 2)}
        if self.first:
            masters[self.top + 1] = self.master
            masters[self.top + 2] = expand(self.master, b"master", self.log, self.top + 1)
        for generation, log, value in after:
            known = masters.get(generation) or value
            self.check(log == self.log and hmac.compare_digest(known, value), "KEYSTATE_VALUE", self.top)
        self.local = self.local or (good and self.first is not None)

    # the answer

    def report(self):
        if not self.known and (self.other_version or 0) > 1:
            self.found["violations"].clear()
            self.unusable = f"the log is of version {self.other_version}; this verifier knows version 1"
        violations = list(self.found["violations"].values())
        verdict = "tampered" if violations else "unverifiable" if self.unusable else "ok"
        if verdict == "ok" and self.incomplete:
            verdict = "incomplete"
        last = self.segments[-1] if self.segments else Segment(None)
        completeness = "anchored" if self.anchored else "local" if self.local else "unproven"
        levels = {"L0": True, "L1": self.pub, "L2": self.first, "L3": self.trusted}
        return {"verdict": verdict, "completeness": completeness if not violations else "unproven",
                "levels": [level for level, given in levels.items() if given], "why": self.unusable,
                "log_id": self.log and self.log.hex(), "origin": self.origin,
                "series": self.birth and self.birth["series"], "i": self.birth and self.birth["i"],
                "size": self.frontier.size, "root": self.frontier.root().hex(),
                "segments": len(self.segments), "seals_checked": self.seals,
                "signatures_checked": self.signatures, "unsealed_lines": last.unsealed,
                "torn_bytes": last.tail[1], "violations": violations,
                "warnings": list(self.found["warnings"].values()), "last_good": self.good,
                "anchored": self.anchored, "newest_checkpoint": self.newest}


EXITS = {"ok": 0, "tampered": 1, "unverifiable": 2, "incomplete": 3}


def arguments(argv):
    parser = argparse.ArgumentParser(description="verifies a log of the format rei-log/1")
    parser.add_argument("directory", metavar="LOG_DIR")
    secret = parser.add_mutually_exclusive_group()
    secret.add_argument("--key", metavar="FILE", help="verification key of the host's series (secret)")
    secret.add_argument("--m0", metavar="HEX", type=hexa_bytes, help="M_0 itself: for test vectors only")
    parser.add_argument("--pub", metavar="FILE", help="the host's public log key")
    parser.add_argument("--log-id", metavar="HEX", help="the log that it must be")
    parser.add_argument("--trusted-checkpoint", metavar="FILE", help="a checkpoint kept outside the host")
    parser.add_argument("--host-state", metavar="FILE", help="the log's key state, taken from the live host")
    parser.add_argument("--require-anchor", action="store_true", help="exit 3 unless a checkpoint vouches")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args(argv)


def hexa_bytes(value):
    if not re.fullmatch("[0-9a-f]{64}", value):
        raise argparse.ArgumentTypeError("64 hex digits wanted")
    return bytes.fromhex(value)


def main(argv):
    options = arguments(argv)
    try:
        report = Verifier(options).run()
    except Unusable as error:
        report = {"verdict": "unverifiable", "completeness": "unproven", "why": str(error),
                  "violations": [], "warnings": []}
    status = EXITS[report["verdict"]]
    if status == 0 and options.require_anchor and report["completeness"] != "anchored":
        status = 3
    if options.json:
        print(json.dumps(report))
        return status
    print(f"{report['verdict']}, {report['completeness']}" + (f": {report['why']}" if report["why"] else ""))
    for where in ("violations", "warnings"):
        for entry in report[where]:
            print(f"{where[:-1]} {entry['code']} segment {entry['seg']} line {entry['seq']} "
                  f"byte {entry['byte']}, {entry['count']} times")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
