"""The dashboard, once it is there: requests of machines do not wait for it."""

import asyncio
import importlib
from typing import Any

from leyden.app import doors
from leyden.services.platform import Platform


class Pages:
    """Answers with the dashboard's pages; whoever comes before it is made waits."""

    def __init__(self, platform: Platform, *, version: str) -> None:
        self._platform = platform
        self._version = version
        self._site: asyncio.Future[Any] = asyncio.Future()

    async def make(self) -> None:
        """Make it; importing it is a quarter of a second, in a thread."""
        web = await asyncio.to_thread(importlib.import_module, "leyden.web.app")
        origins = doors.origins(self._platform.settings)
        site = web.dashboard(self._platform, version=self._version, origins=origins)
        self._site.set_result(site)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        site = await asyncio.shield(self._site)
        await site(scope, receive, send)

    def close(self) -> None:
        """End the waiting of pages that stay open."""
        if self._site.done():
            self._site.result().closing.close()
        else:
            self._site.cancel()
