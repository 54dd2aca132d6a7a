"""The operator's pages."""

import uuid
from datetime import timedelta
from typing import Final

from starlette.responses import Response

from leyden.base.pages.state_map import patches
from leyden.base.pages.visits import Visit, redirect
from leyden.base.rules.units import Sats
from leyden.channels.books.broken_rules import Broken
from leyden.channels.money import corrections, credit
from leyden.channels.money.corrections import Correction
from leyden.channels.rules import ledger
from leyden.errors import Malformed, Refused
from leyden.operators import attention, oversight, treasury_balance
from leyden.people import accounts, quotas
from leyden.people.rules.quotas import WORDS, Quota

_URL: Final = "/app/operator"
_LINES: Final = 200
_MAX_DAYS: Final = 3_650
# The operator's accounts of the ledger, and the sign with which people expect each:
# those where money enters are below zero.
_ACCOUNTS: Final = {
    ledger.RECEIVED: ("Received", -1),
    ledger.HELD_HTLCS: ("Held payments", -1),
    ledger.PROMO: ("Coupons given", -1),
    ledger.CORRECTIONS: ("Corrections given", -1),
    ledger.EARNED: ("Earned fees", 1),
    ledger.AUCTION: ("Paid to the auction", 1),
    ledger.SELLER: ("Paid for own channels", 1),
    ledger.PURSE: ("Kept in the purse", -1),
    ledger.CHAIN_FEES: ("Chain fees of just-in-time channels", -1),
    ledger.REFUNDED: ("Refunded", 1),
}


async def show(visit: Visit) -> Response:
    """Show the status of the installation."""
    return await _shown(visit, broken=None)


async def prove(visit: Visit) -> Response:
    """Verify the books, and show the result."""
    return await _shown(visit, broken=await oversight.violations(visit.platform))


async def orders(visit: Visit) -> Response:
    """Show the orders that need attention."""
    found = await attention.needing_attention(visit.platform, now=visit.now)
    return visit.render("operator/orders.html", orders=found)


async def organizations(visit: Visit) -> Response:
    """Show all organizations."""
    return await _organizations(visit)


async def create_organization(visit: Visit) -> Response:
    """Create an organization."""
    try:
        made = await accounts.create_organization(
            visit.platform, visit.form.text("name"), actor=visit.user.actor
        )
    except Refused as error:
        return await _organizations(visit, wrong=error)
    return redirect(f"{_URL}/organizations/{made.id}")


async def organization(visit: Visit) -> Response:
    """Show an organization's balance and quotas."""
    return await _organization(visit)


async def correct(visit: Visit) -> Response:
    """Adjust an organization's balance, once even if sent twice."""
    form = visit.form
    try:
        await corrections.correct(
            visit.platform.database,
            visit.path["id"],
            _correction(form.text("correction")),
            sats=form.number("sats"),
            reason=form.text("reason"),
            actor=visit.user.actor,
            key=form.text("once"),
            now=visit.now,
        )
    except Refused as error:
        return await _organization(visit, wrong=error)
    return redirect(f"{_URL}/organizations/{visit.path['id']}")


async def set_limit(visit: Visit) -> Response:
    """Set how much an organization may owe; empty means nothing."""
    limit = visit.form.text("most_owed")
    try:
        await credit.open_account(
            visit.platform.database,
            visit.path["id"],
            most_owed=visit.form.number("most_owed") if limit else None,
            actor=visit.user.actor,
            now=visit.now,
        )
    except Refused as error:
        return await _organization(visit, wrong=error)
    return redirect(f"{_URL}/organizations/{visit.path['id']}")


async def set_quotas(visit: Visit) -> Response:
    """Set an organization's quotas; an empty field means the default."""
    form = visit.form
    try:
        await quotas.change(
            visit.platform.database,
            visit.path["id"],
            {name: form.number(name) if form.text(name) else None for name in Quota},
            actor=visit.user.actor,
            now=visit.now,
        )
    except Refused as error:
        return await _organization(visit, wrong=error)
    return redirect(f"{_URL}/organizations/{visit.path['id']}")


async def coupons(visit: Visit) -> Response:
    """Show all coupons."""
    return await _coupons(visit)


async def issue_coupons(visit: Visit) -> Response:
    """Issue coupons."""
    form = visit.form
    try:
        days = form.number("days", 0)
        if days > _MAX_DAYS:
            raise Malformed(f"days: must be at most {_MAX_DAYS}")
        organization_id = form.text("organization_id") or None
        if organization_id is not None:
            await oversight.account(visit.platform, organization_id)
        await credit.issue_coupons(
            visit.platform.database,
            sats=Sats(form.number("sats")),
            count=form.number("count", 1),
            organization_id=organization_id,
            expires=visit.now + timedelta(days=days) if days else None,
            note=form.text("note"),
            actor=visit.user.actor,
            now=visit.now,
        )
    except Refused as error:
        return await _coupons(visit, wrong=error)
    return redirect(f"{_URL}/coupons")


async def audit(visit: Visit) -> Response:
    """Show the audit log."""
    reader = visit.platform.database.reader
    return visit.render(
        "operator/audit.html",
        lines=await reader.audit.latest(limit=_LINES),
        people={
            f"user:{each.id}": each.email for each in await reader.accounts.people()
        },
    )


async def nodes(visit: Visit) -> Response:
    """Show all nodes' statuses and versions, and which need attention."""
    counts = visit.platform.database.reader.counts
    fleet = visit.platform.fleet
    return visit.render(
        "operator/nodes.html",
        nodes=patches(await counts.nodes()),
        versions=await counts.versions(),
        ailing=await oversight.ailing(visit.platform),
        releases=fleet.rules.catalogue.releases if fleet else (),
        names=await _names(visit),
    )


async def money(visit: Visit) -> Response:
    """Show the treasury and auction balances, and what tickets may take."""
    channels = visit.platform.channels
    return visit.render(
        "operator/money.html",
        balance=await treasury_balance.read(channels) if channels else None,
        names=await _names(visit),
    )


async def _names(visit: Visit) -> dict[str, str]:
    found = await visit.platform.database.reader.accounts.list_()
    return {each.id: each.name for each in found}


async def _shown(visit: Visit, *, broken: list[Broken] | None) -> Response:
    overview = await oversight.overview(visit.platform, now=visit.now)
    return visit.render(
        "operator/show.html",
        overview=overview,
        balances={
            label: overview.balances[account] * sign
            for account, (label, sign) in _ACCOUNTS.items()
            if account in overview.balances
        },
        nodes=patches(overview.nodes),
        orders=patches(overview.orders),
        broken=broken,
    )


async def _organizations(visit: Visit, wrong: Refused | None = None) -> Response:
    found = await visit.platform.database.reader.accounts.list_()
    return visit.render(
        "operator/organizations.html",
        organizations=found,
        refused=wrong,
    )


async def _organization(visit: Visit, wrong: Refused | None = None) -> Response:
    account = await oversight.account(visit.platform, visit.path["id"])
    return visit.render(
        "operator/organization.html",
        account=account,
        corrections=list(Correction),
        quotas=await quotas.usage(
            visit.platform.database,
            quotas.limits(visit.platform.settings),
            visit.path["id"],
            now=visit.now,
        ),
        words=WORDS,
        once=str(uuid.uuid4()),
        refused=wrong,
    )


async def _coupons(visit: Visit, wrong: Refused | None = None) -> Response:
    reader = visit.platform.database.reader
    after = visit.query.text("after")
    found = await reader.coupons.all_(after=after, limit=_LINES)
    return visit.render(
        "operator/coupons.html",
        coupons=found,
        organizations=await reader.accounts.list_(),
        more=found[-1].id if len(found) == _LINES else "",
        refused=wrong,
    )


def _correction(word: str) -> Correction:
    try:
        return Correction(word)
    except ValueError:
        raise Malformed(f"correction: must be one of {', '.join(Correction)}") from None
