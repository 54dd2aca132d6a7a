"""How the installation does, and what needs a person: the operator's pages, typed."""

import sys
from collections.abc import Mapping
from typing import Any

import click

from leyden.cli.operator.running import on_running, on_shop
from leyden.cli.output import (
    as_json,
    print_fields,
    print_json,
    print_list,
    print_rows,
)
from leyden.domain.orders import Order
from leyden.domain.times import to_iso
from leyden.services import oversight
from leyden.services.platform import Platform
from leyden.values import asdict

_MOST_AILING = 200


@click.command()
@as_json
def overview(*, as_json: bool) -> None:
    """Show how the installation does, and what is amiss; exit 1 when something is.

    \b
    leyden overview
    """
    seen = on_shop(lambda platform: oversight.overview(platform, now=platform.clock()))
    queues = [
        {**asdict(each), "next_due": to_iso(each.next_due)} for each in seen.queues
    ]
    tried = [{**asdict(each), "due": to_iso(each.due)} for each in seen.tried]
    if as_json:
        print_json(
            {
                "alarms": seen.alarms,
                "nodes": seen.nodes,
                "orders": seen.orders,
                "books": seen.balances,
                "tasks": queues,
                "tried": tried,
            }
        )
    else:
        print(*(seen.alarms or ["nothing is amiss"]), sep="\n")
        for heading, counted in (
            ("nodes", seen.nodes),
            ("orders", seen.orders),
            ("books, in sat", seen.balances),
        ):
            _counted(heading, counted)
        print("\nwhat is to be done")
        print_rows(queues, empty="nothing")
        if tried:
            print("\nwhat does not go well")
            print_rows(tried, empty="")
    sys.exit(int(bool(seen.alarms)))


@click.command()
@as_json
def fleet(*, as_json: bool) -> None:
    """Show how all nodes do, which lnd they run, and which of them need you.

    \b
    leyden fleet
    """

    async def look(platform: Platform) -> dict[str, Any]:
        counts = platform.database.reader.counts
        return {
            "nodes": await counts.nodes(),
            "versions": await counts.versions(),
            "ailing": [
                {**asdict(each), "due": to_iso(each.due)}
                for each in await counts.ailing(most=_MOST_AILING)
            ],
        }

    found = on_running(look)
    if as_json:
        print_json(found)
        return
    _counted("nodes", found["nodes"])
    _counted("versions", found["versions"])
    print("\nthose that need you")
    print_rows(
        found["ailing"], empty="none", spare=("organization_id", "version", "due")
    )


@click.command()
@as_json
def orders(*, as_json: bool) -> None:
    """List the orders that need a person: lost, stuck half-way, or failed.

    \b
    leyden orders
    """
    found = on_shop(lambda platform: oversight.in_need(platform, now=platform.clock()))
    print_list(
        "orders",
        ({**order_shown(each.order), "why": each.why} for each in found),
        as_json=as_json,
        empty="no order needs you",
        spare=("organization_id", "capacity", "fee"),
    )


def order_shown(order: Order) -> dict[str, Any]:
    """Show an order as operators look at it."""
    return {
        "order_id": order.id,
        "status": order.status,
        "paid": to_iso(order.paid_at) if order.paid_at else None,
        "capacity": order.quote.channel.capacity,
        "fee": order.total_fee,
        "organization_id": order.organization_id,
    }


def _counted(heading: str, counted: Mapping[str, int]) -> None:
    print(f"\n{heading}")
    if counted:
        print_fields(counted)
    else:
        print("none yet")
