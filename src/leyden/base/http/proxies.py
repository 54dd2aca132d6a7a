"""Client addresses behind a reverse proxy.

Any client can send `X-Forwarded-For`, so it is ignored unless the peer is a
proxy named in the settings. Each proxy appends the address of its peer on the
right: the client is the rightmost address that is not one of our proxies, and
everything left of that is ignored.
"""

import ipaddress
import re
from collections.abc import Iterable, Sequence
from typing import Any

from leyden.base.rules.addresses import Address, Network, unmap

_HEADER = b"x-forwarded-for"
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
        """Return the client's address: the peer's own unless it is a proxy."""
        if not self._is_ours(_address(peer)):
            return peer
        for hop in reversed(_hops(headers)):
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


def _hops(headers: Sequence[tuple[bytes, bytes]]) -> list[str]:
    """Return the addresses of all such headers, which are one list."""
    sent = b",".join(value for name, value in headers if name == _HEADER)
    return [each.strip() for each in sent.decode("latin-1").split(",")]
