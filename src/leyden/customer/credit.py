"""`leyden credit`: your credit, its transactions, and coupons."""

import csv
import sys
from collections.abc import Iterable
from itertools import islice

import click
import msgspec

from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.output import as_json, print_json, print_one, print_rows
from leyden.customer.session import ApiSession, with_session
from leyden.schemas.credit import LedgerEntry

# A spreadsheet takes what begins with these for a formula.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


@click.group(cls=LazyGroup)
def credit() -> None:
    """Show your credit and its transactions, and redeem coupons."""


@credit.command()
@as_json
@with_session
def coupons(session: ApiSession, *, as_json: bool) -> None:
    """List your organization's coupons, used and unused.

    \b
    leyden credit coupons
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
        empty="no coupons; ask the platform's operator for one",
    )


@credit.command()
@click.argument("coupon")
@as_json
@with_session
def redeem(session: ApiSession, coupon: str, *, as_json: bool) -> None:
    """Redeem a coupon for credit.

    \b
    leyden credit redeem COUPON
    """
    done = session.client.flow.redeem(coupon)
    if as_json:
        print_json(done)
    else:
        print(f"{done.coupon_amount:,} sat; your credit is now {done.credit:,} sat")


@credit.command()
@as_json
@with_session
def show(session: ApiSession, *, as_json: bool) -> None:
    """Print your credit and your balance, which is credit minus the amount owed.

    \b
    leyden credit show
    """
    found = session.client.flow.balance()
    print_one(found, as_json=as_json)


@credit.command("list")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, 10_000_000),
    help="Maximum number to list. Default: all.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@as_json
@with_session
def list_(
    session: ApiSession, *, limit: int | None, as_csv: bool, as_json: bool
) -> None:
    """List ledger entries, newest first.

    \b
    leyden credit list --csv > ledger.csv
    """
    entries = islice(session.client.flow.ledger(), limit)
    if as_csv:
        _write_csv(entries)
    elif as_json:
        print_json({"entries": list(entries)})
    else:
        print_rows(
            map(msgspec.structs.asdict, entries),
            empty="no ledger entries yet",
            spare=("note", "order_id", "id"),
        )


def _write_csv(entries: Iterable[LedgerEntry]) -> None:
    """Print entries as CSV, newest first; a note is never a formula."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(LedgerEntry.__struct_fields__)
    for entry in entries:
        writer.writerow(map(_cell, msgspec.structs.astuple(entry)))


def _cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULAS):
        return f"'{value}"
    return value
