"""Onion addresses: the v3 onion service of each node, and changes to make in Tor.

The platform creates the key itself, so that the address is known and stored before the
service is added to Tor: after a crash in between, the same service is added again.
"""

import base64
import hashlib
import re
from collections.abc import Collection, Mapping
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from leyden.values import Struct, hiding

PORT: Final = 9735  # of every onion address: the standard port of Lightning peers
SEED_BYTES: Final = 32
_VERSION: Final = b"\x03"
_SUFFIX: Final = ".onion"
_HOST = re.compile(r"[a-z2-7]{55}d\.onion")  # version 3 makes the last letter a d


class Onion(Struct, frozen=True, kw_only=True):
    """An onion service: its key, and the address to which Tor forwards connections."""

    seed: bytes  # of its Ed25519 key
    to: str  # HOST:PORT of the gateway, for one node's peers

    __repr__ = hiding("seed")

    @property
    def host(self) -> str:
        """The address that follows from the key."""
        return host_of(self.seed)


class OnionPlan(Struct, frozen=True, kw_only=True):
    """The services to remove from Tor, and those to add afterwards."""

    remove: tuple[str, ...] = ()
    add: tuple[str, ...] = ()


def host_of(seed: bytes) -> str:
    """Return the host of the onion service with this key (rend-spec-v3, section 6)."""
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    checksum = hashlib.sha3_256(b".onion checksum" + public + _VERSION).digest()[:2]
    return base64.b32encode(public + checksum + _VERSION).decode().lower() + _SUFFIX


def expanded(seed: bytes) -> bytes:
    """Return the key in Tor's format: scalar and prefix (RFC 8032, 5.1.5)."""
    digest = bytearray(hashlib.sha512(seed).digest())
    digest[0] &= 0b1111_1000
    digest[31] = digest[31] & 0b0111_1111 | 0b0100_0000
    return bytes(digest)


def is_host(text: str) -> bool:
    """Return whether this has the form of a v3 onion service's host."""
    return _HOST.fullmatch(text) is not None


def plan(
    wanted: Mapping[str, str],
    *,
    known: Mapping[str, str],
    present: Collection[str],
    ours: Collection[str],
) -> OnionPlan:
    """Return the changes to make in Tor; all mappings are from hosts to targets.

    Tor does not report the target of a service: `known` has the targets that were
    stored when services were added. A service with another target, or an unknown
    one, is replaced. Services that are not ours stay.
    """
    remove = [
        host
        for host in sorted(set(present) & set(ours))
        if host not in wanted or known.get(host) != wanted[host]
    ]
    remaining = set(present) - set(remove)
    return OnionPlan(
        remove=tuple(remove),
        add=tuple(host for host in wanted if host not in remaining),
    )
