"""Results of the installation's backups: the last of each kind and outcome."""

from datetime import datetime, timedelta

from leyden.base.database.statements import Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.values import Struct

sql = SqlFile(__file__)


class BackupResult(Struct, frozen=True, kw_only=True):
    """The result of a backup, a check or a drill."""

    kind: str
    ok: bool
    at: datetime
    took_ms: int
    snapshot: str = ""
    detail: str = ""

    @property
    def began(self) -> datetime:
        """The time at which it began: it may lack what was stored later."""
        return self.at - timedelta(milliseconds=self.took_ms)


class BackupResults:
    """The rows of backup_result."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def keep(self, result: BackupResult) -> None:
        """Store a result; it replaces the last one of its kind and outcome."""
        await self._run(
            sql.keep,
            kind=result.kind,
            ok=int(result.ok),
            at=to_us(result.at),
            took_ms=result.took_ms,
            snapshot=result.snapshot,
            detail=result.detail,
        )

    async def all_(self) -> list[BackupResult]:
        """List the last success and the last failure of each kind."""
        return [
            BackupResult(
                kind=kind,
                ok=bool(ok),
                at=from_us(at),
                took_ms=took_ms,
                snapshot=snapshot,
                detail=detail,
            )
            for kind, ok, at, took_ms, snapshot, detail in await self._run(sql.all_)
        ]
