"""The operator's side of money: coupons, corporate accounts, corrections, the proof."""

import asyncio
import os
import sys
import uuid
from datetime import timedelta

import click

from leyden import app, settings
from leyden.app.shop import open_for_payments, shop_of
from leyden.cli.groups import Group
from leyden.cli.output import (
    as_json,
    on_platform,
    operator,
    print_fields,
    print_json,
    print_rows,
)
from leyden.devnet import installation
from leyden.domain.coupons import Coupon
from leyden.domain.times import to_iso
from leyden.services import credit
from leyden.services import verify as verification
from leyden.services.credit import Balance, Correction
from leyden.services.platform import Platform
from leyden.services.verify import Broken

_organization = click.option(
    "--organization", "organization_id", required=True, help="The organization's id."
)


@click.group(cls=Group)
def coupon() -> None:
    """Issue coupons: credit in an envelope, opened once."""


@coupon.command("create")
@click.option("--amount", type=int, required=True, help="Satoshis each.")
@click.option("--organization", "organization_id", help="Only for this organization.")
@click.option("--count", type=int, default=1, show_default=True)
@click.option("--days", type=click.IntRange(1, 3650), help="Days until they expire.")
@click.option("--note", default="", help="What they are for; only you see it.")
@as_json
def coupon_create(
    amount: int,
    organization_id: str | None,
    count: int,
    days: int | None,
    note: str,
    *,
    as_json: bool,
) -> None:
    """Make coupons; whoever has the id of one can claim it.

    \b
    leyden coupon create --amount 21000 --count 3 --note "spring fair"
    """

    async def issue(platform: Platform) -> list[Coupon]:
        now = platform.clock()
        return await credit.issue_coupons(
            platform.database,
            sats=amount,
            count=count,
            organization_id=organization_id,
            expires=now + timedelta(days=days) if days else None,
            note=note,
            actor=operator(),
            now=now,
        )

    rows = [
        {
            "coupon": each.id,
            "amount": each.sats,
            "organization_id": each.organization_id,
            "expires": to_iso(each.expires) if each.expires else None,
        }
        for each in on_platform(issue)
    ]
    if as_json:
        print_json({**rows[0], "coupons": rows})
    else:
        print_rows(rows, empty="")


@click.group(cls=Group)
def account() -> None:
    """Let organizations pay later, and set their money right."""


@account.command("open")
@_organization
@click.option("--limit", type=int, required=True, help="Satoshis it may owe at most.")
def account_open(organization_id: str, limit: int) -> None:
    """Make it a corporate account: orders are not paid, but added to what it owes."""
    _set_limit(organization_id, limit)
    print(f"orders are on account, up to {limit} sat")


@account.command("close")
@_organization
def account_close(organization_id: str) -> None:
    """Let it pay for each order again; what it owes stays owed."""
    _set_limit(organization_id, None)
    print("orders are paid one by one again")


@account.command("correct")
@_organization
@click.option(
    "--kind",
    type=click.Choice([each.value for each in Correction]),
    required=True,
    help="credit gives, debit takes; refund and settled note what was paid elsewhere.",
)
@click.option("--amount", type=int, required=True, help="Satoshis.")
@click.option("--reason", required=True, help="Kept in the ledger with your name.")
@click.option("--key", help="Typing it again with the same key changes nothing more.")
@as_json
def account_correct(
    organization_id: str,
    kind: str,
    amount: int,
    reason: str,
    key: str | None,
    *,
    as_json: bool,
) -> None:
    """Set an organization's money right, as an entry in the ledger.

    \b
    leyden account correct --organization ID --kind credit --amount 500 \\
        --reason "channel closed early"
    """

    async def correct(platform: Platform) -> Balance:
        return await credit.correct(
            platform.database,
            organization_id,
            Correction(kind),
            sats=amount,
            reason=reason,
            actor=operator(),
            key=key or str(uuid.uuid4()),
            now=platform.clock(),
        )

    _tell(on_platform(correct), as_json=as_json)


@account.command("show")
@_organization
@as_json
def account_show(organization_id: str, *, as_json: bool) -> None:
    """Show what an organization has and owes."""

    async def look(platform: Platform) -> Balance:
        return await credit.balance(platform.database, organization_id)

    _tell(on_platform(look), as_json=as_json)


@click.command()
@click.option("--treasury/--no-treasury", default=True, help="Its books as well.")
@as_json
def verify(*, treasury: bool, as_json: bool) -> None:
    """Prove the books: every rule about money, against the treasury's lnd too.

    Changes nothing. Exit 1 when a rule is broken, with the rule and the place.
    """
    broken = asyncio.run(_verified(with_treasury=treasury))
    if as_json:
        print_json({"broken": [{"rule": b.rule, "where": b.where} for b in broken]})
    else:
        for each in broken:
            print(each)
        print("the books are right" if not broken else f"{len(broken)} rules broken")
    sys.exit(int(bool(broken)))


async def _verified(*, with_treasury: bool) -> list[Broken]:
    given = installation.as_running(settings.load(os.environ))
    async with app.opened(given) as platform:
        shop = shop_of(platform) if with_treasury else None
        if shop is None:
            return await verification.verify(platform.database)
        async with open_for_payments(shop, listening=False):
            return await verification.verify(platform.database, shop.payments)


def _set_limit(organization_id: str, limit: int | None) -> None:
    async def step(platform: Platform) -> None:
        await credit.open_account(
            platform.database,
            organization_id,
            most_owed=limit,
            actor=operator(),
            now=platform.clock(),
        )

    on_platform(step)


def _tell(balance: Balance, *, as_json: bool) -> None:
    shown = {"credit": balance.credit, "owed": balance.owed}
    if as_json:
        print_json(shown)
    else:
        print_fields(shown)
