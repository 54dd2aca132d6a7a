"""The money for channels: coupons, credit, and where all of it went."""

from itertools import islice

import click
import msgspec

from leyden.cli.customer import statements
from leyden.cli.customer.session import Session, speaking
from leyden.cli.output import as_json, print_fields, print_json, print_rows


@click.command()
@as_json
@speaking
def coupons(session: Session, *, as_json: bool) -> None:
    """List the coupons of your organization, used and unused.

    \b
    leyden flow coupons
    """
    found = session.client.flow.coupons()
    if as_json:
        print_json({"coupons": found})
        return
    print_rows(
        (
            {"coupon": each.order_id, "amount": each.amount, "claimed": each.claimed}
            for each in found
        ),
        empty="none; whoever runs the platform issues them",
    )


@click.command()
@click.argument("coupon")
@as_json
@speaking
def redeem(session: Session, coupon: str, *, as_json: bool) -> None:
    """Turn a coupon into credit.

    \b
    leyden flow redeem COUPON
    """
    done = session.client.flow.redeem(coupon)
    if as_json:
        print_json(done)
    else:
        print(f"{done.coupon_amount} sat; your credit is {done.credit} sat now")


@click.command()
@as_json
@speaking
def balance(session: Session, *, as_json: bool) -> None:
    """Show what may be spent, and the same less what is owed.

    \b
    leyden flow balance
    """
    found = session.client.flow.balance()
    if as_json:
        print_json(found)
    else:
        print_fields(msgspec.structs.asdict(found))


@click.command()
@click.option("-n", "most", type=click.IntRange(1, 10_000_000), help="Only the newest.")
@click.option("--csv", "as_csv", is_flag=True, help="Print rows for a spreadsheet.")
@as_json
@speaking
def ledger(session: Session, *, most: int | None, as_csv: bool, as_json: bool) -> None:
    """List every movement of your money, newest first.

    \b
    leyden flow ledger --csv > ledger.csv
    """
    entries = islice(session.client.flow.ledger(), most)
    if as_csv:
        statements.write_csv(entries)
    elif as_json:
        print_json({"entries": list(entries)})
    else:
        print_rows(
            map(statements.row, entries),
            empty="no money has moved yet",
            spare=("note", "order_id", "id"),
        )
