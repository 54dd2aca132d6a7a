"""Who may be called: whether a webhook may go out to an address.

A tenant chooses the URL, so a webhook must not become a way into the networks that
only this machine can reach: loopback, private ranges, the cloud's metadata service.
Names prove nothing, since their owner lets them resolve to anything at any time. What
counts is the address that the connection is made to, each time it is made.
"""

import ipaddress
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import lru_cache

from leyden.domain.addresses import Address, Network, Reach, plain
from leyden.domain.endpoints import Endpoint
from leyden.errors import Refused

# Whose look-up it is comes last: everybody has a share of their own.
LookUp = Callable[[str, int, str], Awaitable[Sequence[str]]]


class Egress:
    """Finds the addresses of a receiver, and lets through those that may be called.

    `exceptions` are networks that may be called although they are not public: a
    private installation receives inside its own. `forbidden` are networks that may
    not although they are: the platform's own public addresses.
    """

    def __init__(
        self,
        look_up: LookUp,
        *,
        exceptions: Iterable[Network] = (),
        forbidden: Iterable[Network] = (),
    ) -> None:
        self._look_up = look_up
        self._reach = Reach(exceptions=tuple(exceptions), forbidden=tuple(forbidden))
        # The answer for one address never changes while this object lives.
        self._check = lru_cache(10_000)(self._judge)

    def permits(self, address: Address) -> bool:
        """Tell whether this very address may be called."""
        return self._reach.permits(address)

    async def addresses(self, endpoint: Endpoint, organization_id: str) -> list[str]:
        """Return the addresses to connect to, as numbers: what was checked is called.

        One address that may not be called spoils them all: an honest name has none.
        The refusal does not tell the address, which may be a secret of this network.
        """
        found = (
            await self._look_up(endpoint.host, endpoint.port, organization_id)
            if endpoint.is_name
            else [endpoint.host]
        )
        checked = [self._check(each) for each in found]
        if None in checked:
            raise Refused("webhooks may not be sent to the address of this host")
        return [address for address in checked if address is not None]

    def _judge(self, text: str) -> str | None:
        """Give the address as it is to be called, or None when it may not be."""
        address = plain(ipaddress.ip_address(text))
        return str(address) if self.permits(address) else None
