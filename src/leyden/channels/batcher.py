"""A batcher: many callers, one transaction.

Calls made during a write join the next one. Each caller waits until its own
part is durable, as if it were alone. If a batch fails, each part is written by
itself, so that a part that cannot be written does not block the others.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Generic, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")

# More would block the event loop for longer than other requests should wait.
_LIMIT = 512


class Batcher(Generic[Part, Result]):
    """A batcher of calls into joint writes."""

    def __init__(
        self, do: Callable[[Sequence[Part]], Awaitable[Iterable[Result]]]
    ) -> None:
        self._do = do
        self._waiting: list[tuple[Part, asyncio.Future[Result]]] = []
        self._doing: asyncio.Task[None] | None = None

    async def __call__(self, part: Part) -> Result:
        """Return the result for this part, or raise its own error."""
        done: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((part, done))
        if self._doing is None:
            self._doing = asyncio.create_task(self._run())
        return await done

    async def _run(self) -> None:
        try:
            while self._waiting:
                batch = self._waiting[:_LIMIT]
                del self._waiting[:_LIMIT]
                await self._run_batch(batch)
        finally:
            self._doing = None

    async def _run_batch(
        self, batch: list[tuple[Part, asyncio.Future[Result]]]
    ) -> None:
        try:
            results = await self._do([part for part, _ in batch])
        except Exception as error:  # noqa: BLE001  raised to the part's caller
            if len(batch) == 1:
                if not batch[0][1].done():
                    batch[0][1].set_exception(error)
                return
            for each in batch:
                await self._run_batch([each])
        else:
            for (_, done), result in zip(batch, results, strict=True):
                if not done.done():
                    done.set_result(result)
