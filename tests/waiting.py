"""Waiting for what another task, thread or process does."""

import asyncio
import inspect
from collections.abc import Callable


async def until(
    holds: Callable[[], object], *, within_s: float = 60, every_s: float = 0.005
) -> None:
    """Wait until something holds, which may take a coroutine to find out."""
    async with asyncio.timeout(within_s):
        while not (await it if inspect.isawaitable(it := holds()) else it):
            await asyncio.sleep(every_s)
