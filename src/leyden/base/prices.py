"""What a bitcoin costs, from a source that the operator chose.

Pages show it beside amounts; nothing is charged, converted or stored by it.
"""

import asyncio
import logging
import math
from datetime import datetime, timedelta
from typing import Any, Final

import aiohttp
import msgspec

from leyden.base.rules.times import Clock
from leyden.values import Struct

_EVERY: Final = timedelta(minutes=1)
_KNOWN_FOR: Final = timedelta(minutes=10)
_TIMEOUT: Final = aiohttp.ClientTimeout(total=10)
_LARGEST: Final = 64 * 1024  # bytes

log = logging.getLogger(__name__)


class Price(Struct, frozen=True):
    """The price of a bitcoin at a moment."""

    currency: str
    per_bitcoin: float
    at: datetime


class Prices:
    """The last price, in this process; it is lost at its end."""

    def __init__(self) -> None:
        self._last: Price | None = None

    def last(self, now: datetime) -> Price | None:
        """Return the last price; None if there is none, or it is too old."""
        known = self._last
        return known if known is not None and now - known.at <= _KNOWN_FOR else None

    async def follow(self, url: str, currency: str, clock: Clock) -> None:
        """Ask once a minute, until cancelled."""
        while True:
            await self.ask(url, currency, clock)
            await asyncio.sleep(_EVERY.total_seconds())

    async def ask(self, url: str, currency: str, clock: Clock) -> None:
        """Ask for the price; a source that fails leaves the last one."""
        try:
            async with aiohttp.ClientSession(timeout=_TIMEOUT) as session:
                per_bitcoin = await _ask(session, url, currency)
        except (
            *(aiohttp.ClientError, TimeoutError),
            *(ValueError, msgspec.MsgspecError),
        ) as error:
            # Not what it says: its address may have a key of the operator's.
            why = type(error).__name__
            log.warning("price_source gives no price", extra={"why": why})
        else:
            self._last = Price(currency, per_bitcoin, clock())


async def _ask(session: aiohttp.ClientSession, url: str, currency: str) -> float:
    async with session.get(url, raise_for_status=True) as response:
        content = bytearray()
        async for chunk in response.content.iter_any():
            content += chunk
            if len(content) > _LARGEST:
                raise ValueError("too large")
    price: Any = msgspec.json.decode(content, type=dict[str, Any]).get(currency)
    if type(price) in {int, float} and math.isfinite(price) and price > 0:
        return float(price)
    raise ValueError(f"no price in {currency}")
