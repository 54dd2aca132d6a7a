"""DNS lookups without threads: a dead name delays nobody else's.

The C library's lookup blocks a thread for some 20 s if no name server
answers, and cannot be cancelled: a few dozen dead names used up all
threads. c-ares waits for any number of answers on one socket, reads
/etc/hosts and /etc/resolv.conf as the C library does, and notices when they
change. See docs/decisions/0041.
"""

import asyncio
import contextlib
import socket
from collections.abc import Sequence
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import pycares

# Look-ups of one organization under way at a time; its others wait, nobody else's do.
AT_ONCE = 64
LONGEST_S = 5.0
# c-ares asks again after this long, then after twice as long, and so on. A resolver
# that is still looking itself has the answer ready when it is asked again.
_FIRST_TRY_S = 0.5
_TRIES = 5


class Names:
    """DNS lookups, with each organization's apart from all others.

    `servers` and `port` replace the name servers in /etc/resolv.conf.
    """

    def __init__(
        self,
        *,
        servers: Sequence[str] = (),
        port: int | None = None,
        at_once: int = AT_ONCE,
        longest_s: float = LONGEST_S,
    ) -> None:
        self._servers = servers
        self._port = port
        self._at_once = at_once
        self._longest_s = longest_s
        self._channel: pycares.Channel | None = None
        self._opening = asyncio.Lock()
        self._shares: WeakValueDictionary[str, asyncio.Semaphore] = (
            WeakValueDictionary()
        )

    async def look_up(self, host: str, port: int, organization_id: str) -> list[str]:
        """Return all addresses of the name; raise gaierror if there are none.

        A name whose servers do not answer in time has none.
        """
        channel = self._channel or await self._open()
        share = self._shares.get(organization_id)
        if share is None:
            share = self._shares[organization_id] = asyncio.Semaphore(self._at_once)
        try:
            async with share, asyncio.timeout(self._longest_s):
                return await _ask(channel, host, port)
        except TimeoutError:
            raise socket.gaierror(socket.EAI_AGAIN, "no name server answers") from None

    async def _open(self) -> pycares.Channel:
        async with self._opening:
            if self._channel is None:
                # It reads files: not on the loop.
                self._channel = await asyncio.to_thread(
                    _channel, self._servers, self._port
                )
            return self._channel

    def close(self) -> None:
        """Stop; pending lookups fail."""
        if self._channel is not None:
            self._channel.close()


def _channel(servers: Sequence[str], port: int | None) -> pycares.Channel:
    return pycares.Channel(
        servers=servers or None,
        udp_port=port,
        tcp_port=port,
        timeout=_FIRST_TRY_S,
        tries=_TRIES,
    )


async def _ask(channel: pycares.Channel, host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[list[str]] = loop.create_future()

    def take(found: Any, error: int | None) -> None:
        """Pass on the answer; c-ares calls this in a thread of its own."""
        with contextlib.suppress(RuntimeError):  # the loop may have ended meanwhile
            loop.call_soon_threadsafe(partial(_settle, answered, found, error))

    channel.getaddrinfo(
        # As bytes, so that nobody puts the name through IDNA tables.
        host.encode("ascii"),  # type: ignore[arg-type]
        port,
        type=socket.SOCK_STREAM,
        proto=socket.IPPROTO_TCP,
        callback=take,
    )
    return await answered


def _settle(answered: asyncio.Future[list[str]], found: Any, error: int | None) -> None:
    if answered.done():
        return  # the caller has given up
    addresses = [each.addr[0].decode() for each in found.nodes] if found else []
    if error is not None or not addresses:
        reason = socket.gaierror(socket.EAI_NONAME, "no such name")
        answered.set_exception(reason)
    else:
        answered.set_result(list(dict.fromkeys(addresses)))
