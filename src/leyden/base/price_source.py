"""What a bitcoin costs, asked of a source that the operator chose."""

import asyncio
import logging
import math
from datetime import timedelta
from typing import Any, Final

import aiohttp
import msgspec

from leyden.base.prices import Price, Prices
from leyden.base.rules.times import Clock

_EVERY: Final = timedelta(minutes=1)
_TIMEOUT: Final = aiohttp.ClientTimeout(total=10)
_LARGEST: Final = 64 * 1024  # bytes

log = logging.getLogger(__name__)


async def follow(prices: Prices, url: str, currency: str, clock: Clock) -> None:
    """Ask once a minute, until cancelled."""
    while True:
        await ask(prices, url, currency, clock)
        await asyncio.sleep(_EVERY.total_seconds())


async def ask(prices: Prices, url: str, currency: str, clock: Clock) -> None:
    """Ask for the price; a source that fails leaves the last one."""
    try:
        async with aiohttp.ClientSession(timeout=_TIMEOUT) as session:
            per_bitcoin = await _answer(session, url, currency)
    except (
        *(aiohttp.ClientError, TimeoutError),
        *(ValueError, msgspec.MsgspecError),
    ) as error:
        # Not what it says: its address may have a key of the operator's.
        why = type(error).__name__
        log.warning("price_source gives no price", extra={"why": why})
    else:
        prices.keep(Price(currency, per_bitcoin, clock()))


async def _answer(session: aiohttp.ClientSession, url: str, currency: str) -> float:
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
