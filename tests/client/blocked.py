"""The asynchronous client as a blocking one, so that the same tests are of both."""

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any, Self

from leyden.client import aio
from leyden.client.aio import AsyncClient


class Blocked:
    """Calls what is asynchronous on the event loop of a thread, and waits for it."""

    def __init__(self, of: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._of, self._loop = of, loop

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._of, name)
        if callable(found):
            return partial(self._call, found)
        return Blocked(found, self._loop) if _is_asynchronous(found) else found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._wait_for(self._of.close())

    def _call(self, method: Any, *args: Any, **options: Any) -> Any:
        found = method(*args, **options)
        if inspect.isasyncgen(found):
            return self._each(found)
        return self._wait_for(found) if inspect.isawaitable(found) else found

    def _each(self, of: AsyncIterator[Any]) -> Iterator[Any]:
        end = object()
        while (each := self._wait_for(anext(of, end))) is not end:
            yield each

    def _wait_for(self, what: Any) -> Any:
        async def run() -> Any:
            return await what

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(60)


def _is_asynchronous(found: object) -> bool:
    return type(found).__module__ == aio.__name__


def blocked_client(*args: Any, **options: Any) -> Any:
    """Return an AsyncClient to which `Client`'s calls can be made."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return Blocked(AsyncClient(*args, **options), loop)
