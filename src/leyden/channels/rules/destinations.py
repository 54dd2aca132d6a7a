"""The node that gets a direct channel.

A public key that is not a point of secp256k1, or an address that we may not connect to,
is rejected before the channel is priced.
"""

from typing import Final

from leyden.base.rules import hosts
from leyden.errors import Malformed
from leyden.nodes.rules import public_keys

PEER_PORT: Final = 9_735  # lnd's default
_LONGEST: Final = 400


def parse(text: str, *, field: str) -> tuple[str, str]:
    """Split KEY or KEY@HOST:PORT into public key and HOST:PORT; "" is no host."""
    if len(text) > _LONGEST:
        raise Malformed(f"{field}: must be a public key, or public key@host:port")
    key, at, host = text.strip().partition("@")
    key = key.lower()
    if not public_keys.is_valid(key):
        raise Malformed(
            f"{field}: must begin with a public key: {public_keys.DIGITS} hex digits, "
            "beginning with 02 or 03, that are a point of secp256k1"
        )
    if not at:
        return key, ""
    dialled = hosts.check_host(host, field=field, default_port=PEER_PORT)
    if hosts.split(dialled)[0].lower().endswith(".onion"):
        raise Malformed(
            f"{field}: we can't connect to onion addresses; send only the public key, "
            "and connect your node to seller_uri"
        )
    return key, dialled
