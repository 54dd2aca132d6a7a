"""The endpoints of credit: coupons, balance, ledger."""

from collections.abc import AsyncIterator, Sequence

import msgspec

from leyden.base.http import csv_responses, turns
from leyden.base.http.csv_responses import Cells, Sheet
from leyden.base.http.operations import Request
from leyden.base.rules.times import to_iso
from leyden.channels.money import credit
from leyden.channels.money.rules.coupons import Coupon
from leyden.channels.rules.customer_ledger import CustomerEntry
from leyden.schemas.credit import (
    BalanceAnswer,
    CouponAnswer,
    CouponReference,
    CouponsAnswer,
    LedgerAnswer,
    LedgerEntry,
    LedgerQuery,
    Redeemed,
)

_USUAL_PAGE = 100
_ROWS_AT_A_TIME = 200  # of a whole ledger: 4 ms


async def coupons(request: Request) -> CouponsAnswer:
    """List coupons."""
    found = await credit.coupons(
        request.platform.database, request.principal.organization_id
    )
    return CouponsAnswer(coupons=[_coupon(each) for each in found])


async def redeem(request: Request, body: CouponReference) -> Redeemed:
    """Redeem a coupon."""
    available, worth = await credit.redeem(
        request.platform.database,
        request.principal.organization_id,
        body.coupon,
        actor=request.principal.actor,
        now=request.now,
        request_id=str(request.key),
    )
    return Redeemed(coupon=body.coupon, credit=available, coupon_amount=worth)


async def balance(request: Request) -> BalanceAnswer:
    """Return the balance."""
    has = await credit.balance(
        request.platform.database, request.principal.organization_id
    )
    return BalanceAnswer(balance=has.balance, credit=has.credit)


async def ledger(request: Request, query: LedgerQuery) -> LedgerAnswer | Sheet:
    """List ledger entries."""
    limit = None if query.limit is msgspec.UNSET else query.limit
    is_sheet = query.format == "csv" or (
        query.format is msgspec.UNSET and csv_responses.wants_csv(request.accept)
    )
    if is_sheet:
        return await _sheet(request, before=query.cursor or None, limit=limit)
    limit = limit or _USUAL_PAGE
    found = await _history(request, query.cursor or None, limit + 1)
    shown = found[:limit]
    return LedgerAnswer(
        entries=[_entry(each) for each in shown],
        next_cursor=shown[-1].number if len(found) > limit else 0,
        has_more=len(found) > limit,
    )


async def _sheet(request: Request, *, before: int | None, limit: int | None) -> Sheet:
    """Return ledger rows from the cursor on, at most `limit`, as CSV."""
    first = await _history(request, before, limit or _ROWS_AT_A_TIME)

    async def rest() -> AsyncIterator[list[Cells]]:
        page = first
        while limit is None and len(page) == _ROWS_AT_A_TIME:
            await turns.take(request.principal.organization_id)
            page = await _history(request, page[-1].number, _ROWS_AT_A_TIME)
            yield _cells(page)

    return Sheet("ledger", LedgerEntry.__struct_fields__, _cells(first), rest())


def _cells(page: Sequence[CustomerEntry]) -> list[Cells]:
    return [msgspec.structs.astuple(_entry(each)) for each in page]


async def _history(
    request: Request, before: int | None, limit: int
) -> list[CustomerEntry]:
    return await credit.history(
        request.platform.database,
        request.principal.organization_id,
        before=before,
        limit=limit,
    )


def _coupon(shown: Coupon) -> CouponAnswer:
    """Convert a coupon to its response."""
    return CouponAnswer(amount=shown.sats, order_id=shown.id, claimed=shown.claimed)


def _entry(shown: CustomerEntry) -> LedgerEntry:
    """Convert a ledger entry to its response for the organization."""
    return LedgerEntry(
        id=shown.number,
        time=to_iso(shown.at),
        what=shown.kind,
        source=shown.source,
        target=shown.target,
        amount=shown.sats,
        order_id=shown.order_id,
        note=shown.note,
    )
