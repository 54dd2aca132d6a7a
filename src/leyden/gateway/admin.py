"""What Envoy says about itself, over a socket that only we can open."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote

import aiohttp
import msgspec

from leyden.gateway.base import Traffic
from leyden.gateway.bootstrap import ADMIN

# It answers between two other things, and taking 20,000 chains is one that lasts 3 s.
_PATIENCE: Final = aiohttp.ClientTimeout(total=30)
_VERSION: Final = "listener_manager.lds.version_text"
_REJECTED: Final = "listener_manager.lds.update_rejected"
_PREFIX: Final = "tcp.node."
_FIGURES: Final = {
    "downstream_cx_total": "connections",
    "downstream_cx_rx_bytes_total": "bytes_in",
    "downstream_cx_tx_bytes_total": "bytes_out",
}


class Silent(Exception):
    """Envoy does not answer: it is not there, or busy."""


class _Stat(msgspec.Struct):
    name: str = ""
    value: int | str = 0


class _Stats(msgspec.Struct):
    stats: list[_Stat]


class Admin:
    """Asks the Envoy that runs in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def taken(self) -> tuple[str, int]:
        """Give the version of the routes in force, and how many were refused."""
        stats = await self._stats(r"^listener_manager\.lds\.(version|update_rej)")
        return str(stats.get(_VERSION, "")), int(stats.get(_REJECTED, 0))

    async def traffic(self) -> dict[str, Traffic]:
        """Give what each node has sent and got."""
        found: dict[str, dict[str, int]] = {}
        for name, value in (await self._stats(r"^tcp\.node\.")).items():
            node_id, _, figure = name.removeprefix(_PREFIX).rpartition(".")
            if figure in _FIGURES:
                found.setdefault(node_id, {})[_FIGURES[figure]] = int(value)
        return {node_id: Traffic(**figures) for node_id, figures in found.items()}

    async def _stats(self, pattern: str) -> Mapping[str, int | str]:
        url = f"http://envoy/stats?format=json&filter={quote(pattern)}"
        try:
            folder = os.open(self._folder, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise Silent(str(error)) from None
        try:
            # A socket's path may have 107 characters; the folder's may have more.
            connector = aiohttp.UnixConnector(f"/proc/self/fd/{folder}/{ADMIN}")
            async with (
                aiohttp.ClientSession(connector=connector, timeout=_PATIENCE) as http,
                http.get(url) as response,
            ):
                body = await response.read()
        except (TimeoutError, aiohttp.ClientError) as error:
            raise Silent(str(error)) from None
        finally:
            os.close(folder)
        stats = msgspec.json.decode(body, type=_Stats).stats
        return {stat.name: stat.value for stat in stats}
