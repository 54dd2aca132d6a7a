"""Waiting for a condition."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from leyden.errors import Away, SetupError

_LOOK_AGAIN_S = 0.2
_WITHIN_S = 180.0


async def until(
    holds: Callable[[], Awaitable[bool]],
    otherwise: str,
    *,
    within_s: float = _WITHIN_S,
) -> None:
    """Wait until a condition holds, or raise SetupError with `otherwise`.

    A daemon may be away meanwhile.
    """
    deadline = time.monotonic() + within_s
    while not await _tried(holds):
        if time.monotonic() > deadline:
            raise SetupError(f"{otherwise}; see `leyden dev status`")
        await asyncio.sleep(_LOOK_AGAIN_S)


async def _tried(holds: Callable[[], Awaitable[bool]]) -> bool:
    try:
        return await holds()
    except Away:
        return False
