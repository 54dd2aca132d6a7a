"""`leyden wallet open`, `close` and `fees`: a node's channels."""

import base64
import contextlib
import secrets
from typing import Any, Final

import click

from leyden.base.cli.exit_codes import TookTooLong
from leyden.base.cli.output import plain, print_fields, print_json, print_rows
from leyden.client import Lnd
from leyden.customer.completion import node_argument
from leyden.customer.session import ApiSession
from leyden.customer.wallet.peers import CONNECT, key_and_host, reach
from leyden.customer.wallet.reaching import OwnerKeys, money_options, open_for
from leyden.customer.wallet.send import outpoint
from leyden.errors import Conflict, Malformed, NodeAway, NodeRefused

_OPEN: Final = (
    CONNECT,
    "lnrpc.Lightning/OpenChannelSync",
    "lnrpc.Lightning/PendingChannels",
    "lnrpc.Lightning/ListChannels",
)
_CLOSE: Final = ("lnrpc.Lightning/ListChannels", "lnrpc.Lightning/CloseChannel")
_FEES: Final = (
    "lnrpc.Lightning/FeeReport",
    "lnrpc.Lightning/GetInfo",
    "lnrpc.Lightning/GetChanInfo",
    "lnrpc.Lightning/UpdateChannelPolicy",
)
_BLOCKS_A_DAY: Final = 144
_OPENS_S: Final = 90.0


@click.command("open")
@node_argument
@click.argument("peer")
@click.argument("sats", type=click.IntRange(20_000))
@click.option("--announce/--private", default=True, help="Default: announce.")
@click.option(
    "--sat-per-vbyte", type=click.IntRange(1), help="Fee rate of the transaction."
)
@click.option("--zero-conf", is_flag=True, help="Usable at once, if PEER accepts it.")
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
@money_options
def open_(
    session: ApiSession,
    node: str,
    peer: str,
    sats: int,
    *,
    announce: bool,
    sat_per_vbyte: int | None,
    zero_conf: bool,
    yes: bool,
    keys: OwnerKeys,
    as_json: bool,
) -> None:
    """Open a channel of SATS to PEER, with this node's own coins.

    PEER is PUBLIC-KEY@HOST:PORT, or PUBLIC-KEY if the node is connected to it. To buy a
    channel that receives: leyden channels order.

    \b
    leyden wallet open pier 0279be667ef9...@node.example.org:9735 1000000
    """
    key, host = key_and_host(peer)
    found = session.node(node)
    if not yes:
        kind = "announced" if announce else "private"
        question = f"Open a {kind} channel of {sats:,} sat to {key[:16]}…?"
        click.confirm(question, abort=True, err=True)
    label = f"leyden wallet open {secrets.token_hex(8)}"
    wish: dict[str, object] = {
        "node_pubkey": base64.b64encode(bytes.fromhex(key)).decode(),
        "local_funding_amount": str(sats),
        "private": not announce,
        "memo": label,
        "zero_conf": zero_conf,
    }
    if zero_conf:
        wish |= {"commitment_type": "ANCHORS", "scid_alias": not announce}
    if sat_per_vbyte:
        wish["sat_per_vbyte"] = str(sat_per_vbyte)
    with open_for(session, found, keys, _OPEN) as lnd:
        if host:
            reach(lnd, key, host)
        point = _opened(lnd, wish, label)
    shown = {"channel_point": point, "peer": key, "capacity": sats}
    if as_json:
        print_json({"node_id": found.node_id, **shown})
    else:
        print_fields(shown)
        print(f"usable once confirmed: leyden wallet channels {found.node_name!r}")


def _opened(lnd: Lnd, wish: dict[str, object], label: str) -> str:
    """Open a channel; return its point, even if lnd's answer is lost."""
    try:
        made = lnd.post("/v1/channels", wish, timeout_s=_OPENS_S)
    except NodeAway as error:
        with contextlib.suppress(NodeAway, NodeRefused):
            pending = lnd.get("/v1/channels/pending").get("pending_open_channels", ())
            for each in pending:
                if each["channel"].get("memo") == label:
                    return str(each["channel"]["channel_point"])
        raise TookTooLong(
            f"{error.message}; whether the channel is opening is unknown. Look before "
            "you repeat it: leyden wallet channels"
        ) from None
    txid = made.get("funding_txid_str") or (
        base64.b64decode(made["funding_txid_bytes"])[::-1].hex()
    )
    return f"{txid}:{made.get('output_index', 0)}"


@click.command()
@node_argument
@click.argument("channel")
@click.option("--force", is_flag=True, help="Close without the peer, who is away.")
@click.option(
    "--sat-per-vbyte", type=click.IntRange(1), help="Fee rate of the transaction."
)
@click.option("--to", "address", default="", help="Address for your balance.")
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
@money_options
def close(
    session: ApiSession,
    node: str,
    channel: str,
    *,
    force: bool,
    sat_per_vbyte: int | None,
    address: str,
    yes: bool,
    keys: OwnerKeys,
    as_json: bool,
) -> None:
    """Close CHANNEL (its point, as in `leyden wallet channels`).

    Says first what it costs, and asks. With --force, your balance comes back only after
    a delay, and the fee rate is what the channel agreed on.

    \b
    leyden wallet close pier TXID:0
    """
    point = outpoint(channel)
    if force and (sat_per_vbyte or address):
        raise Malformed("--force: can't be used with --sat-per-vbyte or --to")
    if address and not (address.isascii() and address.isalnum()):
        raise Malformed("--to: not an address")
    found = session.node(node)
    with open_for(session, found, keys, _CLOSE) as lnd:
        at = open_channel(lnd, channel)
        for line in _costs(at, is_forced=force):
            click.echo(line, err=True)
        if not yes:
            click.confirm("Close this channel?", abort=True, err=True)
        query = [f"force={str(force).lower()}"]
        if sat_per_vbyte:
            query.append(f"sat_per_vbyte={sat_per_vbyte}")
        if address:
            query.append(f"delivery_address={address}")
        path = f"/v1/channels/{point['txid_str']}/{point['output_index']}"
        txid = _closing(lnd, f"{path}?{'&'.join(query)}")
    shown = {"channel_point": channel, "closing_txid": txid, "forced": force}
    if as_json:
        print_json({"node_id": found.node_id, **shown})
    else:
        print_fields(shown)


def open_channel(lnd: Lnd, point: str) -> dict[str, Any]:
    """Return lnd's channel of this point; raise Conflict without one that is open."""
    for each in lnd.get("/v1/channels").get("channels", ()):
        if each["channel_point"] == point:
            return dict(each)
    raise Conflict(f"{plain(point)} is not an open channel of this node")


def _costs(channel: dict[str, Any], *, is_forced: bool) -> list[str]:
    """Return what closing a channel costs, and how long it takes."""
    balance = f"your balance: {int(channel['local_balance']):,} sat"
    inbound = int(channel["remote_balance"])
    lines = [f"you lose {inbound:,} sat of inbound capacity"] if inbound else []
    payer = "you pay" if channel.get("initiator") else "the peer pays"
    fee = int(channel.get("commit_fee", 0))
    if is_forced:
        delay = int(channel["local_constraints"]["csv_delay"])
        days = delay / _BLOCKS_A_DAY
        lines += [
            f"{balance}, back {delay:,} blocks ({days:,.1f} days) after it confirms",
            f"{payer} about {fee:,} sat for it, and you pay for a second transaction",
        ]
    else:
        lines += [
            f"{balance}, back once the transaction confirms",
            f"{payer} its fee, at the fee rate that both sides agree on",
        ]
        if not channel.get("active"):
            raise Conflict(
                "the peer is not connected; wait for it, or close with --force"
            )
    if waiting := channel.get("pending_htlcs"):
        lines.append(f"{len(waiting)} payments in it end first, which takes longer")
    return lines


def _closing(lnd: Lnd, path: str) -> str:
    """Start to close a channel; return the transaction."""
    why = "the node did not answer"
    try:
        for update in lnd.stream("DELETE", path, timeout_s=_OPENS_S):
            if pending := update.get("close_pending"):
                return base64.b64decode(pending["txid"])[::-1].hex()
    except NodeAway as error:
        why = error.message
    raise TookTooLong(
        f"{why}; whether the channel is closing is unknown. Your balance in it is safe "
        "either way. Look before you repeat it: leyden wallet channels"
    )


@click.command()
@node_argument
@click.argument("channel", required=False)
@click.option("--all", "everywhere", is_flag=True, help="Of all channels.")
@click.option("--base-fee-msat", type=click.IntRange(0), help="Fee for each payment.")
@click.option("--fee-rate-ppm", type=click.IntRange(0, 1_000_000), help="Fee rate.")
@click.option(
    "--time-lock-delta",
    type=click.IntRange(18, 2_016),
    help="Blocks between incoming and outgoing payment. Default: as it is.",
)
@money_options
def fees(
    session: ApiSession,
    node: str,
    channel: str | None,
    *,
    everywhere: bool,
    base_fee_msat: int | None,
    fee_rate_ppm: int | None,
    time_lock_delta: int | None,
    keys: OwnerKeys,
    as_json: bool,
) -> None:
    """List what this node charges for forwarding, or set it for CHANNEL or --all.

    \b
    leyden wallet fees pier
    leyden wallet fees pier TXID:0 --base-fee-msat 0 --fee-rate-ppm 250
    leyden wallet fees pier --all --base-fee-msat 1000 --fee-rate-ppm 1
    """
    given = (base_fee_msat, fee_rate_ppm)
    changes = given != (None, None)
    if changes and (None in given or (channel is None) is not everywhere):
        raise Malformed(
            "CHANNEL, --all: to set fees, give one of them, and both --base-fee-msat "
            "and --fee-rate-ppm"
        )
    if not changes and everywhere:
        raise Malformed("--all: needs --base-fee-msat and --fee-rate-ppm")
    if channel:
        outpoint(channel)  # a bad one is refused before the node is asked
    found = session.node(node)
    with open_for(session, found, keys, _FEES) as lnd:
        report, priced = _priced(lnd, channel)
        if changes:
            wish = {"base_fee_msat": str(base_fee_msat), "fee_rate_ppm": fee_rate_ppm}
            _set_fees(lnd, priced, wish, time_lock_delta)
            report, priced = _priced(lnd, channel)
    rows = [
        {
            "channel_point": each["channel_point"],
            "base_fee_msat": int(each["base_fee_msat"]),
            "fee_rate_ppm": int(each["fee_per_mil"]),
        }
        for each in priced
    ]
    sums = {
        f"earned_{span}_sats": int(report.get(f"{span}_fee_sum", 0))
        for span in ("day", "week", "month")
    }
    if as_json:
        print_json({"node_id": found.node_id, **sums, "channels": rows})
    else:
        print_fields(sums)
        print()
        print_rows(rows, empty="no channels yet")


def _priced(lnd: Lnd, channel: str | None) -> tuple[dict[str, Any], list[Any]]:
    """Return lnd's report of fees, and what it says of this channel, or of each."""
    report = lnd.get("/v1/fees")
    priced = [
        each
        for each in report.get("channel_fees", ())
        if channel in {None, each["channel_point"]}
    ]
    if channel and not priced:
        raise Conflict(f"{plain(channel)} is not an open channel of this node")
    return report, priced


def _set_fees(
    lnd: Lnd, priced: list[Any], wish: dict[str, Any], time_lock_delta: int | None
) -> None:
    """Set the fees of these channels; a time lock that is not given stays."""
    key = "" if time_lock_delta else str(lnd.get("/v1/getinfo")["identity_pubkey"])
    policies = [
        {
            **wish,
            "chan_point": _funding(outpoint(each["channel_point"])),
            # lnd has no update of fees alone.
            "time_lock_delta": time_lock_delta or _time_lock(lnd, each["chan_id"], key),
        }
        for each in priced
    ]
    answers = [lnd.post("/v1/chanpolicy", each) for each in policies]
    failed = [why for each in answers for why in each.get("failed_updates", ())]
    if failed:
        why = failed[0].get("update_error") or failed[0].get("reason")
        raise Conflict(f"not every channel has the new fees: {why}")


def _time_lock(lnd: Lnd, channel_id: str, key: str) -> int:
    """Return the time lock delta that this node has in a channel."""
    edge = lnd.get(f"/v1/graph/edge/{channel_id}")
    own = "node1_policy" if edge["node1_pub"] == key else "node2_policy"
    return int(edge[own]["time_lock_delta"])


def _funding(point: dict[str, object]) -> dict[str, object]:
    return {
        "funding_txid_str": point["txid_str"],
        "output_index": point["output_index"],
    }
