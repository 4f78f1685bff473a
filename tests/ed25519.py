"""Ed25519 after RFC 8032, as far as a verifier needs it: plain whole numbers, milliseconds per signature."""

import functools
import hashlib

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
I = pow(2, (P - 1) // 4, P)
NEUTRAL = (0, 1, 1, 0)


def add(a, b):
    """Sum of two points in extended coordinates (x, y, z, xy/z)."""
    m, n = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    t, z = 2 * D * a[3] * b[3] % P, 2 * a[2] * b[2] % P
    e, f, g, h = n - m, z - t, z + t, n + m
    return e * f % P, g * h % P, f * g % P, e * h % P


def unpack_point(raw):
    """The point of 32 bytes, or None: not on the curve, or not in its one encoding."""
    y = int.from_bytes(raw, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    if y >= P:
        return None
    u, v = y * y - 1, D * y * y + 1
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    if (v * x * x - u) % P:
        x = x * I % P
    if (v * x * x - u) % P or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


def pack_point(point):
    x, y, z, _ = point
    inverse = pow(z, -1, P)
    return ((y * inverse % P) | (x * inverse % P & 1) << 255).to_bytes(32, "little")


BASE = unpack_point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def combine(s, a, k, b):
    """s * a + k * b."""
    table, point = (NEUTRAL, a, b, add(a, b)), NEUTRAL
    for bit in range(max(s.bit_length(), k.bit_length()) - 1, -1, -1):
        point = add(point, point)
        point = add(point, table[(s >> bit & 1) | (k >> bit & 1) << 1])
    return point


@functools.lru_cache(maxsize=4096)
def signed(key, message, signature):
    """Whether `signature` of `message` is by `key`: no second form of a number, no key of small order."""
    point = unpack_point(key)
    s = int.from_bytes(signature[32:], "little")
    if point is None or len(signature) != 64 or s >= L:
        return False
    if pack_point(combine(8, point, 0, NEUTRAL)) == pack_point(NEUTRAL):
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    minus = (P - point[0], point[1], 1, P - point[3])
    return pack_point(combine(s, BASE, k, minus)) == signature[:32]
