"""`leyden treasury`: treasury, auction account and outstanding tickets."""

import click

from leyden.base.cli.database import on_running
from leyden.base.cli.output import (
    as_json,
    print_fields,
    print_json,
    print_list,
    print_rows,
)
from leyden.base.platform import Platform
from leyden.channels.rules.payments import PaidOrder
from leyden.channels.wiring.channels import make_channels, receiving_payments
from leyden.operators import treasury_balance
from leyden.operators.cli.oversight import order_shown
from leyden.operators.treasury_balance import TreasuryBalance
from leyden.values import asdict


@click.command()
@click.option(
    "--unknown",
    is_flag=True,
    help=(
        "List payments for orders that are missing from the database, after a restore."
    ),
)
@as_json
def treasury(*, unknown: bool, as_json: bool) -> None:
    """Print the treasury and auction balances, and outstanding tickets.

    \b
    leyden treasury
    leyden treasury --unknown
    """
    if unknown:
        print_list(
            "payments",
            [asdict(each) for each in on_running(_unknown)],
            as_json=as_json,
            empty="every Lightning payment belongs to a known order",
        )
        return
    found = on_running(_looked)
    if found is None:
        if as_json:
            print_json({"treasury": None, "auction": None, "tickets": []})
        else:
            print(
                "this platform sells no channels; see docs/operators/sell-channels.md"
            )
        return
    holdings = asdict(found.holdings) if found.holdings else None
    standing = found.standing
    auction = standing and {
        "state": standing.account.state,
        "sats": standing.account.sats,
        "available": standing.account.available,
        "outstanding": standing.outstanding,
        "free": standing.free,
        "blocks_left": standing.blocks_left,
    }
    if as_json:
        print_json(
            {
                "alarm": found.alarm or None,
                "treasury": holdings,
                "auction": auction,
                "outstanding": found.outstanding,
                "tickets": [order_shown(each) for each in found.tickets],
            }
        )
        return
    if found.alarm:
        print(f"{found.alarm}\n")
    print("treasury")
    print_fields(holdings or {"away": found.no_holdings})
    print("\nPool account")
    print_fields(auction or {"none": found.no_standing})
    print("\ntickets outstanding")
    print_rows(
        map(order_shown, found.tickets),
        empty="none",
        spare=("organization_id", "fee", "capacity"),
    )


async def _unknown(platform: Platform) -> list[PaidOrder]:
    channels = make_channels(platform)
    if channels is None:
        return []
    async with receiving_payments(channels, listening=False):
        return await treasury_balance.unknown_payments(channels)


async def _looked(platform: Platform) -> TreasuryBalance | None:
    channels = make_channels(platform)
    if channels is None:
        return None
    async with receiving_payments(channels, listening=False):
        return await treasury_balance.read(channels)
