"""A writer of rei-log/1 for the tests of the second verifier: made from the text, honest unless asked.

It keeps its durable state in files, as the text says, and its memory in itself: a copy of both is what the
owner of the host holds at that moment. Seeds and clocks are fixed, so the same calls give the same bytes.
"""

import base64
import copy
import hashlib
import json
import os
import shutil
import zlib

import ed25519
from rei_log import Frontier, expand, key_id, mac, sha256


def public(seed):
    """The public key of a seed."""
    scalar, _ = halves(seed)
    return ed25519.pack_point(ed25519.combine(scalar, ed25519.BASE, 0, ed25519.NEUTRAL))


def halves(seed):
    digest = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(digest[:32], "little") & (2**254 - 8) | 2**254
    return scalar, digest[32:]


def sign(seed, message):
    """Ed25519 after RFC 8032. Not in constant time: the keys of tests are no secrets."""
    scalar, prefix = halves(seed)
    key = public(seed)
    nonce = int.from_bytes(hashlib.sha512(prefix + message).digest(), "little") % ed25519.L
    point = ed25519.pack_point(ed25519.combine(nonce, ed25519.BASE, 0, ed25519.NEUTRAL))
    k = int.from_bytes(hashlib.sha512(point + key + message).digest(), "little") % ed25519.L
    return point + ((nonce + k * scalar) % ed25519.L).to_bytes(32, "little")


def dump(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def load(line):
    return json.loads(line)


def leaf(line):
    return sha256(b"\0" + line)


def be64(number):
    return number.to_bytes(8, "big")


def note(body, signers):
    """A signed note; signers are (name, seed)."""
    text = body + "\n"
    for name, seed in signers:
        value = key_id(name, public(seed)) + sign(seed, body.encode())
        text += f"\u2014 {name} {base64.b64encode(value).decode()}\n"
    return text.encode()


def vkey(name, key):
    return f"{name}+{key_id(name, key).hex()}+{base64.b64encode(bytes([1]) + key).decode()}\n"


def tagged_seal(line, step, log):
    """The bytes of a seal whose tag is still empty, with the tag of that step key."""
    prefix = dump(line)[:-3]
    tag = mac(expand(step, b"tag", line["d"]["e"]), b"rei/seal/1\0" + log + prefix)
    return prefix + tag.hex().encode() + b'"}}'


def token_bytes(log, seg, epoch, seq, h, flags):
    return dump({"log": log.hex(), "seg": seg, "e": epoch, "seq": seq, "h": h.hex(), "f": flags})


def token(b, key):
    return b + b"\n" + mac(key, b"rei/headtok/1\0" + b).hex().encode() + b"\n"


class Host:
    """What outlives a log: the series, the host log key, and the files that the auditor gets of them."""

    def __init__(self, directory, number=1, origin="rei.example/node-7"):
        self.directory, self.origin, self.i = directory, origin, 0
        self.series, self.ratchet = bytes([number]) * 16, bytes([0x40 + number]) * 32
        self.seed = bytes([0x80 + number]) * 32
        self.key, self.pub = os.path.join(directory, "verification.key"), os.path.join(directory, "host.pub")
        os.makedirs(directory, exist_ok=True)
        text = f"rei-verification-key/1\nseries {self.series.hex()}\nr0 {self.ratchet.hex()}\n"
        with open(os.open(self.key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
        with open(self.pub, "w") as file:
            file.write(vkey(origin, public(self.seed)))

    def birth(self, log, vk):
        """The next number of the series: M_0 and the certificate."""
        i, series = self.i, self.series
        master = expand(self.ratchet, b"log", series, i)
        self.ratchet, self.i = expand(self.ratchet, b"series", series, i), i + 1
        message = b"rei/birth-cert/1\0" + log + series + be64(i) + vk
        return master, {"series": series.hex(), "i": i, "vk0": vk.hex(), "hk": public(self.seed).hex(),
                        "hs": sign(self.seed, message).hex()}


class Writer:
    """One log. `host` certifies it; without one it is bare, from `master` alone, as in the vectors."""

    def __init__(self, directory, host=None, master=None, log=bytes(range(16)), origin="rei.example/node-7"):
        self.directory, self.host, self.log = directory, host, log
        self.origin = f"{host.origin}/{log.hex()}" if host else origin
        self.birth = None
        if host:
            master, self.birth = host.birth(log, public(self.skseed(0)))
        os.makedirs(directory)
        self.state = directory + ".state"
        self.write_slot(0, master)
        self.top, self.closed, self.seq, self.p = -1, True, 0, sha256(b"rei/genesis/1\0" + log)
        self.frontier, self.prev, self.boot = Frontier(), {"seg": None, "state": "none"}, "boot-1"
        b = token_bytes(log, -1, 0, -1, self.p, 0)
        self.write_head(token(b, expand(master, b"birth", log)))

    def skseed(self, n):
        return bytes([n + 1 + self.log[-1] - 15]) * 32

    # durable things

    def path(self, n):
        return os.path.join(self.directory, "seg-%020d.jsonl" % n)

    def write_slot(self, n, master):
        """Writes the slot of generation n; without a master key, wipes it."""
        slot = b""
        if master:
            slot = b"REIKEY01" + be64(n) + self.log + master + self.skseed(n)
            slot += zlib.crc32(slot).to_bytes(4, "little")
        with open(os.open(self.state, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            file.truncate(8192)
            file.seek(4096 * (n % 2))
            file.write(slot.ljust(512, b"\0"))

    def read_master(self, n):
        with open(self.state, "rb") as file:
            file.seek(4096 * (n % 2))
            slot = file.read(512)
        assert slot[8:16] == be64(n), "the state does not hold this generation"
        return slot[32:64]

    def write_head(self, raw):
        """In place, so that the end of a longer token stays behind a shorter one."""
        path = os.path.join(self.directory, "head")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        os.pwrite(descriptor, raw, 0)
        os.close(descriptor)

    def write(self, *lines):
        with open(self.path(self.top), "ab") as file:
            file.write(b"".join(line + b"\n" for line in lines))

    # lines

    def line(self, kind, body):
        """The fields of the next line."""
        wall_ns, boot_ns = 1767225600000001000 + 1000 * self.seq, 1000001000 + 1000 * self.seq
        return {"v": 1, "seg": self.top, "seq": self.seq, "k": kind, "t": str(wall_ns), "b": str(boot_ns),
                "p": self.p.hex(), "d": body}

    def take(self, raw):
        self.p, self.seq = leaf(raw), self.seq + 1
        self.frontier.push(self.p)
        return raw

    def append(self, kind="open", body=None):
        """One more line, not sealed."""
        self.count += 1
        self.write(self.take(dump(self.line(kind, body or {"path": "/etc/shadow", "pid": 4242}))))

    def sealed(self, flags=0, lost=0):
        body = {"e": self.epoch, "n": self.count, "f": flags, "r": self.frontier.root().hex(),
                "lost": str(lost)}
        raw = tagged_seal(self.line("seal", {**body, "tag": ""}), self.step, self.log)
        return self.take(raw)

    def token_now(self, flags=0):
        """The head token of the seal that was just made."""
        b = token_bytes(self.log, self.top, self.epoch, self.seq - 1, self.p, flags)
        return token(b, expand(self.step, b"head", self.epoch))

    def advance(self):
        self.step, self.epoch, self.count = expand(self.step, b"step", self.epoch), self.epoch + 1, 0

    def seal(self, flags=0, lost=0):
        self.write(self.sealed(flags, lost))
        self.write_head(self.token_now(flags))
        self.advance()
        if flags & 1:
            self.closed = True
            self.prev = {"seg": self.top, "state": "closed", "last_seq": self.seq - 1,
                         "last_e": self.epoch - 1}

    def open(self):
        """Opens the next segment, in the order of the text."""
        n = self.top + 1
        master = self.read_master(n)
        self.write_slot(n + 1, expand(master, b"master", self.log, n))
        self.top, self.epoch, self.count, self.closed = n, 0, 1, False
        self.step = expand(master, b"seg", self.log, n)
        raw = self.take(dump(self.line("head", self.head_body(n))))
        self.write(raw, self.sealed())
        self.write_head(self.token_now())
        self.advance()
        self.write_slot(n, None)

    def head_body(self, n):
        seed, vk, nvk = self.skseed(n), public(self.skseed(n)), public(self.skseed(n + 1))
        ks = sign(seed, b"rei/segkey/1\0" + self.log + be64(n) + vk + nvk)
        body = {"log": self.log.hex(), "origin": self.origin, "vk": vk.hex(), "nvk": nvk.hex(),
                "ks": ks.hex(), "prev": self.prev}
        if self.birth:
            body.update(birth=self.birth, fmt="rei-log/1", host={
                "machine_id": "m", "boot_id": self.boot, "hostname": "node-7", "kernel": "6.1"})
        return body

    def checkpoint(self):
        body = f"{self.origin}\n{self.seq}\n{base64.b64encode(self.frontier.root()).decode()}\n"
        signers = [(f"{self.origin}/seg/{self.top}", self.skseed(self.top))]
        if self.host:
            signers.insert(0, (self.host.origin, self.host.seed))
        made, path = note(body, signers), os.path.join(self.directory, "checkpoints")
        with open(path, "ab") as file:
            file.write(made + b"%%\n")
        return made

    def close(self):
        self.seal(flags=1)
        return self.checkpoint()

    # the end of a process, and the owner of the host

    def restart(self, head="found"):
        """A new process finds what is there, says so in the next header and goes on. `head` is the token that
        it embeds: the one it finds, another one, or none."""
        with open(self.path(self.top), "rb") as file:
            *complete, tail = file.read().split(b"\n")
        assert len(complete) > 1, "a torn opening is deleted, and is not for this writer"
        seals = [load(line)["d"]["e"] for line in complete if load(line)["k"] == "seal"]
        last = load(complete[-1])
        self.prev = {"seg": self.top, "state": "crash", "last_seq": last["seq"], "last_e": seals[-1],
                     "tail": len(tail), "tail_sha256": sha256(tail).hex()}
        if head == "found":
            with open(os.path.join(self.directory, "head"), "rb") as file:
                head = file.read()
        if head is not None:
            b, tag, _ = head.split(b"\n", 2)
            self.prev["head"] = {"b": b.decode(), "tag": tag.decode()}
        self.replay()
        self.open()

    def replay(self):
        """Position, chain and tree from the files: what a new process does, and an owner after a cut."""
        self.frontier, self.seq, self.p = Frontier(), 0, sha256(b"rei/genesis/1\0" + self.log)
        for n in range(self.top + 1):
            with open(self.path(n), "rb") as file:
                for line in file.read().split(b"\n")[:-1]:
                    self.take(line)

    def copy(self, directory):
        """This writer, its memory and its files, once more: what the owner of the host has now."""
        shutil.copytree(self.directory, directory)
        shutil.copy(self.state, directory + ".state")
        other = copy.copy(self)
        other.directory, other.state = directory, directory + ".state"
        other.frontier = copy.deepcopy(self.frontier)
        return other
