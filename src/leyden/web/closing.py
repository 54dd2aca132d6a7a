"""Telling pages that stay open that the platform is going down."""

import asyncio
from contextlib import suppress


class Closing:
    """Waits like a clock, but not for longer than the platform goes on."""

    def __init__(self) -> None:
        self._told = asyncio.Event()

    def close(self) -> None:
        """End all waiting, now and from now on."""
        self._told.set()

    async def sleep(self, seconds: float) -> bool:
        """Wait; tell whether to go on afterwards."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._told.wait(), seconds)
        return not self._told.is_set()
