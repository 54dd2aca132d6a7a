"""Installation status: overview, and orders, of which some need attention."""

import sys
from collections.abc import Iterable
from itertools import islice
from typing import Any

import click

from leyden.base.cli.confirmation import confirm, yes_option
from leyden.base.cli.elsewhere import elsewhere, organization_id
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.organization_option import found as organization_named
from leyden.base.cli.output import (
    as_json,
    limit_option,
    operator,
    print_counts,
    print_json,
    print_list,
    print_one,
    print_rows,
)
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Organization
from leyden.base.rules.times import to_iso
from leyden.base.tasks import job_labels
from leyden.channels.cli.running import on_channels
from leyden.channels.rows.treasury_checks import TreasuryCheck
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.tickets import missing_tickets
from leyden.client.operator import Operator
from leyden.errors import Malformed, SetupError
from leyden.operators import attention, oversight
from leyden.operators.oversight import Overview
from leyden.schemas.operator import SoldOrder
from leyden.values import asdict

_MOST_NEWEST = 500
_ABANDONING = "Abandon the order {}? You can't undo this."


@click.command()
@as_json
def overview(*, as_json: bool) -> None:
    """Print the installation's status and problems; exit 1 if it has any.

    \b
    leyden overview
    """
    overview_ = on_channels(
        lambda platform: oversight.overview(platform, now=platform.clock())
    )
    queues = [
        {**asdict(each), "next_due": to_iso(each.next_due)} for each in overview_.queues
    ]
    tried = [{**asdict(each), "due": to_iso(each.due)} for each in overview_.tried]
    backups = [
        {
            **asdict(each),
            "last_good": to_iso(each.last_good) if each.last_good else None,
            "last_failed": to_iso(each.last_failed) if each.last_failed else None,
        }
        for each in overview_.backups
    ]
    check = overview_.treasury_check
    if as_json:
        print_json(
            {
                "alarms": [
                    {
                        "alarm": each.kind,
                        "what": each.what,
                        "since": to_iso(each.since),
                    }
                    for each in overview_.alarms
                ],
                "checked": to_iso(overview_.checked_at)
                if overview_.checked_at
                else None,
                "nodes": overview_.nodes,
                "orders": overview_.orders,
                "sources": overview_.sources,
                "books": overview_.balances,
                "treasury_check": {**asdict(check), "at": to_iso(check.at)}
                if check
                else None,
                "tasks": queues,
                "tried": tried,
                "backups": backups,
            }
        )
    else:
        print(*_alarms(overview_), sep="\n")
        for heading, counted in (
            ("nodes", overview_.nodes),
            ("orders", overview_.orders),
            ("ledger, in sat", overview_.balances),
        ):
            print_counts(heading, counted)
        if check is not None:
            print(f"\ntreasury\ncompared at {to_iso(check.at)}: {_compared(check)}")
        print("\nchannel sources")
        print(
            ", ".join(overview_.sources) or "none; see docs/operators/sell-channels.md"
        )
        if backups:
            print("\nbackups")
            print_rows(backups, empty="")
        else:
            print(f"\nbackups\n{overview_.without_backups}")
        print("\nscheduled jobs")
        print_rows(_labelled(queues), empty="nothing")
        if tried:
            print("\nfailing jobs")
            print_rows(_labelled(tried), empty="")
    sys.exit(int(bool(overview_.alarms or overview_.not_checked)))


def _alarms(overview_: Overview) -> list[str]:
    found = [each.what for each in overview_.alarms]
    if overview_.not_checked or overview_.checked_at is None:
        return [*found, overview_.not_checked]
    return found or [f"all good (checked {to_iso(overview_.checked_at)})"]


def _compared(check: TreasuryCheck) -> str:
    unknown = f", unknown to it: {check.unknown:,}" if check.unknown else ""
    return f"orders: {check.orders:,}, differences: {check.differences:,}{unknown}"


def _labelled(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**each, "kind": job_labels.label(each["kind"])} for each in jobs]


def _orders_elsewhere(
    api: Operator,
    *,
    needs_attention: bool,
    organization: str | None,
    status: str | None,
    limit: int,
) -> list[SoldOrder]:
    of = organization_id(api, organization) if organization else ""
    found: Iterable[SoldOrder]
    if needs_attention:
        found = api.orders_needing_attention()
    elif of:
        found = api.orders_of(of)
    elif status or limit > _MOST_NEWEST:
        raise Malformed(
            "with an operator key, --status and a larger --limit need --organization"
        )
    else:
        found = api.orders(limit=limit)
    shown = (
        each
        for each in found
        if of in {"", each.organization_id} and status in {None, each.status}
    )
    return [*islice(shown, limit)]


@click.group(cls=LazyGroup)
def orders() -> None:
    """List the orders of all organizations, and end lost ones."""


@orders.command("list")
@click.option(
    "--needs-attention",
    is_flag=True,
    help="Only orders that are lost, stuck half-way, or failed, with the reason.",
)
@click.option("--organization", help="Name or id of the organization.")
@click.option(
    "--status",
    type=click.Choice([each.value for each in OrderStatus]),
    metavar="STATUS",
    help="Only orders with this status, such as filled or waiting_payment.",
)
@limit_option(50, 100_000)
@as_json
@elsewhere(_orders_elsewhere, listed="orders")
def list_(
    *,
    needs_attention: bool,
    organization: str | None,
    status: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """List orders of all organizations, newest first.

    \b
    leyden orders list
    leyden orders list --status filled --organization "Harbour Light"
    leyden orders list --needs-attention
    """

    async def newest(platform: Platform) -> list[dict[str, Any]]:
        of = await organization_named(platform, organization) if organization else None
        reader = platform.database.reader.orders
        if status:
            found = await _in_status(platform, OrderStatus(status), of)
        elif of:
            found = await reader.page(of.id, limit=limit)
        else:
            found = await reader.newest(limit=limit)
        return [
            {**order_shown(each), "created": to_iso(each.created)}
            for each in found[:limit]
        ]

    async def needing_attention(platform: Platform) -> list[dict[str, Any]]:
        of = await organization_named(platform, organization) if organization else None
        found = await attention.needing_attention(platform, now=platform.clock())
        return [
            {**order_shown(each.order), "why": each.why}
            for each in found
            if of is None or each.order.organization_id == of.id
            if not status or each.order.status == status
        ][:limit]

    print_list(
        "orders",
        on_channels(needing_attention if needs_attention else newest),
        as_json=as_json,
        empty="no orders need attention" if needs_attention else "no orders",
        spare=("created", "organization_id", "capacity", "fee"),
    )


def _abandon_elsewhere(
    api: Operator, order_id: str, reason: str, *, yes: bool
) -> SoldOrder:
    confirm(_ABANDONING.format(order_id), yes=yes)
    return api.abandon(order_id, reason)


@orders.command()
@click.argument("order_id")
@click.option(
    "--reason", required=True, help="Recorded in the audit log with your name."
)
@yes_option
@as_json
@elsewhere(_abandon_elsewhere)
def abandon(order_id: str, reason: str, *, yes: bool, as_json: bool) -> None:
    """Abandon an order whose ticket poold lost; the payment becomes credit.

    `leyden orders list --needs-attention` lists such orders. First make sure that the
    order can't get a channel any more: its bid must not be in the auction. The command
    refuses a ticket that poold still knows.

    It also ends an order that the alarm `purchase.unknown` names.

    \b
    leyden orders abandon ORDER --reason "pool.db was lost on the 3rd"
    """

    async def abandoned(platform: Platform) -> Order:
        if platform.channels is None:
            raise SetupError(
                "treasury_host: not set, so this platform sells no channels"
            )
        return await missing_tickets.abandon(
            platform.channels, order_id, reason=reason, actor=operator()
        )

    confirm(_ABANDONING.format(order_id), yes=yes)
    order = on_channels(abandoned)
    print_one(
        {
            "order_id": order.id,
            "status": order.status,
            "credit_refund": order.credit_refund,
        },
        as_json=as_json,
    )


async def _in_status(
    platform: Platform, status: OrderStatus, of: Organization | None
) -> list[Order]:
    """Return all orders with this status, newest first."""
    found: list[Order] = []
    after = ""
    while part := await platform.database.reader.orders.in_status(status, after=after):
        found += [each for each in part if not of or each.organization_id == of.id]
        after = part[-1].id
    return sorted(found, key=lambda each: each.created, reverse=True)


def order_shown(order: Order) -> dict[str, Any]:
    """Return an order's fields for operators."""
    return {
        "order_id": order.id,
        "status": order.status,
        "paid": to_iso(order.paid_at) if order.paid_at else None,
        "capacity": order.quote.channel.capacity,
        "fee": order.total_fee,
        "organization_id": order.organization_id,
    }
