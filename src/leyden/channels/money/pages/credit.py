"""Credit pages: available credit, coupons, transactions."""

import csv
import io
import uuid
from collections.abc import Iterator, Mapping, Sequence

from starlette.responses import Response

from leyden.base.http import turns
from leyden.base.pages.visits import Visit, redirect
from leyden.base.rules.sign_in import Right
from leyden.base.rules.spreadsheets import escape_formula
from leyden.base.rules.times import to_iso
from leyden.base.rules.units import Sats
from leyden.channels.money import credit
from leyden.channels.money.rules.coupons import Coupon
from leyden.channels.rules.customer_ledger import CustomerEntry, EntryKind
from leyden.errors import NotFound, Refused

_AT_A_TIME = 50
_SHEET = 200  # at a time: 3 ms
_COUPONS = 100  # 12 ms
_HEADLINE = ("id", "time", "what", "source", "target", "amount", "order_id", "note")
_NO_COUPON = "This coupon does not exist, or it was already used."
_DONE = "The coupon was added to your credit."
_KINDS: Mapping[EntryKind, str] = {
    EntryKind.COUPON: "Coupon",
    EntryKind.CORRECTION: "Adjustment",
    EntryKind.PAYMENT: "Payment",
    EntryKind.HANDED_BACK: "Payment returned",
    EntryKind.SURPLUS: "Overpayment",
    EntryKind.LATE: "Late payment",
    EntryKind.CREDIT_USED: "Credit used",
    EntryKind.CHARGED: "Charged to account",
    EntryKind.FILLED: "Channel bought",
    EntryKind.UNUSED_FEE: "Unused fee",
    EntryKind.UNDONE: "Channel lost",
    EntryKind.EXTENDED: "Lease extended",
    EntryKind.RELEASED: "Order ended",
    EntryKind.REVERSED: "Payment reversed",
    EntryKind.REFUND: "Refund",
}
# What moves between one's own accounts is neither income nor expense.
_MOVES: Mapping[tuple[str, str], str] = {
    ("credit", "held"): "reserved",
    ("held", "credit"): "available again",
    ("owed", "held"): "reserved, on account",
    ("held", "owed"): "debt reduced",
    ("credit", "owed"): "debt reduced",
    ("credit", "receivable"): "reversed payment settled",
}


async def show(visit: Visit) -> Response:
    """Show the available credit and the transactions."""
    return await _shown(visit)


async def redeem(visit: Visit) -> Response:
    """Redeem a coupon for credit; a form that is sent twice succeeds twice."""
    try:
        await credit.redeem(
            visit.platform.database,
            visit.organization_id,
            visit.form.text("coupon"),
            actor=visit.user.actor,
            now=visit.now,
            request_id=str(visit.form.key("once")),
        )
    except NotFound:
        return await _shown(visit, wrong=NotFound(_NO_COUPON))
    except Refused as error:
        return await _shown(visit, wrong=error)
    return redirect(f"{visit.root}/credit?done=1")


async def sheet(visit: Visit) -> Response:
    """Send the whole ledger as a CSV file."""
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(_HEADLINE)
    before = None
    while page := await credit.history(
        visit.platform.database, visit.organization_id, before=before, limit=_SHEET
    ):
        writer.writerows(_cells(each) for each in page)
        before = page[-1].number
        await turns.take(visit.organization_id)
    return Response(
        written.getvalue(),
        media_type="text/csv",
        headers={"content-disposition": 'attachment; filename="ledger.csv"'},
    )


async def _shown(visit: Visit, wrong: Refused | None = None) -> Response:
    database, organization_id = visit.platform.database, visit.organization_id
    before = visit.query.number("before", 0) or None
    balance = await credit.balance(database, organization_id)
    found = await credit.history(
        database, organization_id, before=before, limit=_AT_A_TIME + 1
    )
    entries = found[:_AT_A_TIME]
    after = balance.credit
    if before is not None:
        after = Sats(
            after - await visit.rows.ledger.credit_change_since(organization_id, before)
        )
    # A coupon is as good as money: only who spends sees its code.
    coupons = (
        await credit.coupons(database, organization_id)
        if visit.may(Right.MONEY)
        else []
    )
    return visit.render(
        "credit/show.html",
        balance=balance,
        coupons=_some(coupons),
        has_more_coupons=len(coupons) > _COUPONS,
        entries=entries,
        credit_after=dict(_credit_after(entries, after)),
        kinds=_KINDS,
        moves=_MOVES,
        older=entries[-1].number if len(found) > _AT_A_TIME else 0,
        once=str(uuid.uuid4()),
        done=_DONE if visit.query.text("done") else "",
        refused=wrong,
    )


def _credit_after(
    entries: Sequence[CustomerEntry], after: Sats
) -> Iterator[tuple[int, Sats]]:
    """Yield the credit that there was after each entry, from the newest back."""
    for each in entries:
        yield each.number, after
        if each.target == "credit":
            after = Sats(after - each.sats)
        elif each.source == "credit":
            after = Sats(after + each.sats)


def _some(coupons: list[Coupon]) -> list[Coupon]:
    """Return all coupons; of many, those that are not used, and the newest others."""
    if len(coupons) <= _COUPONS:
        return coupons
    newest_first = coupons[::-1]
    return sorted(newest_first, key=lambda each: each.claimed)[:_COUPONS]


def _cells(entry: CustomerEntry) -> tuple[str | int, ...]:
    return (
        entry.number,
        to_iso(entry.at),
        entry.kind,
        entry.source,
        entry.target,
        entry.sats,
        entry.order_id,
        escape_formula(entry.note),
    )
