"""`leyden channels`: channel quotes and orders."""

import contextlib
from itertools import islice
from typing import Any, Final

import click

from leyden.base.cli.confirmation import confirm, yes_option
from leyden.base.cli.groups import LazyCommand, LazyGroup
from leyden.base.cli.output import (
    as_json,
    limit_option,
    print_fields,
    print_json,
    print_rows,
)
from leyden.base.rules.units import weeks
from leyden.client.flow import Flow
from leyden.customer import channel_acceptor
from leyden.customer.channel_options import channel_options, wish_of
from leyden.customer.order_output import (
    NEXT,
    UNPAID,
    how_to_pay,
    is_direct,
    show_qr,
    tell,
    tell_extension,
    wait_for,
)
from leyden.customer.session import ApiSession, with_session
from leyden.schemas.credit import BalanceAnswer
from leyden.schemas.flow import ExtensionAnswer, OrderAnswer, QuoteAnswer

_timeout = click.option(
    "--timeout",
    "within_s",
    type=click.IntRange(1, 86_400),
    default=3_600,
    show_default=True,
    help="Maximum seconds to wait; then exit 7.",
)


_OF_AN_ORDER: Final = {"zero_conf", "password_file", "macaroon_file"}
# Its body runs poold, with packages that only Linux has.
_USE_TICKET = LazyCommand(
    "leyden.customer.claim",
    "Use a paid order's ticket to open a channel to your hosted node.",
    attribute="use_ticket",
)


@click.group(cls=LazyGroup, lazy={"use-ticket": _USE_TICKET})
def channels() -> None:
    """Buy inbound channels, and manage their orders.

    Order a channel --for NODE, pay over Lightning or on-chain, and it opens to that
    node. Without --for, you get a ticket of the auction: the channel goes to the node
    whose poold registers it.
    """


@channels.command()
@channel_options
@as_json
@with_session
def quote(session: ApiSession, capacity: int, *, as_json: bool, **options: Any) -> None:
    """Quote a channel of CAPACITY satoshis; the price is valid for ten minutes.

    \b
    leyden channels quote 2000000 --lease 4032
    """
    wish, _ = wish_of(session, capacity, options)
    found = session.client.flow.quote(capacity, **wish)
    if as_json:
        print_json(found)
    else:
        print_fields(_priced(found))


# Its node is asked for its public key only where the platform doesn't know it.
for each in quote.params:
    if isinstance(each, click.Option) and each.name in _OF_AN_ORDER:
        each.hidden = True


@channels.command()
@channel_options
@click.option(
    "--wait", is_flag=True, help="Wait until the order is paid and its ticket is ready."
)
@_timeout
@click.option("--qr", is_flag=True, help="Show the invoice as a QR code.")
@click.option(
    "--idempotency-key", help="Idempotency key: the same key creates one order only."
)
@as_json
@with_session
def order(
    session: ApiSession,
    capacity: int,
    *,
    wait: bool,
    within_s: int,
    qr: bool,
    idempotency_key: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Order a channel of CAPACITY satoshis, and print how to pay for it.

    Credit is used first. With --wait, the command prints the payment details to
    standard error and waits until the ticket is ready, or with --for until the channel
    is published.

    \b
    leyden channels order 2000000 --wait
    leyden channels order 1000000 --for "harbour light" --wait
    """
    wish, to = wish_of(session, capacity, options)
    mine = to if "zero_conf" in wish and to is not None and to.node else None
    if mine and not wait:
        raise click.UsageError("--zero-conf: needs --wait for your own node")
    made = session.client.flow.create(capacity, key=idempotency_key, **wish)
    with contextlib.ExitStack() as stack:
        if mine:
            stack.enter_context(channel_acceptor.zero_conf(session, mine, made))
        if (wait or qr) and made.status == "waiting_payment":
            how_to_pay(made, qr=qr)
        if wait:
            goal = "filled" if is_direct(made) else "created"
            wait_for(session, made.order_id, [goal], within_s, as_json=as_json)
        else:
            tell(made, as_json=as_json)


@channels.command("list")
@limit_option(50, 1_000_000)
@as_json
@with_session
def list_(session: ApiSession, *, limit: int, as_json: bool) -> None:
    """List orders, newest first.

    \b
    leyden channels list --limit 500
    """
    found = list(islice(session.client.flow.orders(), limit))
    if as_json:
        print_json({"orders": found})
        return
    print_rows(
        (
            {
                "order": each.order_id,
                "created": each.creation_date,
                "status": each.status,
                "capacity": each.capacity,
                "fee": each.total_fee,
                "due": each.amount_due if each.status == UNPAID else 0,
            }
            for each in found
        ),
        empty="no orders yet; get a price: leyden channels quote 2000000",
        spare=("due", "created"),
    )


@channels.command()
@click.argument("order_id")
@click.option(
    "--wait",
    "wanted",
    type=click.Choice([*NEXT]),
    multiple=True,
    metavar="STATUS",
    help="Status to wait for; repeatable.",
)
@_timeout
@as_json
@with_session
def show(
    session: ApiSession,
    order_id: str,
    *,
    wanted: tuple[str, ...],
    within_s: int,
    as_json: bool,
) -> None:
    """Print an order's current status and the next step.

    With --wait, exit 5 if the order ends in another status.

    \b
    leyden channels show ORDER --wait filled
    """
    if wanted:
        wait_for(session, order_id, wanted, within_s, as_json=as_json)
    else:
        tell(session.client.flow.status(order_id), as_json=as_json)


@channels.command()
@click.argument("order_id")
@yes_option
@as_json
@with_session
def cancel(session: ApiSession, order_id: str, *, yes: bool, as_json: bool) -> None:
    """Cancel an order; what you paid becomes credit.

    \b
    leyden channels cancel ORDER
    leyden channels cancel ORDER --yes
    """
    if not yes:
        found = session.client.flow.status(order_id)
        back = _given_back(found, session.client.flow.balance())
        confirm(f"Cancel this order (status: {found.status})? {back}", yes=yes)
    given_up = session.client.flow.cancel(order_id)
    if as_json:
        print_json(given_up)
    else:
        print(f"{given_up.status}; you got {given_up.credit_refund:,} sat as credit")


@channels.command()
@click.argument("order_id")
@click.option(
    "--lease",
    "blocks",
    type=int,
    default=2_016,
    show_default=True,
    help="Blocks to add: 2016, 4032, ... 52416.",
)
@click.option("--max-fee", type=click.IntRange(1), help="Highest price, in satoshis.")
@click.option(
    "--auto/--no-auto",
    default=None,
    help="Extend each time before the lease ends, up to --max-fee; or no longer.",
)
@click.option("--quote", "only_price", is_flag=True, help="Only print the price.")
@click.option("--qr", is_flag=True, help="Show an invoice as a QR code.")
@click.option(
    "--idempotency-key", help="Idempotency key: the same key extends a lease only once."
)
@yes_option
@as_json
@with_session
def extend(
    session: ApiSession,
    order_id: str,
    *,
    blocks: int,
    max_fee: int | None,
    auto: bool | None,
    only_price: bool,
    qr: bool,
    idempotency_key: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Extend the lease of an order's channel, to keep the channel.

    Your credit pays for it. If it does not cover the whole price, you get an invoice.

    \b
    leyden channels extend ORDER --quote
    leyden channels extend ORDER --lease 4032 --yes
    leyden channels extend ORDER --auto --max-fee 10000
    """
    flow = session.client.flow
    if auto is not None and not only_price:
        if auto and max_fee is None:
            raise click.UsageError("--auto: needs --max-fee")
        changed = (
            flow.auto_extend(order_id, max_fee, blocks)
            if auto and max_fee is not None
            else flow.stop_auto_extend(order_id)
        )
        tell(changed, as_json=as_json)
        return
    if not (only_price or idempotency_key) and (unpaid := _unpaid(flow, order_id)):
        # The lease gets no second one meanwhile, and the first answer may be lost.
        click.echo("this lease has an extension that is not paid yet", err=True)
        _show_extension(unpaid, qr=qr, as_json=as_json)
        return
    if only_price or not yes:
        price = flow.extension_quote(order_id, blocks)
        if only_price:
            tell_extension(price, as_json=as_json)
            return
        way = "by an invoice" if price.amount_due else "from your credit"
        if not price.amount_due and price.credit_used < price.total_fee:
            way = "from your credit and corporate account"
        confirm(
            f"Extend this lease by {weeks(blocks)} for {price.total_fee:,} sat, {way}?",
            yes=yes,
        )
        max_fee = price.total_fee if max_fee is None else max_fee
    made = flow.extend(order_id, blocks, max_fee=max_fee, key=idempotency_key)
    _show_extension(made, qr=qr, as_json=as_json)


def _unpaid(flow: Flow, order_id: str) -> ExtensionAnswer | None:
    """Return the extension of an order's lease that waits for its payment."""
    found = [each for each in flow.extensions(order_id) if each.status == UNPAID]
    return found[-1] if found else None


def _show_extension(extension: ExtensionAnswer, *, qr: bool, as_json: bool) -> None:
    tell_extension(extension, as_json=as_json)
    if qr and extension.lightning_invoice:
        show_qr(extension.lightning_invoice)


def _given_back(order: OrderAnswer, has: BalanceAnswer) -> str:
    """Return where the money of an order goes that is cancelled."""
    if order.status == "failed":
        return "Its money was already returned, or is credit."
    if is_direct(order) and order.paid:
        return (
            "A held Lightning payment is returned; everything else you paid becomes "
            "credit."
        )
    back = order.total_fee if order.paid else order.credit_used
    if has.balance < has.credit:  # a corporate account owes the difference
        return f"You get {back:,} sat back: debts first, the rest as credit."
    return f"You get {back:,} sat as credit."


def _rest(quote: QuoteAnswer) -> str:
    """Describe what becomes of the part of the pool fee that is not used."""
    is_kept = quote.unused_pool_fee == "kept"
    return "the rest is not refunded" if is_kept else "the rest is credited"


def _priced(quote: QuoteAnswer) -> dict[str, Any]:
    blocks = quote.lease_duration_blocks
    return {
        "capacity": f"{quote.capacity:,} sat for {weeks(blocks)}",
        "service_fee": f"{quote.service_fee:,} sat",
        "pool_fee": f"{quote.pool_fee:,} sat at most, seller and network fees; "
        + _rest(quote),
        "self_chan_balance_fee": f"{quote.self_chan_balance_fee:,} sat, your balance",
        "total_fee": f"{quote.total_fee:,} sat",
        "credit_used": f"{quote.credit_used:,} sat",
        "amount_due": f"{quote.amount_due:,} sat",
        "rate": f"{quote.rate_bps / 100:g} % for the whole lease",
    }
