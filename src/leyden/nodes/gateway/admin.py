"""A client for Envoy's admin interface, over a socket only we can open."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote

import httptools
import msgspec

from leyden.nodes.gateway.base import Traffic
from leyden.nodes.gateway.bootstrap import ADMIN

# It answers between two other things, and taking 20,000 chains is one that lasts 3 s.
_PATIENCE_S: Final = 30.0
_OK: Final = 200
_VERSION: Final = "listener_manager.lds.version_text"
_REJECTED: Final = "listener_manager.lds.update_rejected"
_PREFIX: Final = "tcp.node."
_COUNTERS: Final = {
    "downstream_cx_total": "connections",
    "downstream_cx_rx_bytes_total": "bytes_in",
    "downstream_cx_tx_bytes_total": "bytes_out",
}


class Silent(Exception):
    """Envoy does not respond: not running, or busy."""


class _Stat(msgspec.Struct):
    name: str = ""
    value: int | str = 0


class _Stats(msgspec.Struct):
    stats: list[_Stat]


class _Listener(msgspec.Struct):
    name: str = ""


class _Listeners(msgspec.Struct):
    listener_statuses: list[_Listener] = []


class Admin:
    """A client for the Envoy that runs in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def routes_version(self) -> tuple[str, int]:
        """Return the version of the routes in force, and how many were refused."""
        stats = await self._stats(r"^listener_manager\.lds\.(version|update_rej)")
        return str(stats.get(_VERSION, "")), int(stats.get(_REJECTED, 0))

    async def listeners(self) -> set[str]:
        """Return the names of the listeners that listen."""
        said = await self._answer("/listeners?format=json")
        listed = msgspec.json.decode(said, type=_Listeners).listener_statuses
        return {each.name for each in listed}

    async def traffic(self) -> dict[str, Traffic]:
        """Return what each node has sent and got."""
        found: dict[str, dict[str, int]] = {}
        for name, value in (await self._stats(r"^tcp\.node\.")).items():
            node_id, _, counter = name.removeprefix(_PREFIX).rpartition(".")
            if counter in _COUNTERS:
                found.setdefault(node_id, {})[_COUNTERS[counter]] = int(value)
        return {node_id: Traffic(**counted) for node_id, counted in found.items()}

    async def _stats(self, pattern: str) -> Mapping[str, int | str]:
        said = await self._answer(f"/stats?format=json&filter={quote(pattern)}")
        stats = msgspec.json.decode(said, type=_Stats).stats
        return {stat.name: stat.value for stat in stats}

    async def _answer(self, target: str) -> bytes:
        try:
            folder = os.open(self._folder, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise Silent(str(error)) from None
        try:
            # A socket's path may have 107 characters; the folder's may have more.
            socket = f"/proc/self/fd/{folder}/{ADMIN}"
            async with asyncio.timeout(_PATIENCE_S):
                said = await _request(socket, target)
        except (OSError, TimeoutError) as error:
            raise Silent(str(error)) from None
        finally:
            os.close(folder)
        return _body(said)


async def _request(socket: str, target: str) -> bytes:
    """Ask once, and return the whole answer."""
    reader, writer = await asyncio.open_unix_connection(socket)
    try:
        head = f"GET {target} HTTP/1.1\r\nHost: envoy\r\nConnection: close\r\n\r\n"
        writer.write(head.encode())
        return await reader.read()
    finally:
        writer.close()


class _Reply:
    """An answer, filled in by the HTTP parser."""

    def __init__(self) -> None:
        self.body = bytearray()
        self.is_whole = False

    def on_body(self, part: bytes) -> None:
        self.body += part

    def on_message_complete(self) -> None:
        self.is_whole = True


def _body(said: bytes) -> bytes:
    """Return the body of a good answer that is whole."""
    reply = _Reply()
    parser = httptools.HttpResponseParser(reply)
    try:
        parser.feed_data(said)
    except httptools.HttpParserError as error:
        raise Silent(str(error)) from None
    if not reply.is_whole or parser.get_status_code() != _OK:
        raise Silent("the answer broke off")
    return bytes(reply.body)
