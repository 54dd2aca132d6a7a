"""`leyden coupons`: coupons that can be redeemed once for credit."""

from datetime import timedelta

import click

from leyden.base.cli.database import on_platform
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.organization_option import found
from leyden.base.cli.output import (
    as_json,
    limit_option,
    operator,
    print_json,
    print_list,
    print_rows,
)
from leyden.base.platform import Platform
from leyden.base.rules.times import to_iso
from leyden.channels.money import credit
from leyden.channels.money.rules.coupons import Coupon

_MAX_COUPONS = 10_000


@click.group(cls=LazyGroup)
def coupon() -> None:
    """Create and list coupons, each redeemable once for credit."""


@coupon.command()
@click.option("--amount", type=int, required=True, help="Satoshis each.")
@click.option(
    "--organization", help="Name or id of the only organization that can redeem them."
)
@click.option(
    "--count", type=int, default=1, show_default=True, help="Number of coupons."
)
@click.option("--days", type=click.IntRange(1, 3650), help="Days until they expire.")
@click.option(
    "--note", default="", help=("What the coupons are for; only operators see it.")
)
@as_json
def create(
    amount: int,
    organization: str | None,
    count: int,
    days: int | None,
    note: str,
    *,
    as_json: bool,
) -> None:
    """Create coupons; anyone with a coupon's code can redeem it.

    \b
    leyden coupons create --amount 21000 --count 3 --note "spring fair"
    """

    async def issue(platform: Platform) -> list[Coupon]:
        now = platform.clock()
        of = await found(platform, organization) if organization else None
        return await credit.issue_coupons(
            platform.database,
            sats=amount,
            count=count,
            organization_id=of.id if of else None,
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
        print_rows(rows, empty="", spare=("organization_id", "expires"))


@coupon.command("list")
@limit_option(200, _MAX_COUPONS)
@as_json
def list_(limit: int, *, as_json: bool) -> None:
    """List all coupons, used and unused, with their notes.

    \b
    leyden coupons list
    """

    async def read(platform: Platform) -> list[Coupon]:
        return await platform.database.reader.coupons.all_(after="", limit=limit)

    print_list(
        "coupons",
        (
            {
                "coupon": each.id,
                "amount": each.sats,
                "claimed": to_iso(each.claimed_at) if each.claimed_at else None,
                "note": each.note,
                "created": to_iso(each.created),
                "expires": to_iso(each.expires) if each.expires else None,
                "organization_id": each.organization_id,
                "claimed_by": each.claimed_by,
            }
            for each in on_platform(read)
        ),
        as_json=as_json,
        empty="no coupons yet; see: leyden coupons create --help",
        spare=("claimed_by", "organization_id", "created", "expires", "claimed"),
    )
