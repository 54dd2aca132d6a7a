"""Orders on a terminal: waiting, printing and next steps."""

import io
import shlex
from collections.abc import Sequence

import click
import msgspec
import segno

from leyden.base.cli import exit_codes
from leyden.base.cli.output import print_fields, print_json
from leyden.base.rules.units import weeks
from leyden.customer.progress import waiting
from leyden.customer.session import ApiSession
from leyden.schemas.flow import ExtensionAnswer, ExtensionQuoteAnswer, OrderAnswer

UNPAID = "waiting_payment"
# An order that has come further has been here: waiting ends, too.
_WAY = (UNPAID, "creating", "created", "submitted", "filled")
_ENDED = ("expired", "failed", "cancelled", "filled")
NEXT = {
    "waiting_payment": (
        "pay the invoice or the address, then: leyden channels show {id} --wait created"
    ),
    "creating": "the order is paid; we are creating the ticket",
    "created": (
        "open the channel to your hosted node: leyden channels use-ticket {id}; or "
        "register the ticket with your own poold: pool sidecar register {ticket}"
    ),
    "submitted": "waiting for a seller in the auction, which takes minutes to hours",
    "filled": "the auction found a seller; the channel is opening",
    "expired": "the order expired unpaid; a late payment becomes credit",
    "failed": (
        "we could not create a ticket; a held Lightning payment was returned, and "
        "everything else you paid is credit"
    ),
    "cancelled": "the order was cancelled; see `leyden credit show`",
}
_NEXT_DIRECT = {
    "creating": "the order is paid; the channel is opening",
    "created": "your node is not connected to the seller: lncli connect {uri}",
    "submitted": (
        "we asked the seller to open the channel, and don't know the result yet"
    ),
    "filled": (
        "the channel is published, and usable after some confirmations; to keep it "
        "when its lease ends: leyden channels extend {id}"
    ),
    "failed": (
        "the channel could not be opened; a held Lightning payment was returned, and "
        "everything else you paid is credit"
    ),
}
# What invoices of a private chain begin with, and who plays the customer there.
_PRIVATE = "lnsb"
_PLAYED = {
    "waiting_payment": "leyden dev pay {order.lightning_invoice}",
    "created": "leyden dev register {ticket}",
}


def wait_for(
    session: ApiSession,
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
    with waiting("the order") as progress:
        found = session.client.flow.wait(
            order_id,
            (*further, *_ENDED),
            within_s=within_s,
            on_state=lambda order: progress(
                f"{order.status}, {order.amount_due:,} sat to pay"
                if order.status == UNPAID
                else order.status
            ),
        )
    tell(found, as_json=as_json)
    if found.status not in further:
        raise exit_codes.Refusal(
            f"the order is {found.status} and can't become {', '.join(wanted)}",
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
        show_qr(order.lightning_invoice)


def show_qr(invoice: str) -> None:
    """Print an invoice as a QR code, on standard error."""
    click.echo(_qr_code(invoice.upper()), err=True)


def is_direct(order: OrderAnswer) -> bool:
    """Return whether the order names a node, and gets no ticket."""
    return order.seller_uri is not msgspec.UNSET


def _next(order: OrderAnswer, ticket: str) -> str:
    if is_direct(order) and (step := _NEXT_DIRECT.get(order.status)):
        return step.format(
            uri=order.seller_uri,
            id=order.order_id,
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
    if (auto := order.auto_extend) is not msgspec.UNSET:
        by = weeks(auto.lease_duration_blocks)
        fields["auto_extend"] = f"by {by}, for at most {auto.max_fee:,} sat"
    print_fields(fields)
    ticket = shlex.quote(order.sidecar_ticket)
    if next_step := _next(order, ticket):
        print(f"next: {next_step}")
    if order.lightning_invoice.startswith(_PRIVATE) and (
        order.status in _PLAYED and (ticket != "''" or order.status == UNPAID)
    ):
        played = _PLAYED[order.status]
        print(f"on this private chain: {played.format(order=order, ticket=ticket)}")


def tell_extension(
    extension: ExtensionQuoteAnswer | ExtensionAnswer, *, as_json: bool
) -> None:
    """Print an extension of a lease, or its price; and the next step."""
    if as_json:
        print_json(extension)
        return
    print_fields(msgspec.structs.asdict(extension))
    if isinstance(extension, ExtensionAnswer):
        if extension.status == UNPAID:
            print("next: pay the invoice; the lease is extended once it is paid")
        if extension.lightning_invoice.startswith(_PRIVATE):
            print(
                f"on this private chain: leyden dev pay {extension.lightning_invoice}"
            )


def _qr_code(text: str) -> str:
    """Render a text as a QR code for a terminal."""
    drawn = io.StringIO()
    segno.make(text, micro=False).terminal(drawn, compact=True)
    return drawn.getvalue()
