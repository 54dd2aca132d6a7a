"""Ending the event streams of open pages at shutdown."""

import asyncio
from contextlib import suppress


class Shutdown:
    """A sleep that ends early when the platform shuts down."""

    def __init__(self) -> None:
        self._told = asyncio.Event()

    def close(self) -> None:
        """End all waiting, current and future."""
        self._told.set()

    async def sleep(self, seconds: float) -> bool:
        """Wait; return whether to continue afterwards."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._told.wait(), seconds)
        return not self._told.is_set()
