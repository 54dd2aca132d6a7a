"""Many callers, one transaction: whoever comes while it is written joins the next.

Each caller waits until its own part is durable, as if it were alone; should the whole
fail, each part is tried by itself, so that one that cannot be written stops no other.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Part = TypeVar("Part")


class Together(Generic[Part]):
    """Does at once, for all who ask, what each asks for alone."""

    def __init__(
        self, do: Callable[[Sequence[Part]], Awaitable[None]], *, most: int = 2_048
    ) -> None:
        self._do = do
        self._most = most
        self._waiting: list[tuple[Part, asyncio.Future[None]]] = []
        self._doing: asyncio.Task[None] | None = None

    async def __call__(self, part: Part) -> None:
        """Do this part with the others; raises what doing it alone raised."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((part, done))
        if self._doing is None:
            self._doing = asyncio.create_task(self._all())
        await done

    async def _all(self) -> None:
        try:
            while self._waiting:
                batch = self._waiting[: self._most]
                del self._waiting[: self._most]
                await self._some(batch)
        finally:
            self._doing = None

    async def _some(self, batch: list[tuple[Part, asyncio.Future[None]]]) -> None:
        try:
            await self._do([part for part, _ in batch])
        except Exception as error:  # noqa: BLE001  given to whom it belongs
            if len(batch) == 1:
                if not batch[0][1].done():
                    batch[0][1].set_exception(error)
                return
            for each in batch:
                await self._some([each])
        else:
            for _, done in batch:
                if not done.done():
                    done.set_result(None)
