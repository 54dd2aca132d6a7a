"""Ledgers of many entries."""

from leyden.base.database.database import Database
from leyden.base.rules.units import Sats
from leyden.channels.rules import ledger
from leyden.channels.rules.ledger import Entry, Reason
from leyden.channels.unit_of_work import UnitOfWork
from tests.conftest import NOW


async def credited(db: Database, organization_id: str, count: int) -> None:
    """Credit one sat, then two, and so on, at once."""
    entries = [
        Entry(
            key=f"given:{sats}",
            what=Reason.CORRECTION,
            source=ledger.CORRECTIONS,
            target=ledger.credit(organization_id),
            sats=Sats(sats),
            organization_id=organization_id,
        )
        for sats in range(1, count + 1)
    ]
    async with db.transaction() as tx:
        await tx.accounts.lock(organization_id)
        work = await UnitOfWork.load(tx, organization_ids=[organization_id], now=NOW)
        work.post(entries)
        await work.flush(tx)
