"""What operators set right in an organization's money: with a reason, once a key."""

from datetime import datetime
from enum import StrEnum, auto

from leyden.domain import ledger
from leyden.domain.ledger import Entry, What
from leyden.domain.units import Sats
from leyden.errors import Conflict, Malformed, Stale, Violated
from leyden.services import rights
from leyden.services.credit import Balance, balance, check_note, check_sats, grant
from leyden.services.unit_of_work import UnitOfWork
from leyden.storage.database import Database
from leyden.storage.nouns import Nouns
from leyden.values import replace

_USED = "this key was used for another correction"


class Correction(StrEnum):
    """What an operator may set right."""

    CREDIT = auto()  # give credit
    DEBIT = auto()  # take credit
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
    """Set an organization's money right, with a reason; under one key only once.

    The second call with the same key changes nothing more; Conflict, if it asks for
    anything else. Credit repays first what the chain took back after it was spent.
    """
    check_sats(sats)
    check_note(reason)
    if not reason.strip():
        raise Malformed("reason: a correction needs one")
    credit = ledger.credit(organization_id)
    debt = ledger.owed(organization_id)
    what, source, target = {
        Correction.CREDIT: (What.CORRECTION, ledger.CORRECTIONS, credit),
        Correction.DEBIT: (What.CORRECTION, credit, ledger.CORRECTIONS),
        Correction.REFUND: (What.REFUND, credit, ledger.REFUNDED),
        Correction.SETTLED: (What.CORRECTION, ledger.CORRECTIONS, debt),
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
    return await balance(database, organization_id)


async def _is_written(tx: Nouns, correction: Entry) -> bool:
    """Tell whether it was made before; Conflict if another was, under its key."""
    found = [await tx.ledger.find(key) for key in ledger.parts(correction.key)]
    made = [each.entry for each in found if each is not None]
    if not made:
        return False
    # Of one that gave credit, some part or all may have repaid a receivable.
    whole = replace(
        made[0],
        target=made[-1].target.replace("receivable:", "credit:"),
        sats=Sats(sum(each.sats for each in made)),
        actor=correction.actor,
    )
    if whole != correction:
        raise Conflict(_USED)
    return True


async def _write(tx: Nouns, correction: Entry, now: datetime) -> None:
    organization_id = correction.organization_id or ""
    work = await UnitOfWork.load(tx, organization_ids=[organization_id], now=now)
    if (
        correction.target == ledger.owed(organization_id)
        and work.owes(organization_id) < correction.sats
    ):
        raise Conflict("the organization does not owe as much")
    if correction.target == ledger.credit(organization_id):
        grant(work, correction)
    else:
        work.post([correction])
    try:
        await work.flush(tx)
    except Stale:
        raise Conflict("the organization does not have as much credit") from None
    except Violated:
        # Another organization's, in this very moment: only ours is locked.
        raise Conflict(_USED) from None
