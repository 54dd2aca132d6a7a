"""The settings of a node's remote signer, which holds its keys.

lnd reads these only once the wallet is unlocked, and exits if one is bad.
So their format is checked when they are set.
"""

import base64
import binascii
import ipaddress
import re

from leyden.domain.addresses import Reach
from leyden.errors import Malformed

DEFAULT_PORT = 10009
_LARGEST_PORT = 65_535
_LONGEST_HOST = 253
_LONGEST_MACAROON = 8_192
_LONGEST_CERTIFICATE = 32_768
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
# To the C library 0x7f000001 is an address, as a last label that is hex makes it one.
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_HEX = re.compile(r"([0-9A-Fa-f]{2})+")
_CERTIFICATE = re.compile(
    rb"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----"
)


def check_host(text: str, *, field: str) -> str:
    """Return host and port as lnd dials them; the default port is 10009."""
    refusal = Malformed(
        f"{field}: must be an IP address or host name, maybe with :port"
    )
    host, port = _split(text)
    if not port.isascii() or not port.isdigit() or len(port) > len(str(_LARGEST_PORT)):
        raise refusal
    if not 1 <= int(port) <= _LARGEST_PORT:
        raise refusal
    if ":" in host:
        if "%" in host:  # a zone id may hold anything, even a newline
            raise refusal
        try:
            return f"[{ipaddress.IPv6Address(host)}]:{int(port)}"
        except ValueError:
            raise refusal from None
    if not _is_name_or_ipv4(host):
        raise refusal
    return f"{host}:{int(port)}"


def check_address(text: str, reach: Reach, *, field: str) -> None:
    """Refuse an address that nodes may not call here, however it is written.

    Names are lnd's to look up, when it dials; the egress policy of nodes judges what
    they mean then.
    """
    host, _, port = check_host(text, field=field).rpartition(":")
    host = host.strip("[]")
    if _NUMBER.fullmatch(host.rpartition(".")[2]) and not _is_ipv4(host):
        raise Malformed(
            f"{field}: {host} is not an address that can be read in one way only; "
            "write it like 192.0.2.7, or use a host name"
        )
    if not reach.permits_host(host, int(port)):
        raise Malformed(
            f"{field}: {host} is a private or reserved address, which nodes may not "
            "call; use a public one, or have the operator allow it (nodes_may_reach)"
        )


def macaroon_bytes(text: str, *, field: str) -> bytes:
    """Decode a macaroon in hex or base64; permissions are not checked."""
    if len(text) <= _LONGEST_MACAROON:
        if _HEX.fullmatch(text):
            return bytes.fromhex(text)
        decoded = _from_base64(text.replace("-", "+").replace("_", "/"))
        if decoded:
            return decoded
    raise Malformed(f"{field}: must be a macaroon in hex or base64")


def certificate_pem(text: str, *, field: str) -> bytes:
    """Return the certificate as PEM, from PEM or base64 of PEM."""
    refusal = Malformed(f"{field}: must be a certificate in PEM, or base64 of that")
    if len(text) > _LONGEST_CERTIFICATE or not text.isascii():
        raise refusal
    pem = text.encode() if "-----" in text else _from_base64("".join(text.split()))
    bodies = _CERTIFICATE.findall(pem)
    if not bodies or not all(map(_is_der, bodies)):
        raise refusal
    if _CERTIFICATE.sub(b"", pem).strip():  # a private key beside it, for one
        raise refusal
    return pem.strip() + b"\n"


def _split(text: str) -> tuple[str, str]:
    """Split host and port; a bare IPv6 address has colons but no port."""
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if bracket and ":" in host and (not rest or rest.startswith(":")):
            return host, rest[1:] if rest else str(DEFAULT_PORT)
        return "", ""
    if text.count(":") == 1:
        host, _, port = text.partition(":")
        return host, port
    return text, str(DEFAULT_PORT)


def _is_name_or_ipv4(host: str) -> bool:
    labels = host.split(".")
    if labels[-1].isdigit():  # 2130706433 and 127.1 are addresses to a resolver
        return _is_ipv4(host)
    return len(host) <= _LONGEST_HOST and all(map(_LABEL.fullmatch, labels))


def _is_ipv4(host: str) -> bool:
    try:
        return str(ipaddress.IPv4Address(host)) == host
    except ValueError:
        return False


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
