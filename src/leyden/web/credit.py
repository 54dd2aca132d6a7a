"""Credit, coupons, and every movement of the account's money."""

import csv
import io

from starlette.responses import Response

from leyden.domain.sign_in import Right
from leyden.domain.spreadsheets import harmless
from leyden.domain.times import to_iso
from leyden.errors import NotFound, Refused
from leyden.services import credit
from leyden.storage.ledger import Written
from leyden.web.visits import Visit, go

_AT_A_TIME = 50
_SHEET = 500
_HEADLINE = ("id", "time", "what", "source", "target", "amount", "order_id", "note")
_NO_COUPON = "There is no such coupon, or it was used before."


async def show(visit: Visit) -> Response:
    """Show what there is, and how it came and went."""
    return await _shown(visit)


async def redeem(visit: Visit) -> Response:
    """Turn a coupon into credit."""
    try:
        await credit.redeem(
            visit.platform.database,
            visit.organization_id,
            visit.form.text("coupon"),
            now=visit.now,
        )
    except NotFound:
        return await _shown(visit, wrong=NotFound(_NO_COUPON))
    except Refused as error:
        return await _shown(visit, wrong=error)
    return go(f"{visit.root}/credit?done=1")


async def sheet(visit: Visit) -> Response:
    """Give the whole ledger as a file for a spreadsheet."""
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(_HEADLINE)
    before = None
    while page := await credit.history(
        visit.platform.database, visit.organization_id, before=before, most=_SHEET
    ):
        writer.writerows(_cells(each) for each in page)
        before = page[-1].number
    return Response(
        written.getvalue(),
        media_type="text/csv",
        headers={"content-disposition": 'attachment; filename="ledger.csv"'},
    )


async def _shown(visit: Visit, wrong: Refused | None = None) -> Response:
    database, organization_id = visit.platform.database, visit.organization_id
    found = await credit.history(
        database,
        organization_id,
        before=visit.query.number("before", 0) or None,
        most=_AT_A_TIME + 1,
    )
    entries = found[:_AT_A_TIME]
    return visit.render(
        "credit/show.html",
        balance=await credit.balance(database, organization_id),
        # A coupon is as good as money: only who spends sees its number.
        coupons=await credit.coupons(database, organization_id)
        if visit.may(Right.MONEY)
        else [],
        entries=entries,
        older=entries[-1].number if len(found) > _AT_A_TIME else 0,
        done="The coupon is credit now." if visit.query.text("done") else "",
        refused=wrong,
    )


def _cells(written: Written) -> tuple[str | int, ...]:
    of = written.entry
    return (
        written.number,
        to_iso(written.at),
        of.what,
        of.source.partition(":")[0],
        of.target.partition(":")[0],
        of.sats,
        of.order_id or "",
        harmless(of.note),
    )
