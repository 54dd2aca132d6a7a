"""The task that a background step is given to do."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from leyden.base.database.stores import Stores
from leyden.base.tasks.rows.tasks import TaskClaim


class ClaimedTask(Protocol):
    """A claimed task; its transactions fail once another process claims it."""

    settled: bool
    """Whether the task was completed or rescheduled."""

    @property
    def claim(self) -> TaskClaim:
        """This process's claim on the task."""
        ...

    @property
    def key(self) -> str:
        """The key of the task: the id of what it is about."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[Stores]:
        """Open a transaction that fails unless the task is still ours."""
        ...

    async def done(self, tx: Stores) -> None:
        """Complete the task in this transaction."""
        ...

    async def reschedule(self, tx: Stores, *, due: datetime) -> None:
        """Reschedule the task in this transaction."""
        ...


async def complete_all(tx: Stores, done: Sequence[ClaimedTask]) -> None:
    """Complete these tasks in this transaction, all or none.

    Raise Stale if another process claimed one, or one was queued again.
    """
    await tx.tasks.end_all([each.claim for each in done])
    for each in done:
        each.settled = True
