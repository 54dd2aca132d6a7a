"""A claimed task, and its fenced transactions."""

from contextlib import AbstractAsyncContextManager
from datetime import datetime
from types import TracebackType

from leyden.base.database.database import Database
from leyden.base.database.stores import Stores
from leyden.base.tasks.rows.tasks import TaskClaim


class _Fenced(AbstractAsyncContextManager[Stores]):
    """A fenced transaction; a class, as a generator costs twice as much."""

    def __init__(
        self, transaction: AbstractAsyncContextManager[Stores], work: "Work"
    ) -> None:
        self._transaction = transaction
        self._work = work
        self._tx: Stores | None = None

    async def __aenter__(self) -> Stores:
        self._tx = await self._transaction.__aenter__()
        try:
            await self._tx.tasks.check_held(self._work.claim)
        except BaseException as error:
            await self._transaction.__aexit__(type(error), error, error.__traceback__)
            raise
        return self._tx

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        if error is None and self._tx is not None and not self._work.settled:
            try:
                await self._tx.tasks.lock(self._work.claim)
            except BaseException as lost:
                await self._transaction.__aexit__(type(lost), lost, lost.__traceback__)
                raise
        return await self._transaction.__aexit__(kind, error, trace)


class Work:
    """A claimed task."""

    def __init__(self, database: Database, claim: TaskClaim) -> None:
        self._database = database
        self._claim = claim
        self.settled = False

    @property
    def claim(self) -> TaskClaim:
        """This process's claim on the task."""
        return self._claim

    @property
    def key(self) -> str:
        """The key of the task: the id of what it is about."""
        return self._claim.key

    @property
    def attempts(self) -> int:
        """The number of attempts since the last success, including this one."""
        return self._claim.attempts

    def transaction(self) -> AbstractAsyncContextManager[Stores]:
        """Open a transaction; raise Stale, changing nothing, if the claim is lost."""
        return _Fenced(self._database.transaction(), self)

    async def done(self, tx: Stores) -> None:
        """Complete the task: the last call in the transaction that finishes it."""
        await tx.tasks.lock(self._claim)
        await tx.tasks.end(self._claim)
        self.settled = True

    async def reschedule(self, tx: Stores, *, due: datetime) -> None:
        """Run the task again at `due`: the last call in a transaction.

        This resets the number of attempts.
        """
        await tx.tasks.reschedule(self._claim, due=due, attempts=0)
        self.settled = True
