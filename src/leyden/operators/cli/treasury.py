"""`leyden treasury` and `market`: what sold channels come from, and what pays."""

from collections.abc import Callable
from typing import Any

import click

from leyden.base.cli.database import on_running
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.output import (
    as_json,
    print_fields,
    print_json,
    print_list,
    print_rows,
)
from leyden.base.platform import Platform
from leyden.channels.direct.cli.jit import jit, jit_fields
from leyden.channels.direct.cli.lsps1 import lsps1, lsps1_fields
from leyden.channels.direct.cli.purchases import purchases, purchases_fields
from leyden.channels.direct.cli.seller import seller, seller_fields
from leyden.channels.rules.payments import PaidOrder
from leyden.channels.wiring.channels import make_channels, receiving_payments
from leyden.errors import SetupError
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
    shown = _fields(found)
    if as_json:
        print_json(shown)
        return
    if found is None:
        print("this platform sells no channels; see docs/operators/sell-channels.md")
        return
    if found.alarm:
        print(f"{found.alarm}\n")
    print("treasury")
    print_fields(shown["treasury"] or {"away": found.no_holdings})
    print("\nPool account")
    print_fields(shown["auction"] or {"none": found.no_standing})
    print("\ntickets outstanding")
    print_rows(
        map(order_shown, found.tickets),
        empty="none",
        spare=("organization_id", "fee", "capacity"),
    )


@click.group(cls=LazyGroup)
def market() -> None:
    """Print where sold channels come from, and what pays for them."""


@market.command()
@as_json
@click.pass_context
def status(ctx: click.Context, *, as_json: bool) -> None:
    """Print the treasury, the Pool account, the seller, and what wallets can buy.

    \b
    leyden market status
    """
    if as_json:
        read = {
            "seller": seller_fields,
            "lsps1": lsps1_fields,
            "jit": jit_fields,
            "purchases": purchases_fields,
        }
        off = {name: _or_none(each) for name, each in read.items()}
        print_json(_fields(on_running(_looked)) | off)
        return
    for command in (treasury, seller, lsps1, jit, purchases):
        if command is not treasury:
            print(f"\n{command.name}")
        try:
            ctx.invoke(command)
        except SetupError as error:
            print(error.message)


def _or_none(read: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
    try:
        return read()
    except SetupError:
        return None


def _fields(found: TreasuryBalance | None) -> dict[str, Any]:
    if found is None:
        return {"treasury": None, "auction": None, "tickets": []}
    standing = found.standing
    auction = standing and {
        "state": standing.account.state,
        "sats": standing.account.sats,
        "available": standing.account.available,
        "outstanding": standing.outstanding,
        "free": standing.free,
        "blocks_left": standing.blocks_left,
    }
    return {
        "alarm": found.alarm or None,
        "treasury": asdict(found.holdings) if found.holdings else None,
        "auction": auction,
        "outstanding": found.outstanding,
        "tickets": [order_shown(each) for each in found.tickets],
    }


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
