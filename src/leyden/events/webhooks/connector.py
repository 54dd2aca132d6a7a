"""A connector for aiohttp that only calls permitted addresses, and which these are.

The resolver checks each address of a name: a single forbidden one forbids the name,
as an honest name has none. The socket factory checks the address of each connection,
which also covers URLs with an address instead of a name.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from functools import lru_cache, partial
from typing import Any, Final, cast

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler

from leyden.base.rules.addresses import Address, Network, Reach, unmap
from leyden.errors import Refused

_MAX_INTERIM: Final = 20
_LOOK_UP_S: Final = 5.0


class Egress:
    """Allows the addresses that may be called.

    `exceptions` are networks that may be called although they are not public: a
    private installation has receivers inside its own. `forbidden` are networks
    that may not be called although they are public: the platform's own
    addresses.

    A tenant chooses the URL, so a webhook must not become a way into networks that only
    this machine can reach: loopback, private ranges, the cloud's metadata service.
    Names prove nothing, since their owner can make them resolve to anything at any
    time. What is checked is the address of the connection, each time one is made.
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


class TooLong(aiohttp.ClientError):
    """The head of the answer does not end."""


async def look_up(host: str, port: int, organization_id: str) -> list[str]:
    """Return all addresses of a name; raise OSError if there are none in time."""
    del organization_id  # a look-up takes no thread, and delays no other
    resolver = aiohttp.AsyncResolver()
    try:
        async with asyncio.timeout(_LOOK_UP_S):
            found = await resolver.resolve(host, port, socket.AF_UNSPEC)
    finally:
        await resolver.close()
    return [each["host"] for each in found]


class CheckedResolver(AbstractResolver):
    """DNS lookups without threads, of names whose addresses may all be called."""

    def __init__(self, egress: Egress, resolver: AbstractResolver) -> None:
        self._egress = egress
        self._resolver = resolver

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,
    ) -> list[ResolveResult]:
        """Return a name's addresses; raise Refused if one may not be called."""
        found = await self._resolver.resolve(host, port, family)
        for each in found:
            self._egress.check(each["host"])
        return found

    async def close(self) -> None:
        """Release the resolver."""
        await self._resolver.close()


class _BoundedHandler(ResponseHandler):
    """A parser that limits interim answers; aiohttp limits lines and headers."""

    _answers = 0

    def set_response_params(self, **params: Any) -> None:
        """Begin with the next answer."""
        self._answers = 0
        super().set_response_params(**params)

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Take in the head of an answer."""
        self._answers += 1
        if self._answers <= _MAX_INTERIM:
            super().feed_data(data, size)
        elif self.transport is not None:
            self.set_exception(TooLong())
            self.transport.abort()


class ReceiverConnector(aiohttp.TCPConnector):
    """A connector to one receiver."""

    def __init__(self, egress: Egress, resolver: AbstractResolver) -> None:
        super().__init__(
            limit=1,
            use_dns_cache=False,
            resolver=CheckedResolver(egress, resolver),
            socket_factory=partial(_open, egress),
        )
        self._factory = cast(
            "partial[ResponseHandler]", partial(_BoundedHandler, loop=self._loop)
        )


def _open(egress: Egress, address: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol, _, target = address
    egress.check(target[0])
    return socket.socket(family, kind, protocol)
