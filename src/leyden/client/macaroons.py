"""lnd's macaroons (version 2, binary): parsing and adding caveats.

    2  field* 0   (field* 0)*   0   6 32 signature
       header     caveats

A field is its kind, its length (a varint) and its content. A holder can add
caveats without a server: the new signature is an HMAC under the previous
one, so nobody can remove the caveat again.
"""

import base64
import binascii
import hmac
import ipaddress
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from leyden.errors import Malformed
from leyden.values import Struct, hiding

_VERSION, _END, _IDENTIFIER, _SIGNATURE = 2, 0, 2, 6
_SIGNATURE_BYTES = 32
_LND = 3  # the first byte of an identifier of lnd's; protobuf follows
_STORAGE_ID, _OPERATIONS = 2, 3
_ENTITY, _ACTIONS = 1, 2
_BYTES = 2  # protobuf's wire type of everything in it
_MORE = 0x80
_LONGEST_SHIFT = 28

_EVERYTHING = (
    "onchain",
    "offchain",
    "address",
    "message",
    "peers",
    "info",
    "invoices",
    "signer",
    "macaroon",
)


def _may(action: str, *entities: str) -> tuple[str, ...]:
    return tuple(f"{entity}:{action}" for entity in entities)


CHOICES: Final = (
    *_may("read", *_EVERYTHING),
    *_may("write", *_EVERYTHING),
    *_may("generate", "signer", "macaroon"),
)
PRESETS: Final = {
    # lnd's own admin.macaroon has this much.
    "admin": tuple(each for each in CHOICES if each != "signer:write"),
    "read-only": _may("read", *_EVERYTHING),
    "invoices": (
        *_may("read", "address", "invoices", "onchain"),
        *_may("write", "address", "invoices"),
    ),
    "shop": (
        *_may("read", "address", "info", "invoices", "offchain", "onchain"),
        *_may("write", "address", "invoices"),
    ),
    "payments": (
        *_may("read", "info", "offchain", "invoices"),
        *_may("write", "offchain"),
    ),
    "accounts": (
        *_may("read", "info", "invoices", "offchain"),
        *_may("write", "invoices", "offchain"),
    ),
    "wallet": tuple(each for each in CHOICES if not each.startswith("macaroon:")),
}


class Macaroon(Struct, frozen=True, kw_only=True):
    """A parsed macaroon; it is a bearer token for its permissions."""

    root_key_id: str
    permissions: tuple[str, ...]
    caveats: tuple[str, ...]
    hex: str

    __repr__ = hiding("hex")


def parse(text: str) -> Macaroon:
    """Parse a macaroon in hex or base64; raise Malformed if not lnd's."""
    data = _decoded(text.strip())
    try:
        identifier, caveats = _sections(data)
        fields = list(_protobuf(identifier.removeprefix(bytes((_LND,)))))
        return Macaroon(
            root_key_id=next(
                (value.decode() for kind, value in fields if kind == _STORAGE_ID), "0"
            ),
            permissions=tuple(
                each
                for kind, operation in fields
                if kind == _OPERATIONS
                for each in _permissions(operation)
            ),
            caveats=tuple(each.decode() for each in caveats),
            hex=data.hex(),
        )
    except (ValueError, IndexError):
        raise Malformed("not a valid macaroon of an lnd") from None


def narrowed(macaroon: str, caveat: str) -> str:
    """Return the macaroon with one more caveat, in hex."""
    data = bytes.fromhex(parse(macaroon).hex)
    signature, before = data[-_SIGNATURE_BYTES:], data[: -_SIGNATURE_BYTES - 3]
    said = caveat.encode()
    return (
        before
        + bytes((_IDENTIFIER,))
        + _varint(len(said))
        + said
        + bytes((_END, _END, _SIGNATURE, _SIGNATURE_BYTES))
        + hmac.digest(signature, said, "sha256")
    ).hex()


def caveats(*, address: str, until: datetime | None, now: datetime) -> list[str]:
    """Build lnd's caveats for an IP address and an expiry."""
    made = []
    if until is not None:
        if until <= now:
            raise Malformed("the macaroon's expiry must be in the future")
        made.append(f"time-before {until.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}")
    if address:
        try:
            network = ipaddress.ip_network(address, strict=False)
        except ValueError:
            raise Malformed(
                "the address must look like 192.0.2.7 or 192.0.2.0/24"
            ) from None
        made.append(f"iprange {network}" if "/" in address else f"ipaddr {network[0]}")
    return made


def _decoded(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        letters = text.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(letters + "=" * (-len(letters) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise Malformed(
            "not a valid macaroon: must be hex, beginning with 0201"
        ) from None


def _sections(data: bytes) -> tuple[bytes, list[bytes]]:
    """Return the identifier and the caveats."""
    if data[:1] != bytes((_VERSION,)):
        raise ValueError
    at, identifiers, closed = 1, [], 0
    while data[at] != _SIGNATURE:
        kind, at = data[at], at + 1
        if kind == _END:
            closed += 1
            continue
        size, at = _length(data, at)
        if kind == _IDENTIFIER:
            identifiers.append(data[at : at + size])
        at += size
    if len(data) - at != 2 + _SIGNATURE_BYTES or data[at + 1] != _SIGNATURE_BYTES:
        raise ValueError
    if closed != len(identifiers) + 1:
        raise ValueError
    identifier, *said = identifiers
    return identifier, said


def _permissions(operation: bytes) -> Iterator[str]:
    fields = list(_protobuf(operation))
    entity = next((value for kind, value in fields if kind == _ENTITY), b"")
    for kind, value in fields:
        if kind == _ACTIONS:
            yield f"{entity.decode()}:{value.decode()}"


def _protobuf(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the fields of a protobuf message whose fields all hold bytes."""
    at = 0
    while at < len(data):
        tag, at = _length(data, at)
        size, at = _length(data, at)
        if tag % 8 != _BYTES or at + size > len(data):
            raise ValueError
        yield tag >> 3, data[at : at + size]
        at += size


def _length(data: bytes, at: int) -> tuple[int, int]:
    size = 0
    for shift in range(0, _LONGEST_SHIFT, 7):
        byte, at = data[at], at + 1
        size |= (byte & ~_MORE) << shift
        if byte < _MORE:
            return size, at
    raise ValueError


def _varint(size: int) -> bytes:
    made = bytearray()
    while size >= _MORE:
        made.append(size & ~_MORE & 0xFF | _MORE)
        size >>= 7
    return bytes((*made, size))
