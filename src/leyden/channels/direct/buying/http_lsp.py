"""An LSP that sells over LSPS1 and HTTP: what it answers is bounded, and only parsed.

Nothing is known of an order that it did not answer about, and that costs nothing: an
order that nobody pays is forgotten by both sides.
"""

import time
from collections.abc import Mapping
from typing import Any, Final

import aiohttp
import msgspec

from leyden.base import aiohttp_connector
from leyden.channels.direct.rules import purchases
from leyden.channels.direct.rules.purchases import LspInfo, LspOrder, LspRefused, away
from leyden.channels.rules.pricing import Channel
from leyden.errors import SellerAway

_DEADLINE_S: Final = 10.0
_LARGEST: Final = 64 * 1024  # bytes
_INFO_KEPT_S: Final = 600.0
_OK: Final = 200
_REFUSALS: Final = range(400, 500)
_BUSY: Final = frozenset({408, 425, 429})
_LONGEST_WHY: Final = 200


class HttpLsp:
    """The LSP at a URL, below which its methods are."""

    def __init__(self, url: str, *, deadline_s: float = _DEADLINE_S) -> None:
        self._url = url.rstrip("/")
        self._timeout = aiohttp.ClientTimeout(total=deadline_s)
        self._session: aiohttp.ClientSession | None = None
        self._info: tuple[LspInfo, float] | None = None

    async def info(self) -> LspInfo:
        """Return what it sells, at most ten minutes old."""
        if self._info is None or time.monotonic() - self._info[1] > _INFO_KEPT_S:
            status, body = await self._call("GET", "get_info")
            _check(status)
            self._info = purchases.parse_info(body), time.monotonic()
        return self._info[0]

    async def order(self, channel: Channel) -> LspOrder | LspRefused:
        """Order a channel; nothing is paid."""
        wish = (await self.info()).wish(channel)
        status, body = await self._call("POST", "create_order", json=wish)
        if status in _REFUSALS and status not in _BUSY:
            return LspRefused(_why(body))
        _check(status)
        if body.get("error"):
            return LspRefused(_why(body))
        return purchases.parse_lsp_order(body)

    async def find(self, order_id: str) -> LspOrder:
        """Return an order; raise SellerAway if that is another one."""
        query = {"order_id": order_id}
        status, body = await self._call("GET", "get_order", params=query)
        _check(status)
        found = purchases.parse_lsp_order(body)
        if found.id != order_id:
            raise away("returned another order")
        return found

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _call(
        self, method: str, what: str, **options: Any
    ) -> tuple[int, Mapping[str, Any]]:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp_connector.Connector(limit_per_host=8),
                timeout=self._timeout,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        try:
            async with self._session.request(
                method, f"{self._url}/{what}", allow_redirects=False, **options
            ) as response:
                content = bytearray()
                async for chunk in response.content.iter_any():
                    content += chunk
                    if len(content) > _LARGEST:
                        raise away("sent too large an answer")
                status = response.status
            body = msgspec.json.decode(content)
        except SellerAway:
            raise
        except (
            *(aiohttp.ClientError, TimeoutError, OSError),
            *(ValueError, msgspec.MsgspecError, RecursionError),
        ) as error:
            raise away(f"does not answer: {aiohttp_connector.why(error)}") from None
        if not isinstance(body, dict):
            raise away("returned no JSON object")
        return status, body


def _check(status: int) -> None:
    if status != _OK:
        raise away(f"returned status {status}")


def _why(body: Mapping[str, Any]) -> str:
    """Return what an LSP says, in one short line: it is shown to operators only."""
    said = body.get("message") or body.get("error") or body.get("detail")
    text = said if isinstance(said, str) else "it says nothing"
    return "".join(each for each in text if each.isprintable())[:_LONGEST_WHY]
