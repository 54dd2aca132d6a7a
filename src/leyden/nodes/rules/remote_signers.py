"""The settings of a node's remote signer, which holds its keys.

lnd reads these only once the wallet is unlocked, and exits if one is invalid.
So their format is checked when they are set.
"""

import base64
import binascii
import re

from leyden.base.rules import hosts
from leyden.base.rules.addresses import Reach
from leyden.errors import Malformed

DEFAULT_PORT = 10009
_LONGEST_MACAROON = 8_192
_LONGEST_CERTIFICATE = 32_768
_HEX = re.compile(r"([0-9A-Fa-f]{2})+")
_CERTIFICATE = re.compile(
    rb"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----"
)


def check_host(text: str, *, field: str) -> str:
    """Return host and port as lnd dials them; the default port is 10009."""
    return hosts.check_host(text, field=field, default_port=DEFAULT_PORT)


def check_address(text: str, reach: Reach, *, field: str) -> None:
    """Raise Malformed for an address that nodes may not call, however it is written.

    lnd resolves names when it connects; the nodes' egress policy checks their addresses
    then.
    """
    hosts.check_reach(
        check_host(text, field=field),
        reach,
        field=field,
        refusal="which nodes may not call",
    )


def macaroon_bytes(text: str, *, field: str) -> bytes:
    """Decode a macaroon in hex or base64; permissions are not checked."""
    if len(text) <= _LONGEST_MACAROON:
        if _HEX.fullmatch(text):
            return bytes.fromhex(text)
        decoded = _from_base64(text.replace("-", "+").replace("_", "/"))
        if decoded:
            return decoded
    raise Malformed(f"{field}: must be a macaroon, in hex or base64")


def certificate_pem(text: str, *, field: str) -> bytes:
    """Return the certificate as PEM, from PEM or base64 of PEM."""
    refusal = Malformed(f"{field}: must be a PEM certificate, or base64 of one")
    if len(text) > _LONGEST_CERTIFICATE or not text.isascii():
        raise refusal
    pem = text.encode() if "-----" in text else _from_base64("".join(text.split()))
    bodies = _CERTIFICATE.findall(pem)
    if not bodies or not all(map(_is_der, bodies)):
        raise refusal
    if _CERTIFICATE.sub(b"", pem).strip():  # anything else, such as a private key
        raise refusal
    return pem.strip() + b"\n"


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _is_der(body: bytes) -> bool:
    try:
        der = base64.b64decode(b"".join(body.split()), validate=True)
        return der.startswith(b"\x30")
    except binascii.Error:
        return False
