"""The event streams of open pages: how many a person may have, and their end."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from leyden.errors import TooMany

# Each looks twice a second and holds a connection; a browser has six at the most.
LIMIT: Final = 24
_AGAIN_S: Final = 5


class OpenStreams:
    """The streams of a dashboard."""

    def __init__(self) -> None:
        self._closing = asyncio.Event()
        self._held: Counter[str] = Counter()

    @contextmanager
    def slot(self, person_id: str) -> Iterator[None]:
        """Take one of a person's places; raise TooMany if there is none."""
        if self._held[person_id] >= LIMIT:
            raise TooMany(
                f"you have {LIMIT} live pages open; close some of them",
                retry_after_s=_AGAIN_S,
            )
        self._held[person_id] += 1
        try:
            yield
        finally:
            self._held[person_id] -= 1
            if not self._held[person_id]:
                del self._held[person_id]

    def close(self) -> None:
        """End all waiting, current and future: the platform shuts down."""
        self._closing.set()

    async def sleep(self, seconds: float) -> bool:
        """Wait; return whether to continue afterwards."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), seconds)
        return not self._closing.is_set()
