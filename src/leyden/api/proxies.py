"""Client addresses behind a reverse proxy.

Any client can send `X-Forwarded-For` or `Forwarded`, so both are ignored
unless the peer is a proxy named in the settings. Each proxy appends the
address of its peer on the right: the client is the rightmost address that
is not one of our proxies, and everything left of that is ignored.
"""

import ipaddress
import re
from collections.abc import Iterable, Sequence
from typing import Any

from leyden.domain.addresses import Address, Network, unmap

_HIDDEN = "unknown"
_LIST = b"x-forwarded-for"
_ELEMENTS = b"forwarded"
_WITH_PORT = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+))(?::\d{1,5})?")


class Proxies:
    """The trusted proxies; raises ValueError for an invalid network."""

    def __init__(self, named: Iterable[str] = ()) -> None:
        self._networks = tuple(_network(each) for each in named)

    def __bool__(self) -> bool:
        return bool(self._networks)

    def rewrite_scope(self, scope: Any) -> None:
        """Replace the proxy's address in the scope with the client's."""
        if peer := scope.get("client"):
            scope["client"] = (self.caller(peer[0], scope["headers"]), peer[1])

    def caller(self, peer: str, headers: Sequence[tuple[bytes, bytes]]) -> str:
        """Return the client's address: the peer's own unless it is a proxy.

        If both headers are present and name different clients, both are
        ignored: our proxy passed one of them on as somebody sent it.
        """
        if not self._is_ours(_address(peer)):
            return peer
        claimed = {
            self._rightmost(peer, hops)
            for hops in (_listed(headers), _elements(headers))
            if hops
        }
        return claimed.pop() if len(claimed) == 1 else peer

    def _rightmost(self, peer: str, hops: Sequence[str]) -> str:
        """Return the first address, from the right, that is not our proxy."""
        for hop in reversed(hops):
            address = _address(hop)
            if address is None:  # hidden or nonsense: no further than this is known
                return peer
            peer = str(address)
            if not self._is_ours(address):
                return peer
        return peer

    def _is_ours(self, address: Address | None) -> bool:
        return address is not None and any(
            address in network for network in self._networks
        )


def _network(text: str) -> Network:
    found = ipaddress.ip_network(text)
    if found.prefixlen == 0:
        raise ValueError(
            f"{text} includes everybody, so anyone could forge a client address"
        )
    return found


def _address(text: str) -> Address | None:
    found = _WITH_PORT.fullmatch(text)
    if found is not None:
        text = found[1] or found[2]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    has_zone = isinstance(address, ipaddress.IPv6Address) and address.scope_id
    return None if has_zone else unmap(address)


def _joined(headers: Sequence[tuple[bytes, bytes]], name: bytes) -> str:
    return ",".join(value.decode("latin-1") for each, value in headers if each == name)


def _listed(headers: Sequence[tuple[bytes, bytes]]) -> list[str]:
    value = _joined(headers, _LIST)
    return [each.strip() for each in value.split(",")] if value else []


def _elements(headers: Sequence[tuple[bytes, bytes]]) -> list[str]:
    value = _joined(headers, _ELEMENTS)
    if not value:
        return []
    if value.count('"') % 2:  # somebody's quote would swallow what our proxy added
        return [_HIDDEN]
    return [_for(each) for each in _split_unquoted(value, ",")]


def _for(element: str) -> str:
    """Return the only `for` of an element of `Forwarded`."""
    pairs = [each.strip().partition("=") for each in _split_unquoted(element, ";")]
    named = [value for name, _, value in pairs if name.lower() == "for"]
    return named[0].strip('"') if len(named) == 1 else _HIDDEN


def _split_unquoted(text: str, mark: str) -> list[str]:
    """Split at each separator that is outside a quoted string."""
    found, inside = [""], False
    for character in text:
        inside ^= character == '"'
        if character == mark and not inside:
            found.append("")
        else:
            found[-1] += character
    return found
