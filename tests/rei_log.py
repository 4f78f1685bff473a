"""The format rei-log/1 as its text gives it: hashes, keys, tree, lines, notes, tokens and their files.

Takes bytes that may be anything. Raises `Refused` with a violation's code where they are not what the text says,
`Unusable` where a file is not one to read.
"""

import base64
import binascii
import hashlib
import hmac
import json
import os
import re
import stat
import zlib

LINE_MAX = 65535  # bytes of a line without its LF
DEPTH_MAX = 16    # the line's own object is depth 1
INT_MAX = 2**53 - 1


class Unusable(Exception):
    """The verifier cannot do its work: what is wrong, and with which file."""


class Refused(Exception):
    """A line, token or note is not what the format says; the argument is the violation's code."""


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


def integer(value):
    return type(value) is int and value >= 0


def text(value):
    return type(value) is str


def flags(value):
    return type(value) is int and 0 <= value <= 3


def decimal(value):
    return text(value) and re.fullmatch("0|[1-9][0-9]{0,19}", value) is not None and int(value) < 2**64


def hexa(size):
    form = re.compile("[0-9a-f]{%d}" % (2 * size))
    return lambda value: text(value) and form.fullmatch(value) is not None


def just(one):
    return lambda value: type(value) is type(one) and value == one


def fits(value, shape):
    """Refuses a value that has not this shape. A dict is an object with its fields in order (`?` may be
    absent), a list an array, a tuple a choice, anything else a test of the value."""
    if isinstance(shape, tuple):
        codes = set()
        for choice in shape:
            try:
                return fits(value, choice)
            except Refused as refused:
                codes.add(refused.args[0])
        raise Refused("NONCANON" if "NONCANON" in codes else "PARSE")
    if isinstance(shape, list):
        if type(value) is not list:
            raise Refused("PARSE")
        for element in value:
            fits(element, shape[0])
    elif not isinstance(shape, dict):
        if not shape(value):
            raise Refused("PARSE")
    else:
        fits_object(value, shape)
    return None


def fits_object(value, shape):
    if type(value) is not dict:
        raise Refused("PARSE")
    order = []
    for name, inner in shape.items():
        field = name.rstrip("?")
        if field in value:
            order.append(field)
            fits(value[field], inner)
        elif field == name:
            raise Refused("PARSE")
    if order != list(value):
        raise Refused("NONCANON" if len(order) == len(value) else "PARSE")


TOKEN = {"log": hexa(16), "seg": lambda g: integer(g) or just(-1)(g), "e": integer,
         "seq": lambda s: integer(s) or just(-1)(s), "h": hexa(32), "f": flags}
SEAL = {"e": integer, "n": integer, "f": flags, "r": hexa(32), "lost": decimal, "tag": hexa(32)}
LAST = {"last_seq": lambda s: integer(s) or s is None, "last_e": lambda e: integer(e) or e is None}
PREV = ({"seg": just(None), "state": just("none")},
        {"seg": integer, "state": just("closed"), **LAST},
        {"seg": integer, "state": just("crash"), **LAST, "tail": (integer, decimal), "tail_sha256?": hexa(32),
         "head?": ({"b": text, "tag": text}, just(None))})
BIRTH = {"series": hexa(16), "i": integer, "vk0": hexa(32), "hk": hexa(32), "hs": hexa(64)}
HEAD = {"log": hexa(16), "origin": text, "vk": hexa(32), "nvk": hexa(32), "ks": hexa(64), "prev": PREV,
        "birth?": BIRTH, "fmt?": just("rei-log/1"),
        "host?": {"machine_id?": text, "boot_id?": text, "hostname?": text, "kernel?": text},
        "writer?": {"version": text, "pid": integer, "nonce": text},
        "policy?": {"rules_sha256?": text, "config_sha256?": text, "bpf_sha256?": text, "mode?": text},
        "params?": {"batch": integer, "delay_ms": integer, "idle_s": integer,
                    "roll_bytes": (integer, decimal), "roll_s": integer},
        "clock?": {"wall": decimal, "boot": decimal}}
LINE = {"v": integer, "seg": integer, "seq": integer, "k": text, "t": decimal, "b": decimal, "p": hexa(32),
        "d": lambda body: type(body) is dict}
KINDS = {"head": HEAD, "seal": SEAL}


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


def base64_bytes(value):
    try:
        raw = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Refused("CP_PARSE") from error
    if base64.b64encode(raw).decode() != value:
        raise Refused("CP_PARSE")
    return raw


def parse_note(raw):
    """(body, origin, size, root, [(name, key id, signature)]) of a checkpoint."""
    try:
        body, _, rest = raw.decode("utf-8").partition("\n\n")
    except UnicodeDecodeError as error:
        raise Refused("CP_PARSE") from error
    fields, signatures = body.split("\n"), []
    if len(fields) != 3 or not fields[0] or not decimal(fields[1]) or not rest.endswith("\n"):
        raise Refused("CP_PARSE")
    for line in rest[:-1].split("\n"):
        parts = line.split(" ")
        if len(parts) != 3 or parts[0] != "\u2014" or not parts[1] or "+" in parts[1]:
            raise Refused("CP_PARSE")
        value = base64_bytes(parts[2])
        signatures.append((parts[1], value[:4], value[4:]))
    root = base64_bytes(fields[2])
    if len(root) != 32:
        raise Refused("CP_PARSE")
    return (body + "\n").encode(), fields[0], int(fields[1]), root, signatures


def notes(file, end):
    """Yields the notes of a `checkpoints` file up to byte `end`: raw bytes, or None for one too long."""
    note = b""
    while file.tell() < end:
        line = file.readline(LINE_MAX)
        if line == b"%%\n":
            yield note
            note = b""
        elif note is not None:
            note = note + line if len(note) + len(line) <= LINE_MAX else None
    if note != b"":
        yield note


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
        raise Unusable(f"{os.fsdecode(path)!r} cannot be opened: {error.strerror}") from error
    facts = os.fstat(descriptor)
    refused = None if stat.S_ISREG(facts.st_mode) else "is not a regular file"
    if secret and (facts.st_mode & 0o077 or facts.st_uid != os.geteuid() or facts.st_nlink != 1):
        refused = refused or "is a secret: it must be yours, with mode 0600 and one link"
    if refused:
        os.close(descriptor)
        raise Unusable(f"{os.fsdecode(path)!r} {refused}")
    return os.fdopen(descriptor, "rb")


def read_regular(path, secret=False):
    with open_regular(path, secret) as file:
        raw = file.read(LINE_MAX + 1)
    if len(raw) > LINE_MAX:
        raise Unusable(f"{os.fsdecode(path)!r} is too long for what it should be")
    return raw


def read_series(path):
    """(series id, R_0) of a verification key file."""
    form = rb"rei-verification-key/1\nseries ([0-9a-f]{32})\nr0 ([0-9a-f]{64})\n"
    found = re.fullmatch(form, read_regular(path, secret=True))
    if not found:
        raise Unusable(f"{path!r} is not a verification key of this version")
    return bytes.fromhex(found[1].decode()), bytes.fromhex(found[2].decode())


def read_pub(path):
    """(origin, public key) of a host.pub file."""
    found = re.fullmatch(rb"([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)\n?", read_regular(path))
    try:
        name, raw = found[1].decode(), base64_bytes(found[3].decode())
        if len(raw) == 33 and raw[0] == 1 and key_id(name, raw[1:]).hex().encode() == found[2]:
            return name, raw[1:]
    except (TypeError, UnicodeDecodeError, Refused):
        pass
    raise Unusable(f"{path!r} is not an Ed25519 key in C2SP's form name+id+key")


def read_slots(path):
    """The valid slots of a key state file: (generation, log id, M)."""
    raw, slots = read_regular(path, secret=True), []
    for start in (0, 4096):
        slot = raw[start:start + 512]
        crc = int.from_bytes(slot[96:100], "little")
        if slot[:8] == b"REIKEY01" and len(slot) == 512 and zlib.crc32(slot[:96]) == crc:
            slots.append((int.from_bytes(slot[8:16], "big"), slot[16:32], slot[32:64]))
    return slots
