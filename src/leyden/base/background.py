"""Background jobs: loops that run beside the requests, for the length of a block.

A job handles what it expects. What it does not expect must not end it in silence, for
nobody would notice until its work is missed: it is logged, and the job starts again.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

_AGAIN_S: Final = 1.0
Job = Callable[[], Awaitable[None]]

log = logging.getLogger(__name__)


@asynccontextmanager
async def background(
    jobs: Mapping[str, Job], *, again_s: float = _AGAIN_S
) -> AsyncIterator[None]:
    """Run these named jobs for the block; cancel them at its end.

    One that returns has done its work.
    """
    tasks = [
        asyncio.create_task(_run(name, job, again_s), name=name)
        for name, job in jobs.items()
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _run(name: str, job: Job, again_s: float) -> None:
    while True:
        try:
            await job()
        except Exception:
            log.exception("a background job failed; restarting it", extra={"job": name})
            await asyncio.sleep(again_s)
        else:
            return
