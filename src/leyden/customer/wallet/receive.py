"""`leyden wallet receive`: an invoice or an address, to be paid."""

import base64
import contextlib
import sys
import time
from typing import Any, Final

import click
import segno

from leyden.base.cli.exit_codes import TookTooLong
from leyden.base.cli.output import print_fields, print_json, print_line
from leyden.client import Lnd
from leyden.customer.completion import node_argument
from leyden.customer.session import ApiSession
from leyden.customer.wallet import just_in_time as jit
from leyden.customer.wallet.reaching import OwnerKeys, money_options, open_for
from leyden.errors import Malformed

_METHODS: Final = (
    "lnrpc.Lightning/AddInvoice",
    "lnrpc.Lightning/DecodePayReq",
    "lnrpc.Lightning/LookupInvoice",
    "lnrpc.Lightning/ListChannels",
    "lnrpc.Lightning/NewAddress",
)
_COIN: Final = 100_000_000
_AGAIN_S: Final = 1.0
_OVER: Final = frozenset({"SETTLED", "CANCELED"})


@click.command()
@node_argument
@click.argument("sats", type=click.IntRange(1), required=False)
@click.option("--memo", default="", help="What it is for; the payer sees it.")
@click.option(
    "--expiry",
    type=click.IntRange(1, 31_536_000),
    default=86_400,
    show_default=True,
    help="Seconds until the invoice expires.",
)
@click.option(
    "--hints/--no-hints",
    default=None,
    help="Name private channels in the invoice. Default: if no channel is announced.",
)
@click.option("--on-chain", is_flag=True, help="Only an on-chain address (taproot).")
@click.option("--both", is_flag=True, help="Invoice and address, as a BIP 21 URI.")
@click.option(
    "--just-in-time",
    is_flag=True,
    help="Buy a channel with this payment. Waits until it is paid.",
)
@click.option("--wait", is_flag=True, help="Wait until the invoice is paid.")
@money_options
def receive(
    session: ApiSession,
    node: str,
    sats: int | None,
    *,
    memo: str,
    expiry: int,
    hints: bool | None,
    on_chain: bool,
    both: bool,
    just_in_time: bool,
    wait: bool,
    keys: OwnerKeys,
    as_json: bool,
) -> None:
    """Create an invoice for SATS, or an on-chain address.

    Without SATS, the payer chooses the amount. With --wait, --json prints two lines:
    the invoice at once, and the same with what was paid.

    \b
    leyden wallet receive pier 5000 --memo "two coffees" --wait
    leyden wallet receive pier 5000 --both
    leyden wallet receive pier 100000 --just-in-time
    leyden wallet receive pier --on-chain
    """
    if on_chain and (both or wait):
        raise Malformed("--on-chain: can't be used with --both or --wait")
    alone = not (on_chain or both or hints is not None)
    more = jit.methods(sats, alone=alone) if just_in_time else ()
    found = session.node(node)
    shown: dict[str, Any] = {"node_id": found.node_id, "sats": sats}
    opened = open_for(session, found, keys, (*_METHODS, *more))
    with opened as lnd, contextlib.ExitStack() as stack:
        if just_in_time and sats:
            bought = jit.bought(session, found, lnd, sats, memo=memo, expiry=expiry)
            shown |= stack.enter_context(bought)
            expiry, wait = shown["expires_in_s"] + jit.LATE_S, True
        elif not on_chain:
            shown |= _invoice(lnd, sats, memo=memo, expiry=expiry, hints=hints)
        if on_chain or both:
            answer = lnd.get("/v1/newaddress?type=TAPROOT_PUBKEY")
            shown |= _on_chain(str(answer["address"]), sats, shown.get("invoice", ""))
        if as_json and wait:
            print_line(shown)  # while there is time to pay it
        elif not as_json:
            code = shown.get("uri") or f"lightning:{shown['invoice']}".upper()
            segno.make(code, error="l").terminal(sys.stderr, compact=True)
            print_fields(shown)
            sys.stdout.flush()  # whoever reads a pipe waits for the invoice
        if wait:
            shown |= _until_paid(lnd, shown["payment_hash"], expiry)
    if as_json:
        (print_line if wait else print_json)(shown)
    elif wait:
        print(f"paid: {shown['paid_sats']:,} sat")


def _invoice(
    lnd: Lnd, sats: int | None, *, memo: str, expiry: int, hints: bool | None
) -> dict[str, Any]:
    channels = lnd.get("/v1/channels").get("channels", ())
    active = [each for each in channels if each.get("active")]
    if hints is None:
        hints = all(each.get("private") for each in active)
    inbound = sum(int(each["remote_balance"]) for each in active)
    wish = {"memo": memo, "expiry": str(expiry), "private": hints}
    made = lnd.post("/v1/invoices", {**wish, **({"value": str(sats)} if sats else {})})
    invoice = str(made["payment_request"])
    decoded = lnd.get(f"/v1/payreq/{invoice}")
    if not active:
        _warn("this node has no active channel: nobody can pay this invoice yet")
    elif sats and sats > inbound:
        _warn(f"this node can receive at most {inbound:,} sat now")
    elif hints and not decoded.get("route_hints"):
        _warn(
            "payers can't find this node: its peers are not connected, or have no "
            "announced channel that it knows"
        )
    return {
        "memo": memo,
        "invoice": invoice,
        "payment_hash": base64.b64decode(made["r_hash"]).hex(),
        "expires_in_s": expiry,
        "route_hints": len(decoded.get("route_hints", ())),
    }


def _on_chain(address: str, sats: int | None, invoice: str) -> dict[str, Any]:
    query = [f"amount={sats // _COIN}.{sats % _COIN:08d}"] if sats else []
    if invoice:
        query.append(f"lightning={invoice}")
    uri = f"bitcoin:{address}" + (f"?{'&'.join(query)}" if query else "")
    return {"address": address, "uri": uri}


def _until_paid(lnd: Lnd, payment_hash: str, expiry: int) -> dict[str, Any]:
    deadline = time.monotonic() + expiry
    while True:
        found = lnd.get(f"/v1/invoice/{payment_hash}")
        if found["state"] == "SETTLED":
            return {"paid_sats": int(found["amt_paid_sat"])}
        if found["state"] in _OVER or time.monotonic() > deadline:
            raise TookTooLong("the invoice expired unpaid")
        time.sleep(_AGAIN_S)


def _warn(line: str) -> None:
    click.echo(f"warning: {line}", err=True)
