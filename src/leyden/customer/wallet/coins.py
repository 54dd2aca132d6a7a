"""`leyden wallet coins`: what a node has on-chain, coin by coin."""

from typing import Final

import click

from leyden.base.cli.output import print_json, print_rows
from leyden.customer.completion import node_argument
from leyden.customer.session import ApiSession
from leyden.customer.wallet.reaching import OwnerKeys, money_options, open_for

_METHODS: Final = ("lnrpc.Lightning/ListUnspent",)
_ALL: Final = "/v1/utxos?min_confs=0&max_confs=9999999"


@click.command()
@node_argument
@money_options
def coins(
    session: ApiSession,
    node: str,
    *,
    keys: OwnerKeys,
    as_json: bool,
) -> None:
    """List the coins that this node can spend on-chain, the largest first.

    To spend only some of them: leyden wallet send --coin TXID:OUTPUT.

    \b
    leyden wallet coins pier
    """
    found = session.node(node)
    with open_for(session, found, keys, _METHODS) as lnd:
        rows = [
            {
                "coin": f"{each['outpoint']['txid_str']}:"
                f"{each['outpoint'].get('output_index', 0)}",
                "sats": int(each["amount_sat"]),
                "confirmations": int(each.get("confirmations", 0)),
                "address": each["address"],
            }
            for each in lnd.get(_ALL).get("utxos", ())
        ]
    rows.sort(key=lambda row: int(str(row["sats"])), reverse=True)
    if as_json:
        print_json({"node_id": found.node_id, "coins": rows})
    else:
        empty = f"no coins; for an address: leyden wallet receive {node!r} --on-chain"
        print_rows(rows, empty=empty, spare=("address",))
