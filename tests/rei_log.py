"""The format rei-log/1 as its text gives it: hashes, keys, tree, lines, notes, tokens and their files.

Takes bytes that may be anything. Raises `Refused` with a violation's code where they are not what the text
says, `Unusable` where a file is not one to read.
"""

import hashlib
import hmac
import json
import os
import re
import stat
import zlib

from kinds import Refused, decimal, unpack

LINE_MAX = 65535  # bytes of a line without its LF
DEPTH_MAX = 16    # the line's own object is depth 1
INT_MAX = 2**53 - 1


class Unusable(Exception):
    """The verifier cannot do its work: what is wrong, and with which file."""


def sha256(raw):
    return hashlib.sha256(raw).digest()


def mac(key, raw):
    return hmac.digest(key, raw, "sha256")


def expand(key, label, *parts):
    """HKDF-Expand with 32 bytes of output: one HMAC. Whole numbers go in as eight bytes, big end first."""
    info = b"rei/" + label + b"/1\0"
    for part in parts:
        info += part if isinstance(part, bytes) else part.to_bytes(8, "big")
    return mac(key, info + b"\x01")


class Frontier:
    """The Merkle tree of RFC 6962, as far as its root and its next leaf need it: 64 hashes at most."""

    def __init__(self):
        self.size, self.nodes = 0, []

    def push(self, leaf):
        count = self.size
        while count & 1:
            leaf = sha256(b"\x01" + self.nodes.pop() + leaf)
            count >>= 1
        self.nodes.append(leaf)
        self.size += 1

    def root(self):
        if not self.nodes:
            return sha256(b"")
        root = self.nodes[-1]
        for node in reversed(self.nodes[:-1]):
            root = sha256(b"\x01" + node + root)
        return root


def whole(text):
    if len(text) > 17 or abs(int(text)) > INT_MAX:
        raise Refused("PARSE")
    return int(text)


def refuse(_):
    raise Refused("PARSE")


def pairs(items):
    found = dict(items)
    if len(found) != len(items):
        raise Refused("DUPKEY")
    return found


STRICT = json.JSONDecoder(parse_int=whole, parse_float=refuse, parse_constant=refuse, object_pairs_hook=pairs)
STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.S)


def strict_json(raw):
    """What `raw` says, if it is the one serialisation of what it says."""
    depth = deepest = 0
    for byte in STRINGS.sub(b"", raw) if raw.count(b"{") + raw.count(b"[") > DEPTH_MAX else b"":
        depth += (byte in b"{[") - (byte in b"}]")
        deepest = max(deepest, depth)
    if deepest > DEPTH_MAX:
        raise Refused("PARSE")
    try:
        found = STRICT.decode(raw.decode("utf-8"))
        again = json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise Refused("PARSE") from error
    if again != raw:
        raise Refused("NONCANON")
    return found


def lines(file):
    """Yields (byte, raw line or None if it is too long, leaf hash); last (byte, length, hash) of the tail."""
    byte = 0
    while (piece := file.readline(LINE_MAX + 1)).endswith(b"\n"):
        yield byte, piece[:-1], sha256(b"\0" + piece[:-1])
        byte += len(piece)
    while True:
        length, leaf, tail = 0, hashlib.sha256(b"\0"), hashlib.sha256()
        while piece and not piece.endswith(b"\n"):
            leaf.update(piece)
            tail.update(piece)
            length += len(piece)
            piece = file.readline(LINE_MAX + 1)
        if not piece:
            yield byte, length, tail.digest()
            return
        leaf.update(piece[:-1])
        yield byte, (None if length else piece[:-1]), leaf.digest()
        byte += length + len(piece)
        piece = file.readline(LINE_MAX + 1)


def key_id(name, key):
    return sha256(name.encode() + b"\n\x01" + key)[:4]


def parse_note(raw):
    """(body, origin, size, root, [(name, key id, signature)]) of a checkpoint."""
    try:
        body, _, rest = raw.decode("utf-8").partition("\n\n")
        origin, size, root = body.split("\n")
        decimal(size)
        root, signatures = unpack(root), []
        for line in rest.removesuffix("\n").split("\n"):
            dash, name, value = line.split(" ")
            value = unpack(value)
            if dash != "\u2014" or not name or "+" in name:
                raise Refused("CP_PARSE")
            signatures.append((name, value[:4], value[4:]))
    except (ValueError, Refused) as error:
        raise Refused("CP_PARSE") from error
    if not origin or len(root) != 32 or not rest.endswith("\n"):
        raise Refused("CP_PARSE")
    return (body + "\n").encode(), origin, int(size), root, signatures


def notes(file, end):
    """Yields the notes of a `checkpoints` file up to byte `end`: raw bytes, or None for one too long; and
    whether the line is there that follows each."""
    note, left = bytearray(), end
    while left > 0 and (line := file.readline(min(LINE_MAX, left))):
        left -= len(line)
        if line == b"%%\n":
            yield note and bytes(note), True
            note = bytearray()
        elif note is not None and len(note) + len(line) <= LINE_MAX:
            note += line
        else:
            note = None
    if note != b"":
        yield note and bytes(note), False


def parse_token(raw):
    """(b, tag) of a head token's file. What follows the two lines is left over from a longer token."""
    b, _, rest = raw.partition(b"\n")
    tag, ended, _ = rest.partition(b"\n")
    return (b, tag) if ended else (raw, b"")


def open_regular(path, secret=False):
    """Opens a file for reading. Follows no link, waits for no FIFO; a secret must be the caller's alone."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Unusable(f"{os.fsdecode(path)!a} cannot be opened: {error.strerror}") from error
    facts = os.fstat(descriptor)
    refused = None if stat.S_ISREG(facts.st_mode) else "is not a regular file"
    if secret and (facts.st_mode & 0o077 or facts.st_uid != os.geteuid() or facts.st_nlink != 1):
        refused = refused or "is a secret: it must be yours, with mode 0600 and one link"
    if refused:
        os.close(descriptor)
        raise Unusable(f"{os.fsdecode(path)!a} {refused}")
    return os.fdopen(descriptor, "rb")


def read_regular(path, secret=False):
    with open_regular(path, secret) as file:
        raw = file.read(LINE_MAX + 1)
    if len(raw) > LINE_MAX:
        raise Unusable(f"{os.fsdecode(path)!a} is too long for what it should be")
    return raw


def read_series(path):
    """(series id, R_0) of a verification key file."""
    form = rb"rei-verification-key/1\nseries ([0-9a-f]{32})\nr0 ([0-9a-f]{64})\n"
    found = re.fullmatch(form, read_regular(path, secret=True))
    if not found:
        raise Unusable(f"{path!a} is not a verification key of this version")
    return bytes.fromhex(found[1].decode()), bytes.fromhex(found[2].decode())


def read_pub(path):
    """(origin, public key) of a host.pub file."""
    found = re.fullmatch(rb"([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)\n?", read_regular(path))
    try:
        name, raw = found[1].decode(), unpack(found[3].decode())
        if len(raw) == 33 and raw[0] == 1 and key_id(name, raw[1:]).hex().encode() == found[2]:
            return name, raw[1:]
    except (TypeError, UnicodeDecodeError, Refused):
        pass
    raise Unusable(f"{path!a} is not an Ed25519 key in C2SP's form name+id+key")


def read_slots(path):
    """The valid slots of a key state file: (generation, log id, M)."""
    raw, slots = read_regular(path, secret=True), []
    for start in (0, 4096):
        slot = raw[start:start + 512]
        crc = int.from_bytes(slot[96:100], "little")
        if slot[:8] == b"REIKEY01" and len(slot) == 512 and zlib.crc32(slot[:96]) == crc:
            slots.append((int.from_bytes(slot[8:16], "big"), slot[16:32], slot[32:64]))
    return slots
