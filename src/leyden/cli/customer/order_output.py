"""Orders on a terminal: waiting, printing and next steps."""

import shlex
from collections.abc import Sequence

import click
import msgspec

from leyden.cli import exit_codes
from leyden.cli.customer.progress import waiting
from leyden.cli.customer.session import Session
from leyden.cli.customer.statements import picture
from leyden.cli.output import print_fields, print_json
from leyden.schemas.flow import OrderAnswer

UNPAID = "waiting_payment"
# An order that has come further has been here: waiting ends, too.
_WAY = (UNPAID, "creating", "created", "submitted", "filled")
_ENDED = ("expired", "failed", "cancelled", "filled")
NEXT = {
    "waiting_payment": "pay the invoice, or the address; then "
    "leyden flow status {id} --wait created",
    "creating": "the order is paid, and its ticket is being created",
    "created": "give its channel to a node of yours: leyden claim {id}; or register "
    "the ticket with your own poold: pool sidecar register {ticket}",
    "submitted": "the auction looks for a seller, which takes minutes to hours",
    "filled": "a seller was found; the channel is being opened",
    "expired": "the order was not paid in time; a late payment becomes credit",
    "failed": "no ticket could be created; to turn what was paid into credit: "
    "leyden flow cancel {id}",
    "cancelled": "the order was cancelled; see `leyden flow balance`",
}
_NEXT_DIRECT = {
    "creating": "the order is paid, and its channel is being opened",
    "created": "your node is not connected: lncli connect {uri}",
    "submitted": "the seller was asked for the channel; the outcome is not known yet",
    "filled": "the channel is published; it is usable after some confirmations; before "
    "its lease ends, renew it: leyden flow order {capacity} --for {node}",
    "failed": "no channel came of it; a held payment over Lightning went back, and "
    "everything else that was paid is credit",
}
# What invoices of a private chain begin with, and who plays the customer there.
_PRIVATE = "lnsb"
_PLAYED = {
    "waiting_payment": "leyden dev pay {order.lightning_invoice}",
    "created": "leyden dev register {ticket}",
}


def wait_for(
    session: Session,
    order_id: str,
    wanted: Sequence[str],
    within_s: int,
    *,
    as_json: bool,
) -> None:
    """Wait until an order reaches one of these statuses, and print it.

    A later status counts as well. If the order ends otherwise, the exit
    code is 5.
    """
    further = {
        later
        for each in wanted
        for later in (_WAY[_WAY.index(each) :] if each in _WAY else (each,))
    }
    with waiting("the order") as told:
        found = session.client.flow.wait(
            order_id,
            (*further, *_ENDED),
            within_s=within_s,
            told=lambda seen: told(
                f"{seen.status}, {seen.amount_due:,} sat to pay"
                if seen.status == UNPAID
                else seen.status
            ),
        )
    tell(found, as_json=as_json)
    if found.status not in further:
        raise exit_codes.Refusal(
            f"the order is {found.status}: it will not become {', '.join(wanted)}",
            status=409,
        )


def how_to_pay(order: OrderAnswer, *, qr: bool) -> None:
    """Print the amount due and where to pay it, on standard error."""
    if not order.lightning_invoice:
        return
    click.echo(f"order     {order.order_id}", err=True)
    click.echo(f"to pay    {order.amount_due:,} sat", err=True)
    click.echo(f"invoice   {order.lightning_invoice}", err=True)
    click.echo(f"or to     {order.onchain_address}", err=True)
    if qr:
        click.echo(picture(order.lightning_invoice.upper()), err=True)


def is_direct(order: OrderAnswer) -> bool:
    """Return whether the order names a node, and gets no ticket."""
    return order.seller_uri is not msgspec.UNSET


def _next(order: OrderAnswer, ticket: str) -> str:
    if is_direct(order) and (step := _NEXT_DIRECT.get(order.status)):
        return step.format(
            uri=order.seller_uri,
            capacity=order.capacity,
            node=order.node_id or order.node,
        )
    return NEXT.get(order.status, "").format(id=order.order_id, ticket=ticket)


def tell(order: OrderAnswer, *, as_json: bool) -> None:
    """Print an order and the next step."""
    if as_json:
        print_json(order)
        return
    every = msgspec.structs.asdict(order).items()
    fields = {name: value for name, value in every if value is not msgspec.UNSET}
    if order.status != UNPAID:
        del fields["amount_due"]  # the price less credit, and not due any more
    print_fields(fields)
    ticket = shlex.quote(order.sidecar_ticket)
    if next_step := _next(order, ticket):
        print(f"next: {next_step}")
    if order.lightning_invoice.startswith(_PRIVATE) and (
        order.status in _PLAYED and (ticket != "''" or order.status == UNPAID)
    ):
        played = _PLAYED[order.status]
        print(f"on this private chain: {played.format(order=order, ticket=ticket)}")
