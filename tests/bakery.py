"""Macaroons made by hand, as lnd's bakery makes them and the paper says."""

import hmac


def field(kind: int, content: bytes) -> bytes:
    size = len(content)
    length = bytes([size]) if size < 0x80 else bytes([size & 0x7F | 0x80, size >> 7])
    return bytes([kind]) + length + content


def identifier(root_key: str, *permissions: tuple[str, str]) -> bytes:
    """Write an identifier as lnd's bakery does: a 3, and protobuf."""
    parts = [field(0x0A, bytes(16)), field(0x12, root_key.encode())]
    for entity, action in permissions:
        inner = field(0x0A, entity.encode()) + field(0x12, action.encode())
        parts.append(field(0x1A, inner))
    return b"\x03" + b"".join(parts)


def baked(known: bytes, *caveats: str, key: bytes = b"root") -> bytes:
    """Make a macaroon, and add caveats, as the paper says."""
    made = b"\x02" + field(1, b"lnd") + field(2, known) + b"\0"
    signature = hmac.digest(key, known, "sha256")
    for caveat in caveats:
        made += field(2, caveat.encode()) + b"\0"
        signature = hmac.digest(signature, caveat.encode(), "sha256")
    return made + b"\0" + field(6, signature)


# What lnd says of a macaroon that it checks, in its words of 0.20 and 0.21.
REFUSED = {
    "revoked": (
        "cannot retrieve macaroon: cannot get macaroon: "
        "root key with id 8 doesn't exist"
    ),
    "of another node": (
        "verification failed: signature mismatch after caveat verification"
    ),
    "expired": (
        'caveat "time-before 2026-01-01T00:00:00Z" not satisfied: macaroon has expired'
    ),
    "elsewhere": (
        'caveat "ipaddr 192.0.2.7" not satisfied: '
        "macaroon locked to different IP address"
    ),
}
READER = identifier("7", ("info", "read"), ("offchain", "read"))
