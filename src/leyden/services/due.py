"""What a step is handed that runs by itself: the task it does."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from leyden.storage.nouns import Nouns
from leyden.storage.tasks import Claim


class Due(Protocol):
    """A task in hand: its key, and transactions that fail once someone else has it."""

    settled: bool
    """Whether it was ended, or put off, by whoever did it."""

    @property
    def claim(self) -> Claim:
        """Our hold on it."""
        ...

    @property
    def key(self) -> str:
        """What the task is about."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[Nouns]:
        """Change things, if the task is still ours."""
        ...

    async def done(self, tx: Nouns) -> None:
        """End the task in the transaction that made it so."""
        ...

    async def again(self, tx: Nouns, *, due: datetime) -> None:
        """Go on later, in the transaction that decided so."""
        ...


async def end_together(tx: Nouns, done: Sequence[Due]) -> None:
    """End these tasks in the transaction that made it so, all or none.

    Stale when one of them is someone else's, or was put again meanwhile.
    """
    await tx.tasks.end_all([each.claim for each in done])
    for each in done:
        each.settled = True
