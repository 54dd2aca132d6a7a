"""A Lightning peer's first words (BOLT 8); only a real node has the answer."""

import asyncio
import hashlib
import hmac
import struct

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

_FIELD = 2**256 - 2**32 - 977
_ACT_TWO = 50
Point = tuple[int, int] | None


def _add(one: Point, other: Point) -> Point:
    if one is None or other is None:
        return one or other
    (x1, y1), (x2, y2) = one, other
    if x1 == x2 and (y1 + y2) % _FIELD == 0:
        return None
    slope = (
        3 * x1 * x1 * pow(2 * y1, -1, _FIELD)
        if one == other
        else (y2 - y1) * pow(x2 - x1, -1, _FIELD)
    )
    x = (slope * slope - x1 - x2) % _FIELD
    return x, (slope * (x1 - x) - y1) % _FIELD


def _times(number: int, point: Point) -> Point:
    product: Point = None
    while number:
        if number & 1:
            product = _add(product, point)
        point = _add(point, point)
        number >>= 1
    return product


def _compressed(point: Point) -> bytes:
    assert point is not None
    return bytes([2 + point[1] % 2]) + point[0].to_bytes(32, "big")


def act_one(public_key: str) -> bytes:
    """Return what somebody says who knows the node's key."""
    theirs = bytes.fromhex(public_key)
    numbers = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256K1(), theirs)
    to = (numbers.public_numbers().x, numbers.public_numbers().y)
    own = ec.generate_private_key(ec.SECP256K1()).private_numbers()
    mine = (own.public_numbers.x, own.public_numbers.y)
    begun = hashlib.sha256(b"Noise_XK_secp256k1_ChaChaPoly_SHA256").digest()
    said = hashlib.sha256(begun + b"lightning").digest()
    for more in (theirs, _compressed(mine)):
        said = hashlib.sha256(said + more).digest()
    shared = hashlib.sha256(_compressed(_times(own.private_value, to))).digest()
    secret = hmac.digest(begun, shared, "sha256")
    first = hmac.digest(secret, b"\1", "sha256")
    key = hmac.digest(secret, first + b"\2", "sha256")
    tag = ChaCha20Poly1305(key).encrypt(struct.pack("<4xQ", 0), b"", said)
    return b"\0" + _compressed(mine) + tag


async def is_answered(host: str, port: int, public_key: str, *, source: str) -> bool:
    """Return whether the node behind that port answers who calls from there."""
    reader, writer = await asyncio.open_connection(host, port, local_addr=(source, 0))
    try:
        writer.write(act_one(public_key))
        answer = await reader.readexactly(_ACT_TWO)
    except (asyncio.IncompleteReadError, ConnectionError):
        return False
    finally:
        writer.close()
    return answer[0] == 0
