"""The gateway of one machine: Envoy beside us, told by a file."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from leyden import logs
from leyden.errors import Away, SetupError
from leyden.files import write_private
from leyden.gateway.admin import Silent
from leyden.gateway.base import Traffic
from leyden.gateway.bootstrap import ROUTES, Bootstrap
from leyden.gateway.envoy import Document, Listeners, Listening, as_protobuf
from leyden.gateway.routes import Route
from leyden.gateway.supervisor import Supervisor

_log: Final = logs.get()
# 5,000 nodes take 3 s on a busy machine; past this something is wrong.
_TAKEN_S: Final = 30.0
_FIRST_POLL_S: Final = 0.002
_LONGEST_POLL_S: Final = 0.05


class LocalGateway:
    """An Envoy that is ours to start."""

    def __init__(
        self,
        folder: Path,
        listening: Listening,
        bootstrap: Bootstrap,
        *,
        envoy: Path,
        workers: int = 2,
    ) -> None:
        self._folder = folder
        self._listeners = Listeners(listening, as_protobuf)
        self._supervisor = Supervisor(folder, bootstrap, envoy=envoy, workers=workers)
        self._admin = self._supervisor.admin
        self._one_at_a_time = asyncio.Lock()
        self._in_force: Document | None = None  # as far as we have seen to it

    async def start(self) -> None:
        """Make sure that Envoy runs; with no routes at all if it did not run before.

        Which nodes are where may have changed since the file was written, so a fresh
        Envoy begins with nobody let in until `apply` has said who is.
        """
        if self._in_force is None and self._supervisor.find() is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(self._listeners.document(()).content)
        await self._supervisor.start()

    async def run(self) -> None:
        """Look after Envoy until cancelled, which leaves it running."""
        await self._supervisor.run()

    async def stop(self) -> None:
        """End Envoy."""
        await self._supervisor.stop()

    async def apply(self, routes: Iterable[Route]) -> None:
        """Make these the routes; returns once Envoy has taken them.

        While Envoy is away nobody reaches a node; it reads the file when it is back.
        """
        async with self._one_at_a_time:
            # In a thread: for thousands of routes it takes a tenth of a second.
            document = await asyncio.to_thread(self._listeners.document, tuple(routes))
            before = self._in_force
            lies_there = await asyncio.to_thread(self._read)
            # Another process may have put others there since we did.
            if (
                before is not None
                and document.version == before.version
                and document.content == lies_there
            ):
                return
            refused = await self._refusals()
            await asyncio.to_thread(self._write, document.content)
            try:
                if refused is not None:
                    await self._taken(document, refused)
            except Away:
                if before is not None:
                    await asyncio.to_thread(self._write, lies_there)
                raise
            self._in_force = document

    async def traffic(self) -> dict[str, Traffic]:
        """Give the figures by node id; empty while Envoy is away."""
        try:
            return await self._admin.traffic()
        except Silent:
            return {}

    async def _refusals(self) -> int | None:
        try:
            return (await self._admin.taken())[1]
        except Silent:
            _log.warning("the gateway is away; it will find the routes when it is back")
            return None

    async def _taken(self, document: Document, refused_before: int) -> None:
        pause = _FIRST_POLL_S
        try:
            async with asyncio.timeout(_TAKEN_S):
                while True:
                    version, refused = await self._admin.taken()
                    if version == document.version:
                        return
                    if refused > refused_before:
                        log = self._folder / "envoy.log"
                        raise Away(f"the gateway refused the routes; see {log}")
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, _LONGEST_POLL_S)
        except Silent:
            return  # it died meanwhile, and reads them when it is started again
        except TimeoutError:
            raise Away("the gateway has not taken the routes") from None

    def _read(self) -> bytes:
        try:
            return (self._folder / ROUTES).read_bytes()
        except FileNotFoundError:
            return b""

    def _write(self, content: bytes) -> None:
        """Put the file in place whole: Envoy looks when a file is moved in."""
        try:
            # Written anew at each start: no node waits for a disk to keep it.
            write_private(self._folder / ROUTES, content, lasting=False)
        except OSError as error:
            raise SetupError(f"{self._folder}: {error.strerror}") from None
