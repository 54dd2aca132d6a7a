"""Operators' corrections of an organization's money.

Each has a reason, and is applied once per key.
"""

from datetime import datetime
from enum import StrEnum, auto

from leyden.base import rights
from leyden.base.database.database import Database
from leyden.base.database.stores import Stores
from leyden.base.rules.units import Sats
from leyden.channels.money.credit import Balance, balance, check_note, check_sats, grant
from leyden.channels.rules import ledger
from leyden.channels.rules.ledger import Entry, Reason
from leyden.channels.unit_of_work import UnitOfWork, retry_while_stale
from leyden.errors import Conflict, Malformed, Violated
from leyden.values import replace

_USED = "key: already used for a different correction"


class Correction(StrEnum):
    """The kinds of corrections."""

    CREDIT = auto()  # add credit
    DEBIT = auto()  # remove credit
    REFUND = auto()  # credit was paid out, outside the platform
    SETTLED = auto()  # a debt was paid, outside the platform


async def correct(
    database: Database,
    organization_id: str,
    correction: Correction,
    *,
    sats: int,
    reason: str,
    actor: str,
    key: str,
    now: datetime,
) -> Balance:
    """Correct an organization's balance, with a reason; once per key.

    A second call with the same key changes nothing, or raises Conflict if it is
    for a different correction. Credit first repays payments that the chain
    reversed after they were spent.
    """
    check_sats(sats)
    check_note(reason)
    if not reason.strip():
        raise Malformed("reason: is required")
    credit = ledger.credit(organization_id)
    debt = ledger.owed(organization_id)
    what, source, target = {
        Correction.CREDIT: (Reason.CORRECTION, ledger.CORRECTIONS, credit),
        Correction.DEBIT: (Reason.CORRECTION, credit, ledger.CORRECTIONS),
        Correction.REFUND: (Reason.REFUND, credit, ledger.REFUNDED),
        Correction.SETTLED: (Reason.CORRECTION, ledger.CORRECTIONS, debt),
    }[correction]
    entry = Entry(
        key=f"correction:{key}",
        what=what,
        source=source,
        target=target,
        sats=Sats(sats),
        organization_id=organization_id,
        actor=actor,
        note=reason,
    )

    async def step() -> None:
        async with database.transaction() as tx:
            await rights.check_operator(tx, actor)
            await tx.accounts.lock(organization_id)
            if not await _is_written(tx, entry):
                await _write(tx, entry, now)
                await tx.audit.add(
                    at=now,
                    actor=actor,
                    action=f"money corrected: {correction}",
                    subject=organization_id,
                    organization_id=organization_id,
                    sats=sats,
                    reason=reason,
                )

    await retry_while_stale(step)
    return await balance(database, organization_id)


async def _is_written(tx: Stores, correction: Entry) -> bool:
    """Return whether it was already made; raise Conflict if its key was another's."""
    found = [await tx.ledger.find(key) for key in ledger.parts(correction.key)]
    made = [each.entry for each in found if each is not None]
    if not made:
        return False
    # All or part of added credit may have repaid a receivable.
    complete = replace(
        made[0],
        target=made[-1].target.replace("receivable:", "credit:"),
        sats=Sats(sum(each.sats for each in made)),
        actor=correction.actor,
    )
    if complete != correction:
        raise Conflict(_USED)
    return True


async def _write(tx: Stores, correction: Entry, now: datetime) -> None:
    organization_id = correction.organization_id or ""
    work = await UnitOfWork.load(tx, organization_ids=[organization_id], now=now)
    credit = ledger.credit(organization_id)
    if correction.source == credit and work.balance(credit) < correction.sats:
        raise Conflict("amount: the organization has less credit than this")
    if (
        correction.target == ledger.owed(organization_id)
        and work.owes(organization_id) < correction.sats
    ):
        raise Conflict("amount: the organization owes less than this")
    if correction.target == credit:
        grant(work, correction)
    else:
        work.post([correction])
    try:
        await work.flush(tx)
    except Violated:
        # Written for another organization at the same time: only ours is locked.
        raise Conflict(_USED) from None
