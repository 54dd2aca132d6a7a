"""Whose address counts behind a reverse proxy: that of the caller, as it tells us.

Anybody can write `X-Forwarded-For` or `Forwarded`, so neither means anything unless the
peer is a proxy that the settings name. Each proxy adds on the right whom it saw: what
is read is the rightmost one that is no proxy of ours, and nothing to the left of it.
"""

import ipaddress
import re
from collections.abc import Iterable, Sequence
from typing import Any

from leyden.domain.addresses import Address, Network, plain

_HIDDEN = "unknown"
_LIST = b"x-forwarded-for"
_ELEMENTS = b"forwarded"
_WITH_PORT = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+))(?::\d{1,5})?")


class Proxies:
    """The proxies that are believed; ValueError for what names none."""

    def __init__(self, named: Iterable[str] = ()) -> None:
        self._networks = tuple(_network(each) for each in named)

    def __bool__(self) -> bool:
        return bool(self._networks)

    def seen(self, scope: Any) -> None:
        """Put the caller's address in the place of the proxy's, if there is one."""
        if peer := scope.get("client"):
            scope["client"] = (self.caller(peer[0], scope["headers"]), peer[1])

    def caller(self, peer: str, headers: Sequence[tuple[bytes, bytes]]) -> str:
        """Tell on whose behalf this peer asks: the peer's own unless it is a proxy.

        Two headers that tell of two callers are believed neither: one of them our
        proxy let through as somebody sent it.
        """
        if not self._is_ours(_address(peer)):
            return peer
        told = {
            self._rightmost(peer, hops)
            for hops in (_listed(headers), _elements(headers))
            if hops
        }
        return told.pop() if len(told) == 1 else peer

    def _rightmost(self, peer: str, hops: Sequence[str]) -> str:
        """Walk towards the caller for as long as each hop is one of our proxies."""
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
        raise ValueError(f"{text} is everybody, who could then claim any address")
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
    return None if has_zone else plain(address)


def _joined(headers: Sequence[tuple[bytes, bytes]], name: bytes) -> str:
    return ",".join(value.decode("latin-1") for each, value in headers if each == name)


def _listed(headers: Sequence[tuple[bytes, bytes]]) -> list[str]:
    told = _joined(headers, _LIST)
    return [each.strip() for each in told.split(",")] if told else []


def _elements(headers: Sequence[tuple[bytes, bytes]]) -> list[str]:
    told = _joined(headers, _ELEMENTS)
    if not told:
        return []
    if told.count('"') % 2:  # somebody's quote would swallow what our proxy added
        return [_HIDDEN]
    return [_for(each) for each in _apart(told, ",")]


def _for(element: str) -> str:
    """Give the one `for` of an element of `Forwarded`."""
    pairs = [each.strip().partition("=") for each in _apart(element, ";")]
    named = [value for name, _, value in pairs if name.lower() == "for"]
    return named[0].strip('"') if len(named) == 1 else _HIDDEN


def _apart(text: str, mark: str) -> list[str]:
    """Split at each mark that is not in a quoted string."""
    found, inside = [""], False
    for character in text:
        inside ^= character == '"'
        if character == mark and not inside:
            found.append("")
        else:
            found[-1] += character
    return found
