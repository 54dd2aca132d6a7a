"""An organization's money: credit, coupons, ledger, corporate account.

Manual adjustments by operators are in corrections.py.
"""

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta

from leyden.base import rights
from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.database.stores import Stores
from leyden.base.rules.sign_in import Right
from leyden.base.rules.units import MAX_SATS, Sats
from leyden.channels.money.rules.coupons import SUFFIX, Coupon, new_coupon_id
from leyden.channels.rules import ledger
from leyden.channels.rules.customer_ledger import CustomerEntry
from leyden.channels.rules.ledger import Entry, Reason
from leyden.channels.unit_of_work import UnitOfWork
from leyden.errors import Malformed, NotFound, TooMany
from leyden.values import Struct

GUESSES_PER_HOUR = 20
_GUESSING = timedelta(hours=1)
_LONGEST_NOTE = 500
_MAX_COUPONS = 10_000


class Balance(Struct, frozen=True, kw_only=True):
    """An organization's credit and debts."""

    credit: Sats
    owed: Sats

    @property
    def balance(self) -> Sats:
        """Credit less debts; negative if the debts are larger."""
        return Sats(self.credit - self.owed)


async def balance(database: Database, organization_id: str) -> Balance:
    """Return the organization's credit and debts."""
    of = database.reader.ledger.balance
    return Balance(
        credit=await of(ledger.credit(organization_id)),
        owed=Sats(
            -await of(ledger.owed(organization_id))
            - await of(ledger.receivable(organization_id))
        ),
    )


async def history(
    database: Database,
    organization_id: str,
    *,
    before: int | None = None,
    limit: int,
) -> list[CustomerEntry]:
    """Return the organization's side of the ledger, newest first."""
    reader = database.reader.ledger
    return await reader.customer_page(organization_id, before=before, limit=limit)


async def coupons(database: Database, organization_id: str) -> list[Coupon]:
    """Return the organization's coupons, used and unused."""
    return await database.reader.coupons.list_(organization_id)


async def redeem(
    database: Database,
    organization_id: str,
    coupon_id: str,
    *,
    actor: str,
    now: datetime,
    request_id: str = "",
    guesses: int = GUESSES_PER_HOUR,
) -> tuple[Sats, Sats]:
    """Claim a coupon; return the new credit and the coupon's value.

    An unknown coupon, another organization's and a claimed one all raise
    NotFound, except if the request that claimed it is repeated: the repetition
    returns the same and moves nothing. An organization that guesses too often
    must wait, even with a valid coupon. If the organization owes us for a
    reversed payment, the coupon repays that first.
    """
    entry_key = f"coupon:{coupon_id}"
    booked_by = f"request:{request_id}" if request_id else ledger.PLATFORM
    async with database.transaction() as tx:
        await rights.check(tx, actor, organization_id, Right.MONEY)
        guessed = await tx.coupons.guesses(organization_id, now=now, within=_GUESSING)
        if guessed and guessed[0] >= guesses:
            wait = guessed[1] + _GUESSING - now
            raise TooMany(
                "too many wrong coupons; wait before you try again",
                retry_after_s=max(1, int(wait.total_seconds())),
            )
        sats = await tx.coupons.claim(coupon_id, organization_id, now=now)
        if sats is not None:
            entry = Entry(
                key=entry_key,
                what=Reason.COUPON,
                source=ledger.PROMO,
                target=ledger.credit(organization_id),
                sats=sats,
                organization_id=organization_id,
                actor=booked_by,
            )
            work = await UnitOfWork.load(
                tx, organization_ids=[organization_id], now=now
            )
            grant(work, entry)
            await work.flush(tx)
            return work.balance(ledger.credit(organization_id)), sats
        if request_id:
            sats = await _granted(tx, organization_id, entry_key, booked_by)
        if sats is not None:
            return await tx.ledger.balance(ledger.credit(organization_id)), sats
        await tx.coupons.count_guess(organization_id, now=now, within=_GUESSING)
    raise NotFound


async def _granted(
    tx: Stores, organization_id: str, key: str, booked_by: str
) -> Sats | None:
    """Return what the organization got under this key by this request, if anything."""
    found = [await tx.ledger.find(part) for part in ledger.parts(key)]
    sats = sum(
        each.entry.sats
        for each in found
        if each is not None
        and each.entry.organization_id == organization_id
        and each.entry.actor == booked_by
    )
    return Sats(sats) if sats else None


async def issue_coupons(
    database: Database,
    *,
    sats: int,
    count: int,
    organization_id: str | None,
    expires: datetime | None,
    note: str,
    actor: str,
    now: datetime,
    ids: Sequence[str] = (),
) -> list[Coupon]:
    """Create coupons: for one organization, or for the first to claim each.

    A second call with the same `ids` returns what the first one created.
    """
    check_sats(sats)
    check_note(note)
    if not 1 <= count <= _MAX_COUPONS:
        raise Malformed(f"count: must be from 1 to {_MAX_COUPONS}")
    if expires is not None and expires <= now:
        raise Malformed("expires: must be in the future")
    issued = [
        Coupon(
            id=coupon_id,
            sats=Sats(sats),
            organization_id=organization_id,
            created=now,
            expires=expires,
            note=note,
        )
        for coupon_id in ids or [new_coupon_id() for _ in range(count)]
    ]
    async with database.transaction() as tx:
        await rights.check_operator(tx, actor)
        if ids and (made := await tx.coupons.get_many(ids)):
            return made
        if organization_id is not None:
            await tx.accounts.get(organization_id)
        await tx.coupons.add(issued)
        await tx.audit.add(
            at=now,
            actor=actor,
            action="coupons issued",
            subject=organization_id or "anyone",
            organization_id=organization_id,
            sats=sats,
            count=count,
            note=note,
        )
    return issued


def coupon_ids(sealer: Sealer, key: uuid.UUID, count: int) -> list[str]:
    """Return the ids of the coupons that a request creates, which nobody can guess."""
    digests = (
        sealer.digest(key.bytes + n.to_bytes(4), purpose="coupon") for n in range(count)
    )
    return [f"{uuid.UUID(bytes=each[:16], version=4)}{SUFFIX}" for each in digests]


def grant(work: UnitOfWork, entry: Entry) -> None:
    """Post an entry that adds credit; it first repays reversed payments."""
    outstanding = work.outstanding(entry.organization_id or "")
    work.post(ledger.grant_entries(entry, outstanding=outstanding))


async def open_account(
    database: Database,
    organization_id: str,
    *,
    most_owed: int | None,
    actor: str,
    now: datetime,
) -> None:
    """Open a corporate account with a limit; None closes it."""
    if most_owed is not None and not 0 <= most_owed <= MAX_SATS:
        raise Malformed("limit: must be a number of satoshis")
    async with database.transaction() as tx:
        await rights.check_operator(tx, actor)
        await tx.accounts.lock(organization_id)
        before = await tx.corporate_accounts.limit(organization_id)
        if most_owed is None:
            await tx.corporate_accounts.end(organization_id)
        else:
            await tx.corporate_accounts.set_limit(
                organization_id, Sats(most_owed), since=now
            )
        await tx.audit.add(
            at=now,
            actor=actor,
            action="corporate account set",
            subject=organization_id,
            organization_id=organization_id,
            changes={"most_owed": (before, most_owed)},
        )


def check_sats(sats: int) -> None:
    """Raise Malformed if the number is not a valid amount of satoshis."""
    if not 1 <= sats <= MAX_SATS:
        raise Malformed("amount: must be a number of satoshis above 0")


def check_note(note: str) -> None:
    """Raise Malformed if the note is too long."""
    if len(note) > _LONGEST_NOTE:
        raise Malformed(f"note: must have at most {_LONGEST_NOTE} characters")
