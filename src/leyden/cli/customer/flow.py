"""`leyden flow`: pricing channels, ordering them, and the money for it."""

from collections.abc import Callable
from itertools import islice
from typing import Any

import click

from leyden.cli.customer import credit
from leyden.cli.customer.order_telling import NEXT, how_to_pay, tell, wait_for
from leyden.cli.customer.session import Session, speaking
from leyden.cli.groups import Group
from leyden.cli.output import as_json, print_fields, print_json, print_rows
from leyden.client.flow import Quote

_within = click.option(
    "--within",
    "within_s",
    type=click.IntRange(1, 86_400),
    default=3_600,
    show_default=True,
    help="Seconds to wait at most; then the exit code is 7.",
)


@click.group(cls=Group)
def flow() -> None:
    """Buy inbound channels, and look after the money for them.

    An order is priced, paid over Lightning or on-chain, and given a ticket; whoever
    registers the ticket with their own poold gets the channel.
    """


for each in (credit.coupons, credit.redeem, credit.balance, credit.ledger):
    flow.add_command(each)


def _channel(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say what channel is wanted."""
    for option in (
        click.option(
            "--bps", type=int, help="Your own rate, in hundredths of a percent."
        ),
        click.option(
            "--tier",
            "node_tier",
            type=click.Choice(["best", "any"]),
            help="Whose channels will do: well-connected ones, or any.",
        ),
        click.option(
            "--lease",
            "lease_duration_blocks",
            type=int,
            help="Blocks it stays open: 2016, 4032, ... 52416.",
        ),
        click.option(
            "--self-balance",
            "self_chan_balance",
            type=int,
            help="Satoshis on your own side from the start.",
        ),
    ):
        command = option(command)
    return click.argument("capacity", type=int)(command)


def _wish(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


@flow.command()
@_channel
@as_json
@speaking
def quote(session: Session, capacity: int, *, as_json: bool, **options: Any) -> None:
    """Price a channel of CAPACITY satoshis; the price holds for ten minutes.

    \b
    leyden flow quote 2000000 --lease 4032
    """
    found = session.client.flow.quote(capacity, **_wish(options))
    if as_json:
        print_json(found)
    else:
        print_fields(_priced(found))


@flow.command()
@_channel
@click.option(
    "--wait", is_flag=True, help="Return when it is paid and its ticket is there."
)
@_within
@click.option("--qr", is_flag=True, help="Show the invoice as a picture to scan.")
@click.option("--idempotency-key", help="The same key makes the same order once.")
@as_json
@speaking
def order(
    session: Session,
    capacity: int,
    *,
    wait: bool,
    within_s: int,
    qr: bool,
    idempotency_key: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Order a channel of CAPACITY satoshis, and learn how to pay for it.

    Credit is used first. With --wait it is shown what to pay (on standard error), and
    the command ends once the ticket is there.

    \b
    leyden flow order 2000000 --wait
    """
    made = session.client.flow.create(capacity, key=idempotency_key, **_wish(options))
    if (wait or qr) and made.status == "waiting_payment":
        how_to_pay(made, qr=qr)
    if wait:
        wait_for(session, made.order_id, ["created"], within_s, as_json=as_json)
    else:
        tell(made, as_json=as_json)


@flow.command()
@click.option(
    "-n",
    "most",
    type=click.IntRange(1, 1_000_000),
    default=50,
    show_default=True,
    help="How many at the most.",
)
@as_json
@speaking
def orders(session: Session, *, most: int, as_json: bool) -> None:
    """List orders, newest first.

    \b
    leyden flow orders -n 500
    """
    found = list(islice(session.client.flow.orders(), most))
    if as_json:
        print_json({"orders": found})
        return
    print_rows(
        (
            {
                "order": each.order_id,
                "created": each.creation_date[:16],
                "status": each.status,
                "capacity": each.capacity,
                "fee": each.total_fee,
                "due": each.amount_due,
            }
            for each in found
        ),
        empty="none yet; see what one costs: leyden flow quote 2000000",
        spare=("due", "created"),
    )


@flow.command()
@click.argument("order_id")
@click.option(
    "--wait",
    "wanted",
    type=click.Choice([*NEXT]),
    multiple=True,
    metavar="STATUS",
    help="Return when it has come to this; as often as needed.",
)
@_within
@as_json
@speaking
def status(
    session: Session,
    order_id: str,
    *,
    wanted: tuple[str, ...],
    within_s: int,
    as_json: bool,
) -> None:
    """Show an order as it stands, with what to do next.

    With --wait the exit code is 5 when it ends otherwise.

    \b
    leyden flow status ORDER --wait filled
    """
    if wanted:
        wait_for(session, order_id, wanted, within_s, as_json=as_json)
    else:
        tell(session.client.flow.status(order_id), as_json=as_json)


@flow.command()
@click.argument("order_id")
@click.option("--yes", is_flag=True, help="Do not ask first.")
@as_json
@speaking
def cancel(session: Session, order_id: str, *, yes: bool, as_json: bool) -> None:
    """Give an order up; what was paid, and the credit that was used, become credit.

    \b
    leyden flow cancel ORDER
    leyden flow cancel ORDER --yes
    """
    if not yes:
        found = session.client.flow.status(order_id)
        back = found.credit_used + (found.total_fee if found.paid else 0)
        back = min(back, found.total_fee)
        click.confirm(
            f"Give up an order that is {found.status}? {back} sat become credit.",
            abort=True,
            err=True,
        )
    given_up = session.client.flow.cancel(order_id)
    if as_json:
        print_json(given_up)
    else:
        print(f"{given_up.status}; {given_up.credit_refund} sat became credit")


def _priced(quote: Quote) -> dict[str, Any]:
    return {
        "capacity": f"{quote.capacity} sat for {quote.lease_duration_blocks} blocks",
        "service_fee": f"{quote.service_fee} sat, ours",
        "pool_fee": f"{quote.pool_fee} sat, for whoever sells and the chain",
        "self_chan_balance_fee": f"{quote.self_chan_balance_fee} sat, your own side",
        "total_fee": f"{quote.total_fee} sat",
        "credit_used": f"{quote.credit_used} sat",
        "amount_due": f"{quote.amount_due} sat",
        "rate": f"{quote.rate_bps / 100:g} % for the whole lease",
    }
