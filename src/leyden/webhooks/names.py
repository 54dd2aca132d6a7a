"""Names looked up so that a slow one delays nobody else.

The C library's look-up blocks a thread and cannot be called off: a name server that
never answers holds its thread for some 20 s. So a name that was slow once is looked
up in a lane of its own from then on, until it is quick again.
"""

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

_MOST_SLOW_NAMES = 10_000

SystemLookUp = Callable[[str, int], list[str]]


def system_look_up(host: str, port: int) -> list[str]:
    """Ask the system: /etc/hosts, DNS, whatever the machine is set to."""
    # As bytes, so that Python does not put the name through its IDNA tables.
    found = socket.getaddrinfo(
        host.encode("ascii"), port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
    )
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Names:
    """Looks names up in threads."""

    def __init__(
        self,
        look_up: SystemLookUp = system_look_up,
        *,
        threads: int = 32,
        slow_threads: int = 8,
        slow_s: float = 1.0,
        longest_s: float = 5.0,
    ) -> None:
        self._system = look_up
        self._quick = ThreadPoolExecutor(threads, thread_name_prefix="names")
        self._slow = ThreadPoolExecutor(slow_threads, thread_name_prefix="slow-names")
        self._slow_s = slow_s
        self._longest_s = longest_s
        self._slow_names: OrderedDict[str, None] = OrderedDict()

    async def look_up(self, host: str, port: int) -> list[str]:
        """Give all addresses of the name; TimeoutError when that takes too long."""
        lane = self._slow if host in self._slow_names else self._quick
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            async with asyncio.timeout(self._longest_s):
                return await loop.run_in_executor(lane, self._system, host, port)
        finally:
            self._remember(host, slow=loop.time() - begun > self._slow_s)

    def _remember(self, host: str, *, slow: bool) -> None:
        self._slow_names.pop(host, None)
        if slow:
            self._slow_names[host] = None
            if len(self._slow_names) > _MOST_SLOW_NAMES:
                self._slow_names.popitem(last=False)

    def close(self) -> None:
        """Let go of the threads; those that still wait end by themselves."""
        self._quick.shutdown(wait=False, cancel_futures=True)
        self._slow.shutdown(wait=False, cancel_futures=True)
