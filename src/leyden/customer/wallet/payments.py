"""`leyden wallet payments`: what came and went, in one list."""

import csv
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import click

from leyden.base.cli.output import limit_option, print_json, print_rows
from leyden.base.rules.times import utc_now
from leyden.client import Lnd
from leyden.client.payments import MSAT, failure
from leyden.customer.completion import node_argument
from leyden.customer.session import ApiSession
from leyden.customer.wallet.reaching import OwnerKeys, money_options, open_for

_METHODS: Final = (
    "lnrpc.Lightning/ListInvoices",
    "lnrpc.Lightning/ListPayments",
    "lnrpc.Lightning/GetTransactions",
    "lnrpc.Lightning/ForwardingHistory",
)
_AT_A_TIME: Final = 1_000
_NS: Final = 1_000_000_000
_COLUMNS: Final = ("at", "kind", "state", "sats", "fee_sats", "memo", "id")
_Row = dict[str, Any]


def _invoices(lnd: Lnd, since: int) -> Iterator[_Row]:
    path = f"/v1/invoices?creation_date_start={since}"
    for each in _pages(lnd, path, "invoices", "num_max_invoices"):
        is_paid = each["state"] == "SETTLED"
        yield _row(
            at=int(each["settle_date"] if is_paid else each["creation_date"]),
            kind="invoice",
            state="received" if is_paid else str(each["state"]).lower(),
            sats=int(each["amt_paid_sat"]) if is_paid else int(each["value"]),
            memo=str(each["memo"]),
            identity=str(each["payment_request"]),
        )


def _payments(lnd: Lnd, since: int) -> Iterator[_Row]:
    path = f"/v1/payments?include_incomplete=true&creation_date_start={since}"
    for each in _pages(lnd, path, "payments", "max_payments"):
        state = str(each["status"]).lower().replace("_", " ")
        is_failed = state == "failed"
        yield _row(
            at=int(each["creation_time_ns"]) // _NS,
            kind="payment",
            state={"succeeded": "sent", "initiated": "in flight"}.get(state, state),
            sats=-int(each["value_sat"]),
            fee=0.0 if is_failed else int(each["fee_msat"]) / MSAT,
            memo=failure(each.get("failure_reason", "")) if is_failed else "",
            identity=str(each["payment_hash"]),
        )


def _on_chain(lnd: Lnd, since: int) -> Iterator[_Row]:
    for each in lnd.get("/v1/transactions").get("transactions", ()):
        if int(each["time_stamp"]) < since:
            continue
        fee, sats = int(each["total_fees"]), int(each["amount"])
        confirmations = int(each["num_confirmations"])
        yield _row(
            at=int(each["time_stamp"]),
            kind="on-chain",
            state="confirmed" if confirmations else "unconfirmed",
            sats=sats + fee if sats < 0 else sats,
            fee=float(fee),
            memo=str(each.get("label", "")),
            identity=str(each["tx_hash"]),
        )


def _forwards(lnd: Lnd, since: int) -> Iterator[_Row]:
    offset = 0
    while True:
        wish = {
            "start_time": str(since),
            "end_time": str(int(utc_now().timestamp()) + 1),
            "index_offset": offset,
            "num_max_events": _AT_A_TIME,
        }
        answer = lnd.post("/v1/switch", wish)
        events = answer.get("forwarding_events", ())
        for each in events:
            yield _row(
                at=int(each["timestamp_ns"]) // _NS,
                kind="forward",
                state="earned",
                sats=int(each["amt_out"]),
                fee=-int(each["fee_msat"]) / MSAT,
                identity=f"{each['chan_id_in']} > {each['chan_id_out']}",
            )
        if len(events) < _AT_A_TIME:
            return
        offset = int(answer["last_offset_index"])


_KINDS: Final[dict[str, Callable[[Lnd, int], Iterator[_Row]]]] = {
    "invoice": _invoices,
    "payment": _payments,
    "on-chain": _on_chain,
    "forward": _forwards,
}


@click.command()
@node_argument
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice([*_KINDS]),
    help="Only these; repeatable.",
)
@click.option("--state", default="", help='Only this state, such as "in flight".')
@click.option(
    "--days",
    type=click.IntRange(1, 36_500),
    default=30,
    show_default=True,
    help="Look back so many days.",
)
@limit_option(50, 1_000_000)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, with fees.")
@money_options
def payments(
    session: ApiSession,
    node: str,
    *,
    kinds: tuple[str, ...],
    state: str,
    days: int,
    limit: int,
    as_csv: bool,
    keys: OwnerKeys,
    as_json: bool,
) -> None:
    """List invoices, payments, on-chain transactions and forwards, newest first.

    What left this node is negative. A forward's fee is negative: you earned it.

    \b
    leyden wallet payments pier --kind payment --state "in flight"
    leyden wallet payments pier --days 365 --limit 100000 --csv > 2026.csv
    """
    found = session.node(node)
    since = int((utc_now() - timedelta(days=days)).timestamp())
    with open_for(session, found, keys, _METHODS) as lnd:
        rows = [
            row
            for kind in kinds or _KINDS
            for row in _KINDS[kind](lnd, since)
            if not state or row["state"] == state
        ]
    rows.sort(key=lambda row: str(row["at"]), reverse=True)
    rows = rows[:limit]
    if as_json:
        print_json({"node_id": found.node_id, "payments": rows})
    elif as_csv:
        writer = csv.DictWriter(sys.stdout, _COLUMNS)
        writer.writeheader()
        writer.writerows({name: _cell(row[name]) for name in _COLUMNS} for row in rows)
    else:
        print_rows(rows, empty="nothing yet", spare=("id", "memo"))


def _pages(lnd: Lnd, path: str, name: str, limit: str) -> Iterator[_Row]:
    """Yield rows of a list, newest page first."""
    offset = 0
    while True:
        answer = lnd.get(
            f"{path}&reversed=true&{limit}={_AT_A_TIME}&index_offset={offset}"
        )
        rows = answer.get(name, ())
        yield from rows
        offset = int(answer.get("first_index_offset", 0))
        if len(rows) < _AT_A_TIME or offset <= 1:
            return


def _row(
    *,
    at: int,
    kind: str,
    state: str,
    sats: int,
    identity: str,
    fee: float = 0.0,
    memo: str = "",
) -> _Row:
    return {
        "at": datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "kind": kind,
        "state": state,
        "sats": sats,
        "fee_sats": fee,
        "memo": memo,
        "id": identity,
    }


def _cell(value: object) -> object:
    """Return a cell that no spreadsheet takes for a formula: memos are strangers'."""
    is_formula = isinstance(value, str) and value[:1] in {"=", "+", "-", "@", "\t"}
    return f"'{value}" if is_formula else value
