"""What a platform asks, and what dies at its n-th question: API server or database.

    outage.arm(3, Moment.AFTER)  # at the third question from now on
    ...
    assert outage.struck         # which it was, or "" where there were fewer

Both come back by themselves, a moment later.
"""

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.reaper import descendants
from tests.workshop.devcluster.api_proxy import ApiProxy, Moment
from tests.workshop.devcluster.clusters import DevCluster, kill

_AWAY_S: Final = 0.7
_CHUNK: Final = 1 << 16
_ANSWERS_WITHIN_S: Final = 2.0


class Outage:
    """Dies at one question, and counts them until then."""

    def __init__(self) -> None:
        self.asked = 0
        self.struck = ""
        self.is_long = False  # so that moves are given up
        self._at = 0
        self._moment = Moment.BEFORE

    def arm(self, number: int, moment: Moment) -> None:
        """Die at so many questions from now on; 0 for never."""
        self.asked, self.struck = 0, ""
        self._at, self._moment = number, moment

    def is_now(self, question: str, moment: Moment) -> bool:
        """Count a question, and return whether to die at it."""
        if moment is not self._moment or self.struck:
            return False
        self.asked += 1
        if self.asked != self._at:
            return False
        self.struck = question
        return True


class ApiOutage(Outage):
    """The API server dies; `cluster` is given where its process does."""

    def __init__(self, proxy: ApiProxy, cluster: DevCluster | None) -> None:
        super().__init__()
        proxy.strike = self._strike
        self.is_long = cluster is not None
        self._proxy = proxy
        self._cluster = cluster
        self._returning: asyncio.Task[None] | None = None

    async def _strike(self, question: str, moment: Moment) -> bool:
        if not self.is_now(question, moment):
            return True
        self._proxy.go_away()
        if self._cluster is not None:
            await asyncio.to_thread(kill, self._cluster, "kube-apiserver")
        self._returning = asyncio.create_task(self._return())
        return False

    async def _return(self) -> None:
        await asyncio.sleep(_AWAY_S)
        while self._cluster and not await asyncio.to_thread(self._cluster.answers):
            await asyncio.sleep(_AWAY_S)
        self._proxy.come_back()


class DatabaseOutage(Outage):
    """PostgreSQL dies: one of its processes is killed, and it begins anew.

    Whoever asks comes by a port, at which questions are counted: what is sent at once.
    It is served by a thread: at their start platforms ask without an event loop.
    """

    def __init__(self, postmaster: int, socket: str) -> None:
        super().__init__()
        self._postmaster = postmaster
        self._socket = socket
        self._open: set[asyncio.StreamWriter] = set()

    @contextmanager
    def relayed(self, host: str = "127.0.0.1") -> Iterator[int]:
        """Yield the port."""
        loop = asyncio.new_event_loop()
        serving = threading.Thread(target=loop.run_forever, daemon=True)
        serving.start()

        async def begin() -> asyncio.Server:
            return await asyncio.start_server(self._take, host, 0)

        async def end() -> None:
            server.close()
            self._cut()
            for each in asyncio.all_tasks() - {asyncio.current_task()}:
                each.cancel()

        server = asyncio.run_coroutine_threadsafe(begin(), loop).result()
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            asyncio.run_coroutine_threadsafe(end(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            serving.join()
            loop.close()

    async def _take(
        self, asking: asyncio.StreamReader, to_asker: asyncio.StreamWriter
    ) -> None:
        try:
            existing = await asyncio.open_unix_connection(self._socket)
        except OSError:
            to_asker.transport.abort()
            return
        self._open |= {to_asker, existing[1]}
        silent, answered = asyncio.Event(), asyncio.Event()

        def answer(content: bytes) -> bytes:
            answered.set()
            return b"" if silent.is_set() else content

        async def ask() -> None:
            while content := await asking.read(_CHUNK):
                if self.is_now("a question", Moment.BEFORE):
                    self._die()
                    return
                answered.clear()
                if self.is_now("an answer", Moment.AFTER):
                    silent.set()
                    existing[1].write(content)
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(answered.wait(), _ANSWERS_WITHIN_S)
                    self._die()
                    return
                existing[1].write(content)
                await existing[1].drain()

        ways = [
            asyncio.create_task(ask()),
            asyncio.create_task(_passed_on(existing[0], to_asker, answer)),
        ]
        # Whichever side ends, the other one hears of it, as of any server that died.
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for each in (to_asker, existing[1]):
            self._open.discard(each)
            each.close()
        await asyncio.gather(*ways, return_exceptions=True)

    def _die(self) -> None:
        """Kill one of its processes: it ends the others, and recovers."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(max(descendants(self._postmaster)), signal.SIGKILL)
        self._cut()

    def _cut(self) -> None:
        for each in list(self._open):
            each.transport.abort()
        self._open.clear()


async def _passed_on(
    source: asyncio.StreamReader,
    to: asyncio.StreamWriter,
    found: Callable[[bytes], bytes],
) -> None:
    while content := await source.read(_CHUNK):
        to.write(found(content))
        await to.drain()


def postmaster_of(folder: Path) -> int:
    """Return the first process of a PostgreSQL by its folder."""
    return int((folder / "postmaster.pid").read_text().split("\n", 1)[0])
