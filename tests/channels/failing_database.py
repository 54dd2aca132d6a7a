"""Ways to die: a program that stops at its nth durable step, before or after it.

A step is a commit, or a call to the treasury or the market that changes something
there. Dead, it does nothing any more: neither commits nor calls.
"""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar, cast

from leyden.base.database.database import Database
from leyden.base.database.statements import Wake
from leyden.base.database.stores import Stores
from tests.channels.orders_harness import Crashed

Immortal = TypeVar("Immortal")


@dataclass
class Fuse:
    """Burns down with each step."""

    steps: int
    after: bool  # the step is done, and its answer is lost
    burnt: int = 0
    dead: bool = False

    @contextlib.asynccontextmanager
    async def step(self) -> AsyncIterator[None]:
        if self.dead:
            raise Crashed
        self.burnt += 1
        if self.burnt == self.steps and not self.after:
            self.dead = True
            raise Crashed
        yield
        if self.burnt >= self.steps and self.after:
            self.dead = True
            raise Crashed


class FailingDatabase:
    """A database whose program may die at a commit."""

    def __init__(self, database: Database, fuse: Fuse) -> None:
        self._database = database
        self._fuse = fuse
        self.is_alone = True
        self.look_every_s = 1.0

    @property
    def reader(self) -> Stores:
        if self._fuse.dead:
            raise Crashed
        return self._database.reader

    async def edition(self) -> Hashable:
        if self._fuse.dead:
            raise Crashed
        return await self._database.edition()

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Stores]:
        if self._fuse.dead:
            raise Crashed
        fuse = self._fuse
        fuse.burnt += 1
        async with self._database.transaction() as tx:
            yield tx
            if fuse.burnt == fuse.steps and not fuse.after:
                fuse.dead = True
                raise Crashed
        if fuse.burnt >= fuse.steps and fuse.after:
            fuse.dead = True
            raise Crashed

    @contextlib.asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Stores]:
        if self._fuse.dead:
            raise Crashed
        async with self._database.snapshot() as stores:
            yield stores

    def listen(self, wake: Wake) -> None:
        self._database.listen(wake)

    async def now(self) -> datetime:
        return await self._database.now()

    async def durability_risks(self) -> list[str]:
        return await self._database.durability_risks()

    async def close(self) -> None:
        """It is closed by whoever opened the real one."""


def failing(immortal: Immortal, fuse: Fuse, *changing: str) -> Immortal:
    """Run a program that may die at one of these calls."""
    return cast("Immortal", _Mortal(immortal, fuse, *changing))


class _Mortal:
    """A treasury or a market whose caller may die at a call."""

    def __init__(self, immortal: Any, fuse: Fuse, *changing: str) -> None:
        vars(self).update(_immortal=immortal, _fuse=fuse, _changing=changing)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._immortal, name, value)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._immortal, name)
        if name not in self._changing:
            return found
        return self._mortal(found)

    def _mortal(self, call: Callable[..., Awaitable[Any]]) -> Any:
        async def called(*args: Any, **kwargs: Any) -> Any:
            async with self._fuse.step():
                return await call(*args, **kwargs)

        return called
