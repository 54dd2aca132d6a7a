"""What a step is handed that runs by itself: the task it does."""

from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from leyden.storage.nouns import Nouns


class Due(Protocol):
    """A task in hand: its key, and transactions that fail once someone else has it."""

    @property
    def key(self) -> str:
        """What the task is about."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[Nouns]:
        """Change things, if the task is still ours."""
        ...

    async def check(self, tx: Nouns) -> None:
        """Go on only if the task is still ours, in a transaction shared with others."""
        ...

    async def done(self, tx: Nouns) -> None:
        """End the task in the transaction that made it so."""
        ...

    async def again(self, tx: Nouns, *, due: datetime) -> None:
        """Go on later, in the transaction that decided so."""
        ...
