"""The egress policy of webhooks: which addresses may be called.

A tenant chooses the URL, so a webhook must not become a way into networks
that only this machine can reach: loopback, private ranges, the cloud's
metadata service. Names prove nothing, since their owner can make them
resolve to anything at any time. What is checked is the address of the
connection, each time one is made.
"""

import ipaddress
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import lru_cache

from leyden.domain.addresses import Address, Network, Reach, unmap
from leyden.domain.endpoints import Endpoint
from leyden.errors import Refused

# Whose look-up it is comes last: everybody has a share of their own.
LookUp = Callable[[str, int, str], Awaitable[Sequence[str]]]


class Egress:
    """Looks up a receiver's addresses, and allows those that may be called.

    `exceptions` are networks that may be called although they are not public: a
    private installation has receivers inside its own. `forbidden` are networks
    that may not be called although they are public: the platform's own
    addresses.
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
        """Return whether this address may be called."""
        return self._reach.permits(address)

    async def addresses(self, endpoint: Endpoint, organization_id: str) -> list[str]:
        """Return the addresses to connect to, as numbers: only checked ones.

        A single forbidden address forbids the whole name: an honest name has
        none. The error does not contain the address, which may be a secret of
        this network.
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
        """Return the address to call, normalized; None if it is forbidden."""
        address = unmap(ipaddress.ip_address(text))
        return str(address) if self.permits(address) else None
