"""`leyden wallet rebalance`: move balance between two channels, by paying oneself."""

import base64
from typing import Any, Final

import click

from leyden.base.cli.exit_codes import TookTooLong
from leyden.base.cli.output import print_fields, print_json
from leyden.client import payments
from leyden.client.payments import MSAT, PaymentState
from leyden.customer.completion import node_argument
from leyden.customer.session import ApiSession
from leyden.customer.wallet.channel_changes import open_channel
from leyden.customer.wallet.reaching import OwnerKeys, money_options, open_for
from leyden.customer.wallet.send import outcome, outpoint
from leyden.errors import Conflict, NodeRefused

_METHODS: Final = (
    "lnrpc.Lightning/ListChannels",
    "lnrpc.Lightning/AddInvoice",
    "routerrpc.Router/SendPaymentV2",
    "routerrpc.Router/TrackPaymentV2",
)
_MARGIN_S: Final = 60  # for which the invoice outlasts the payment
_UNKNOWN: Final = (
    "whether it was moved is not known yet: it arrives or comes back by itself, and "
    "costs the fee limit at most. To look: leyden wallet payments --kind payment"
)


@click.command()
@node_argument
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.argument("sats", type=click.IntRange(1))
@click.option(
    "--fee-limit",
    type=click.IntRange(0),
    required=True,
    help="Most that routing may cost, in sat.",
)
@click.option(
    "--timeout",
    type=click.IntRange(1, 3_600),
    default=60,
    show_default=True,
    help="Seconds in which lnd tries routes.",
)
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
@money_options
def rebalance(
    session: ApiSession,
    node: str,
    source: str,
    target: str,
    sats: int,
    *,
    fee_limit: int,
    timeout: int,
    yes: bool,
    keys: OwnerKeys,
    as_json: bool,
) -> None:
    """Move SATS of local balance from channel FROM to channel TO.

    The node pays an invoice of its own: out through FROM, and back through TO or
    another channel with the same peer. Only the fee leaves the node.

    \b
    leyden wallet rebalance pier TXID:0 TXID:1 50000 --fee-limit 25
    """
    for each in (source, target):
        outpoint(each)
    found = session.node(node)
    with open_for(session, found, keys, _METHODS) as lnd:
        leaves, comes = open_channel(lnd, source), open_channel(lnd, target)
        _check(leaves, comes, sats)
        if not yes:
            question = f"Move {sats:,} sat, for at most {fee_limit:,} sat of fees?"
            click.confirm(question, abort=True, err=True)
        made = lnd.post(
            "/v1/invoices",
            {
                "value": str(sats),
                "memo": "leyden wallet rebalance",
                "expiry": str(timeout + _MARGIN_S),
            },
        )
        updates = payments.pay(
            lnd,
            str(made["payment_request"]),
            fee_limit_msat=fee_limit * MSAT,
            timeout_s=timeout,
            channels=[str(leaves["chan_id"])],
            last_hop=str(comes["remote_pubkey"]),
            to_itself=True,
        )
        payment_hash = base64.b64decode(made["r_hash"]).hex()
        try:
            payment = outcome(lnd, updates, payment_hash, unknown=_UNKNOWN)
        except NodeRefused as error:
            refused = f"{error.message}; nothing was moved"
            raise NodeRefused(refused, code=error.code) from None
    if payment is None or payment.state is PaymentState.IN_FLIGHT:
        raise TookTooLong(_UNKNOWN)
    if payment.state is PaymentState.FAILED:
        raise Conflict(f"nothing was moved, and no fee paid: {payment.reason}")
    shown = {
        "from": source,
        "to": target,
        "sats": payment.sats,
        "fee_sats": payment.fee_msat / MSAT,
        "payment_hash": payment.payment_hash,
    }
    if as_json:
        print_json({"node_id": found.node_id, **shown})
    else:
        print_fields(shown)


def _check(leaves: dict[str, Any], comes: dict[str, Any], sats: int) -> None:
    if leaves["remote_pubkey"] == comes["remote_pubkey"]:
        raise Conflict(
            "FROM and TO are channels with the same peer; choose one with another"
        )
    for name, channel, balance in (
        ("FROM", leaves, int(leaves["local_balance"])),
        ("TO", comes, int(comes["remote_balance"])),
    ):
        if not channel.get("active"):
            raise Conflict(
                f"{name}: its peer is not connected; try again once `leyden wallet "
                "peers` lists it"
            )
        if balance < sats:
            raise Conflict(f"{name}: has {balance:,} sat to move, not {sats:,}")
