"""An order as it is told at a terminal: waited for, shown, and what comes next."""

import shlex
from collections.abc import Sequence

import click
import msgspec

from leyden.cli import exits
from leyden.cli.customer.progress import waiting
from leyden.cli.customer.session import Session
from leyden.cli.customer.statements import picture
from leyden.cli.output import print_fields, print_json
from leyden.client.flow import Order

# An order that has come further has been here: waiting ends, too.
_WAY = ("waiting_payment", "creating", "created", "submitted", "filled")
_ENDED = ("expired", "failed", "cancelled", "filled")
NEXT = {
    "waiting_payment": "pay the invoice, or the address; then "
    "leyden flow status {id} --wait created",
    "creating": "it is paid for, and the ticket is being made",
    "created": "register it with your own poold: pool sidecar register {ticket}",
    "submitted": "the auction looks for a seller; minutes to hours",
    "filled": "somebody sold; the channel is being opened to you",
    "expired": "it was not paid in time; what still comes becomes credit",
    "failed": "no ticket could be made; what was paid becomes credit: "
    "leyden flow cancel {id}",
    "cancelled": "it was given up; see `leyden flow balance`",
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
    """Show an order once it has come to one of these, or further; 5 when it cannot."""
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
                f"{seen.status}, {seen.amount_due} sat to pay"
                if seen.status == "waiting_payment"
                else seen.status
            ),
        )
    tell(found, as_json=as_json)
    if found.status not in further:
        raise exits.Refusal(
            f"the order is {found.status}: it will not come to {', '.join(wanted)}",
            status=409,
        )


def how_to_pay(order: Order, *, qr: bool) -> None:
    """Show what is due and where to, beside what is printed."""
    if not order.lightning_invoice:
        return
    click.echo(f"order     {order.order_id}", err=True)
    click.echo(f"to pay    {order.amount_due} sat", err=True)
    click.echo(f"invoice   {order.lightning_invoice}", err=True)
    click.echo(f"or to     {order.onchain_address}", err=True)
    if qr:
        click.echo(picture(order.lightning_invoice.upper()), err=True)


def tell(order: Order, *, as_json: bool) -> None:
    """Show an order, and what to do next."""
    if as_json:
        print_json(order)
        return
    print_fields(msgspec.structs.asdict(order))
    ticket = shlex.quote(order.sidecar_ticket)
    next_step = NEXT.get(order.status, "").format(id=order.order_id, ticket=ticket)
    if next_step:
        print(f"next: {next_step}")
    if order.lightning_invoice.startswith(_PRIVATE) and order.status in _PLAYED:
        played = _PLAYED[order.status]
        print(f"on this private chain: {played.format(order=order, ticket=ticket)}")
