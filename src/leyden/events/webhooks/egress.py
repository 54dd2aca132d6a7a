"""The egress policy of webhooks: which addresses may be called.

A tenant chooses the URL, so a webhook must not become a way into networks
that only this machine can reach: loopback, private ranges, the cloud's
metadata service. Names prove nothing, since their owner can make them
resolve to anything at any time. What is checked is the address of the
connection, each time one is made.
"""

import ipaddress
from collections.abc import Iterable
from functools import lru_cache

from leyden.base.rules.addresses import Address, Network, Reach, unmap
from leyden.errors import Refused


class Egress:
    """Allows the addresses that may be called.

    `exceptions` are networks that may be called although they are not public: a
    private installation has receivers inside its own. `forbidden` are networks
    that may not be called although they are public: the platform's own
    addresses.
    """

    def __init__(
        self,
        *,
        exceptions: Iterable[Network] = (),
        forbidden: Iterable[Network] = (),
    ) -> None:
        self._reach = Reach(exceptions=tuple(exceptions), forbidden=tuple(forbidden))
        # The answer for one address never changes while this object lives.
        self._judged = lru_cache(10_000)(self._judge)

    def permits(self, address: Address) -> bool:
        """Return whether this address may be called."""
        return self._reach.permits(address)

    def check(self, address: str) -> None:
        """Raise Refused if this address may not be called.

        The error does not contain the address, which may be a secret of this
        network.
        """
        if not self._judged(address):
            raise Refused("webhooks may not be sent to the address of this host")

    def _judge(self, address: str) -> bool:
        return self.permits(unmap(ipaddress.ip_address(address)))
