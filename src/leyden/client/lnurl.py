"""Lightning addresses (LUD-16) and LNURL-pay (LUD-06): an invoice from their server.

Fetched by this machine, not by the node: the server sees this machine's address.
"""

import ipaddress
import json
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import msgspec

from leyden.client.wire import NoResponse, Server, Wire
from leyden.errors import Away, Malformed, Refused

_TIMEOUT_S: Final = 20.0
_OK: Final = 200
_BECH32: Final = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_CHECKSUM: Final = 6  # characters
_GENERATORS: Final = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


class PayRequest(msgspec.Struct, kw_only=True):
    """What a server accepts."""

    callback: str
    min_msat: int
    max_msat: int
    max_comment: int  # characters
    text: str


def url_of(target: str) -> str:
    """Return the URL of a lightning address or an LNURL; "" for anything else."""
    written = target.strip()
    lower = written.lower()
    if lower.startswith("lnurlp://"):
        scheme = "http" if _is_local(urlsplit(written).hostname or "") else "https"
        return f"{scheme}{written[len('lnurlp') :]}"
    if lower.startswith("lnurl1"):
        return _decoded(lower)
    name, at, domain = lower.partition("@")
    if not at or not name or not domain or "/" in domain:
        return ""
    scheme = "http" if _is_local(domain.partition(":")[0]) else "https"
    return f"{scheme}://{domain}/.well-known/lnurlp/{name}"


def ask(url: str) -> PayRequest:
    """Ask a server what it accepts."""
    found = _get(url)
    if found.get("tag") != "payRequest":
        raise Malformed("TARGET: this LNURL is not for payments")
    try:
        metadata = dict(json.loads(found["metadata"]))
        return PayRequest(
            callback=str(found["callback"]),
            min_msat=int(found["minSendable"]),
            max_msat=int(found["maxSendable"]),
            max_comment=int(found.get("commentAllowed", 0)),
            text=str(metadata.get("text/plain", "")),
        )
    except (KeyError, TypeError, ValueError):
        raise Refused("the server of this address does not follow LNURL-pay") from None


def invoice(request: PayRequest, *, msat: int, comment: str = "") -> str:
    """Return an invoice from the server, which may be for another amount."""
    if not request.min_msat <= msat <= request.max_msat:
        least, most = -(-request.min_msat // 1000), request.max_msat // 1000
        raise Malformed(f"SATS: this address accepts from {least:,} to {most:,} sat")
    if len(comment) > request.max_comment:
        raise Malformed(
            f"--comment: this address accepts {request.max_comment} characters"
        )
    parts = urlsplit(request.callback)
    query = [*parse_qsl(parts.query, keep_blank_values=True), ("amount", str(msat))]
    if comment:
        query.append(("comment", comment))
    found = _get(urlunsplit(parts._replace(query=urlencode(query), fragment="")))
    if not isinstance(found.get("pr"), str) or not found["pr"].isalnum():
        raise Refused("the server of this address returned no invoice")
    return str(found["pr"])


def _get(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https" and not (_is_local(host) or host.endswith(".onion")):
        raise Malformed(f"TARGET: its server {host or url!r} must use https")
    try:
        server = Server.at(f"{parts.scheme}://{parts.netloc}")
        wire = Wire(server, timeout_s=_TIMEOUT_S)
        path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path
        received = wire.request("GET", path, None, {"accept": "application/json"})
        wire.close()
    except ValueError as error:
        raise Malformed(f"TARGET: its server has no valid URL ({error})") from None
    except NoResponse as error:
        raise Away(f"{host} does not respond: {error}") from None
    try:
        found = json.loads(received.body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Refused(f"{host} does not have this address (status {received.status})")
    if found.get("status") == "ERROR" or received.status != _OK:
        raise Refused(f"{host} refused: {found.get('reason', received.status)}")
    return found


def _is_local(host: str) -> bool:
    """Return whether a host is this machine, where nobody listens in between."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _decoded(text: str) -> str:
    """Decode the URL of an LNURL (bech32)."""
    data = text.rpartition("1")[2]
    try:
        values = [_BECH32.index(each) for each in data]
    except ValueError:
        raise Malformed("TARGET: not a valid LNURL (a wrong character)") from None
    prefix = [ord(each) >> 5 for each in "lnurl"] + [0]
    prefix += [ord(each) & 31 for each in "lnurl"]
    if len(values) < _CHECKSUM or _polymod([*prefix, *values]) != 1:
        raise Malformed("TARGET: not a valid LNURL (its checksum is wrong)")
    bits = "".join(f"{each:05b}" for each in values[:-_CHECKSUM])
    content = bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits) - 7, 8))
    return content.decode(errors="replace")


def _polymod(values: list[int]) -> int:
    checksum = 1
    for each in values:
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ each
        for bit, generator in enumerate(_GENERATORS):
            if top >> bit & 1:
                checksum ^= generator
    return checksum
