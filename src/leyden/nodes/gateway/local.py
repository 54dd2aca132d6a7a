"""The gateway of one machine: a local Envoy, configured by a file."""

import asyncio
import errno
import logging
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from leyden.base.files import write_private
from leyden.errors import Away, SetupError
from leyden.nodes.gateway.admin import Silent
from leyden.nodes.gateway.base import Traffic
from leyden.nodes.gateway.bootstrap import ROUTES, Bootstrap
from leyden.nodes.gateway.envoy import Document, Documents, as_protobuf
from leyden.nodes.gateway.listener_options import ListenerOptions
from leyden.nodes.gateway.routes import Route
from leyden.nodes.gateway.supervisor import Supervisor
from leyden.values import replace

log = logging.getLogger(__name__)
# 5,000 nodes take 3 s on a busy machine; past this something is wrong.
_TAKEN_S: Final = 30.0
_FIRST_POLL_S: Final = 0.002
_LONGEST_POLL_S: Final = 0.05


class LocalGateway:
    """An Envoy that we start."""

    def __init__(
        self,
        folder: Path,
        options: ListenerOptions,
        bootstrap: Bootstrap,
        *,
        envoy: Path,
        workers: int = 2,
    ) -> None:
        self._folder = folder
        self._host = options.host
        self._documents = Documents(options, as_protobuf)
        self._supervisor = Supervisor(folder, bootstrap, envoy=envoy, workers=workers)
        self._admin = self._supervisor.admin
        self._one_at_a_time = asyncio.Lock()
        self._in_force: Document | None = None  # as far as we have seen to it

    async def start(self) -> None:
        """Ensure that Envoy runs; without routes if it did not run before.

        The nodes' addresses may have changed since the file was written, so a new
        Envoy admits nobody until `apply` has set the routes.
        """
        if self._in_force is None and self._supervisor.find() is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(self._documents.document(()).content)
        await self._supervisor.start()

    async def run(self) -> None:
        """Supervise Envoy until cancelled; Envoy keeps running afterwards."""
        await self._supervisor.run()

    async def stop(self) -> None:
        """Stop Envoy."""
        await self._supervisor.stop()

    async def apply(self, routes: Iterable[Route]) -> None:
        """Replace all routes; return once Envoy has accepted them.

        While Envoy is down no node can be reached; it reads the file when it is
        back.
        """
        async with self._one_at_a_time:
            wanted = tuple(routes)
            document = await self._document(wanted)
            before = self._in_force
            lies_there = await asyncio.to_thread(self._read)
            # Another process may have put others there since we did.
            if (
                before is not None
                and document.version == before.version
                and document.content == lies_there
            ):
                return
            try:
                blocked = await self._put_in_force(document, wanted)
            except Away:
                if before is not None:
                    await asyncio.to_thread(self._write, lies_there)
                raise
            if blocked:
                ports = ", ".join(
                    f"{port} of node {node_id}"
                    for node_id, port in sorted(blocked.items())
                )
                raise Away(f"peers cannot connect: another program has port {ports}")

    async def _put_in_force(
        self, document: Document, routes: tuple[Route, ...]
    ) -> dict[str, int]:
        """Apply the routes; return the peer ports that another program has taken.

        A peer port that it has must not keep everybody else's nodes from being
        reached.
        """
        try:
            await self._replace(document)
        except Away:
            blocked = await self._without_listener(routes)
            if not blocked:
                raise
            others = (
                replace(route, peers=None) if route.node_id in blocked else route
                for route in routes
            )
            await self._replace(await self._document(tuple(others)))
            return blocked
        return {}

    async def _document(self, routes: tuple[Route, ...]) -> Document:
        # In a thread: for thousands of routes it takes a tenth of a second.
        return await asyncio.to_thread(self._documents.document, routes)

    async def _replace(self, document: Document) -> None:
        refused = await self._refusals()
        await asyncio.to_thread(self._write, document.content)
        if refused is not None:
            await self._taken(document, refused)
        self._in_force = document

    async def blocked(self, routes: Iterable[Route]) -> dict[str, int]:
        """Return the peer ports of routes that another program has, by node id."""
        return {
            node_id: port
            for node_id, port in (await self._without_listener(routes)).items()
            if _is_taken(self._host, port)
        }

    async def _without_listener(self, routes: Iterable[Route]) -> dict[str, int]:
        """Return the peer ports that Envoy does not listen on, by node."""
        try:
            listening = await self._admin.listeners()
        except Silent:
            return {}
        return {
            route.node_id: route.peers.port
            for route in routes
            if route.peers and route.peers.listener(route.node_id) not in listening
        }

    async def traffic(self) -> dict[str, Traffic] | None:
        """Return the traffic by node id; None while Envoy is away."""
        try:
            return await self._admin.traffic()
        except Silent:
            return None

    async def _refusals(self) -> int | None:
        try:
            return (await self._admin.routes_version())[1]
        except Silent:
            log.warning(
                "the gateway is unavailable; it gets the routes when it is back"
            )
            return None

    async def _taken(self, document: Document, refused_before: int) -> None:
        pause = _FIRST_POLL_S
        try:
            async with asyncio.timeout(_TAKEN_S):
                while True:
                    version, refused = await self._admin.routes_version()
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
        """Write the file whole: Envoy looks when a file is moved in."""
        try:
            # Written anew at each start: no node waits for a disk to keep it.
            write_private(self._folder / ROUTES, content, lasting=False)
        except OSError as error:
            raise SetupError(f"{self._folder}: {error.strerror}") from None


def _is_taken(host: str, port: int) -> bool:
    """Return whether another socket has the port."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
        # As Envoy does: connections that ended a moment ago keep nobody from it.
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if host == "::":
            trial.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        try:
            trial.bind((host, port))
        except OSError as error:
            return error.errno == errno.EADDRINUSE
    return False
