"""`leyden wallet send` and `bump`: pay an invoice or an address, at most once.

1. Read what is to be paid: an invoice, an address, a BIP 21 URI, or a lightning address
   or LNURL, whose invoice this machine fetches.
2. The node decodes it. What is expired, too large, or of another network is refused.
3. The node says whether it is paid, or on its way, by the payment hash.
4. Whoever pays sees it and confirms.
5. It is paid. If the end is unknown, the node is asked how the payment stands.
"""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import parse_qs, quote

import click

from leyden.base.cli.exit_codes import TookTooLong
from leyden.base.cli.output import local_time, plain, print_fields, print_json
from leyden.base.rules.times import utc_now
from leyden.channels.direct.rules.fundings import CHILD_VBYTES
from leyden.client import Lnd, lnurl, payments
from leyden.client.payments import MSAT, DecodedInvoice, Payment, PaymentState
from leyden.customer.completion import node_argument
from leyden.customer.session import ApiSession
from leyden.customer.wallet.reaching import OwnerKeys, money_options, open_for
from leyden.errors import Conflict, LeydenError, Malformed, NodeAway, NodeRefused
from leyden.schemas.nodes import NodeItem
from leyden.values import Struct

_METHODS: Final = (
    "lnrpc.Lightning/DecodePayReq",
    "lnrpc.Lightning/ChannelBalance",
    "lnrpc.Lightning/ListChannels",
    "lnrpc.Lightning/EstimateFee",
    "lnrpc.Lightning/SendCoins",
    "lnrpc.Lightning/GetTransactions",
    "routerrpc.Router/SendPaymentV2",
    "routerrpc.Router/TrackPaymentV2",
)
_BUMP_METHODS: Final = (
    "lnrpc.Lightning/GetTransactions",
    "walletrpc.WalletKit/BumpFee",
)
_COIN: Final = 100_000_000
_SMALL_SATS: Final = 1_000  # up to it, the fee may be as large as the payment: lncli's
_FEE_DIVISOR: Final = 20  # above it, 5% of the payment
_TARGET_BLOCKS: Final = 6
_KEY: Final = 66  # hexadecimal digits, as below
_TXID: Final = 64


class _Lightning(Struct, frozen=True, kw_only=True):
    """What is to be paid, and how."""

    decoded: DecodedInvoice
    msat: int
    fee_limit_msat: int | None  # None: the usual
    timeout_s: int
    channels: tuple[str, ...]  # to leave through: ids or channel points
    last_hop: str

    @property
    def most_fee_msat(self) -> int:
        """The limit of the fee; lncli has the same unless another is given."""
        if self.fee_limit_msat is not None:
            return self.fee_limit_msat
        is_small = self.msat <= _SMALL_SATS * MSAT
        return self.msat if is_small else self.msat // _FEE_DIVISOR


class _Progress:
    """Whether the node was told to pay."""

    is_told = False


@click.command()
@node_argument
@click.argument("target")
@click.argument("sats", type=click.IntRange(1), required=False)
@click.option(
    "--fee-limit",
    type=click.IntRange(0),
    help="Most that routing may cost, in sat. Default: 5%, or all of 1,000 sat.",
)
@click.option(
    "--timeout",
    type=click.IntRange(1, 3_600),
    default=60,
    show_default=True,
    help="Seconds in which lnd tries routes.",
)
@click.option(
    "--outgoing-channel",
    "channels",
    multiple=True,
    metavar="CHANNEL",
    help="Channel to leave through: its id or channel point; repeatable.",
)
@click.option("--last-hop", default="", help="Public key of the last node on the way.")
@click.option("--comment", default="", help="For the receiver of a lightning address.")
@click.option(
    "--on-chain", is_flag=True, help="Pay the address of a URI, not its invoice."
)
@click.option("--all", "everything", is_flag=True, help="Send all coins on-chain.")
@click.option(
    "--sat-per-vbyte", type=click.IntRange(1), help="Fee rate of the transaction."
)
@click.option(
    "--coin",
    "coins",
    multiple=True,
    metavar="TXID:OUTPUT",
    help="Spend only this coin; repeatable.",
)
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
@money_options
def send(
    session: ApiSession,
    node: str,
    target: str,
    sats: int | None,
    *,
    fee_limit: int | None,
    timeout: int,
    channels: tuple[str, ...],
    last_hop: str,
    comment: str,
    on_chain: bool,
    everything: bool,
    sat_per_vbyte: int | None,
    coins: tuple[str, ...],
    yes: bool,
    keys: OwnerKeys,
    as_json: bool,
) -> None:
    """Pay TARGET: an invoice, an address, a BIP 21 URI, a lightning address, an LNURL.

    Shows what is paid, and asks. An invoice is never paid twice: repeat the command if
    its end is unknown.

    \b
    leyden wallet send pier lnbc50u1p...
    leyden wallet send pier alice@example.org 5000
    leyden wallet send pier bc1p... 250000 --sat-per-vbyte 3
    """
    if last_hop and (len(last_hop) != _KEY or not _is_hex(last_hop)):
        raise Malformed("--last-hop: must be a public key: 66 hexadecimal digits")
    found = session.node(node)
    with _says_if_nothing_was_sent() as progress:
        invoice, address, named = read_target(target, on_chain=on_chain)
        if named and sats and named != sats:
            raise Malformed(f"SATS: TARGET asks for {named:,} sat; leave SATS out")
        sats = sats or named
        is_fetched = not (invoice or address)
        if is_fetched:
            invoice, sats = _fetched(target, sats, comment)
        elif address and bool(sats) is everything:
            raise Malformed("SATS: say how much to send to an address, or --all")
        with open_for(session, found, keys, _METHODS) as lnd:
            if invoice:
                decoded = _decode(lnd, invoice, sats, is_fetched=is_fetched)
                wish = _Lightning(
                    decoded=decoded,
                    msat=decoded.msat or sats * MSAT,
                    fee_limit_msat=None if fee_limit is None else fee_limit * MSAT,
                    timeout_s=timeout,
                    channels=channels,
                    last_hop=last_hop,
                )
                shown = _pay(lnd, found, wish, progress, yes=yes)
            else:
                coins_ = [outpoint(each) for each in coins]
                body = _transaction(address, sats, sat_per_vbyte, coins_)
                fee = _estimate(lnd, address, sats, sat_per_vbyte)
                amount = f"{sats:,} sat" if sats else "all coins"
                _ask({"to": address, "amount": amount, "fee": fee}, yes=yes)
                shown = _send_coins(lnd, found, body, progress)
    if as_json:
        print_json({"node_id": found.node_id, **shown})
    else:
        print_fields(shown)


def read_target(target: str, *, on_chain: bool) -> tuple[str, str, int]:
    """Return the invoice, the address and the satoshis in what was pasted, if any."""
    written = target.strip()
    scheme, colon, rest = written.partition(":")
    if colon and scheme.lower() == "lightning":
        written = rest.removeprefix("//")
        scheme, colon, rest = written.partition(":")
    if colon and scheme.lower() == "bitcoin":
        address, _, query = rest.partition("?")
        named = {name.lower(): each[0] for name, each in parse_qs(query).items()}
        unknown = [name for name in named if name.startswith("req-")]
        if unknown:
            raise Malformed(f"TARGET: this URI needs {unknown[0]}, which is unknown")
        invoice = "" if on_chain else named.get("lightning", "")
        if invoice:
            return _checked(invoice), "", 0
        return "", _checked(address), _sats(named.get("amount", ""))
    if lnurl.url_of(written):
        return "", "", 0
    lower = written.lower()
    if lower.startswith("ln"):
        return _checked(lower), "", 0
    return "", _checked(written), 0


def _checked(text: str) -> str:
    if not text.isascii() or not text.isalnum():
        raise Malformed("TARGET: not an invoice, an address or a lightning address")
    return text


def _sats(amount: str) -> int:
    """Return the satoshis of a BIP 21 amount, which is in bitcoin."""
    whole, _, part = amount.partition(".")
    if not f"{whole}{part}".isdecimal():
        if amount:
            raise Malformed("TARGET: the amount of this URI is not a number")
        return 0
    if part[8:].strip("0"):
        raise Malformed("TARGET: the amount of this URI is finer than a satoshi")
    return int(whole or 0) * _COIN + int(part[:8].ljust(8, "0"))


def _fetched(target: str, sats: int, comment: str) -> tuple[str, int]:
    """Return an invoice of a lightning address or an LNURL, and what was asked for."""
    request = lnurl.ask(lnurl.url_of(target))
    if request.min_msat == request.max_msat and not sats:
        sats = request.min_msat // MSAT
    if not sats:
        raise Malformed(
            f"SATS: say how much; this address accepts from "
            f"{-(-request.min_msat // MSAT):,} to {request.max_msat // MSAT:,} sat"
        )
    return lnurl.invoice(request, msat=sats * MSAT, comment=comment), sats


def _decode(lnd: Lnd, invoice: str, sats: int, *, is_fetched: bool) -> DecodedInvoice:
    decoded = payments.decode(lnd, invoice)
    asked = f"{decoded.msat / MSAT:,.0f} sat"
    if is_fetched and decoded.msat != sats * MSAT:
        raise Conflict(
            f"the server of this address was asked for {sats:,} sat, and its invoice "
            f"is for {asked}"
        )
    if decoded.msat and sats and decoded.msat != sats * MSAT:
        raise Malformed(f"SATS: the invoice asks for {asked}; leave SATS out")
    if not decoded.msat and not sats:
        raise Malformed("SATS: this invoice names no amount; say how much to pay")
    return decoded


def _pay(
    lnd: Lnd, node: NodeItem, wish: _Lightning, progress: _Progress, *, yes: bool
) -> dict[str, Any]:
    """Pay an invoice unless it is paid, or on its way: then follow that payment."""
    decoded = wish.decoded
    before = payments.find(lnd, decoded.payment_hash)
    if before is not None and before.state is PaymentState.SUCCEEDED:
        return {**_shown(before), "paid_before": True}
    if before is not None and before.state is PaymentState.IN_FLIGHT:
        click.echo("this invoice is being paid already; waiting for its end", err=True)
        updates = payments.track(lnd, decoded.payment_hash, timeout_s=wish.timeout_s)
    else:
        _check(lnd, decoded, wish.msat)
        channels = _channel_ids(lnd, wish.channels)
        _confirm(wish, yes=yes)
        updates = payments.pay(
            lnd,
            decoded.invoice,
            msat=0 if decoded.msat else wish.msat,
            fee_limit_msat=wish.most_fee_msat,
            timeout_s=wish.timeout_s,
            channels=channels,
            last_hop=wish.last_hop,
        )
    progress.is_told = True
    try:
        last = outcome(
            lnd,
            updates,
            decoded.payment_hash,
            before=before,
            unknown="whether it is paid is unknown. Once the node responds, repeat the "
            f"command with this invoice, which is never paid twice: {decoded.invoice}",
        )
    except NodeRefused:
        progress.is_told = False
        raise
    except KeyboardInterrupt:
        click.echo("your node goes on with the payment; to look at it:", err=True)
        click.echo(_again(node, decoded), err=True)
        raise
    if last is None or last.state is PaymentState.IN_FLIGHT:
        raise TookTooLong(_hangs(node, decoded))
    if last.state is PaymentState.FAILED:
        raise Conflict(f"the payment failed: {last.reason}; you still have the money")
    return {**_shown(last), "paid_before": False}


def outcome(
    lnd: Lnd,
    updates: Iterator[Payment],
    payment_hash: str,
    *,
    before: Payment | None = None,
    unknown: str,
) -> Payment | None:
    """Return how a payment stands after its updates; ask if they are lost.

    Raise NodeRefused if it never began. That is lnd's word alone: an answer that was
    lost may have overtaken the payment, which is `unknown`. A payment that failed
    `before` says nothing of this one.
    """
    last: Payment | None = None
    try:
        for each in updates:
            last = each
    except (NodeAway, NodeRefused) as error:
        try:
            last = payments.find(lnd, payment_hash)
        except (NodeAway, NodeRefused):
            last, is_refused = None, False
        else:
            is_refused = isinstance(error, NodeRefused)
        if before is not None and before.state is PaymentState.FAILED:
            last = None if last == before else last
        if last is None and is_refused:
            raise
        if last is None:
            raise TookTooLong(f"{error.message}; {unknown}") from None
    return last


def _hangs(node: NodeItem, decoded: DecodedInvoice) -> str:
    return (
        "the payment hangs: a node on its way holds it. It arrives or comes back by "
        "itself, in the worst case after two weeks. To look again, which never pays "
        f"twice: {_again(node, decoded)}"
    )


def _again(node: NodeItem, decoded: DecodedInvoice) -> str:
    return f"leyden wallet send {node.node_name!r} {decoded.invoice}"


def _check(lnd: Lnd, decoded: DecodedInvoice, msat: int) -> None:
    if decoded.expires < utc_now():
        raise Conflict("this invoice has expired; ask for a new one")
    balance = lnd.get("/v1/balance/channels").get("local_balance", {})
    if msat > int(balance.get("msat", 0)):
        raise Conflict(
            f"this node's channels have {int(balance.get('sat', 0)):,} sat to send, "
            f"which is less than {msat / MSAT:,.0f} sat"
        )


def _confirm(wish: _Lightning, *, yes: bool) -> None:
    facts = {
        "to": wish.decoded.destination,
        "for": wish.decoded.memo or "no description",
        "amount": f"{wish.msat / MSAT:,.0f} sat",
        "fee": f"at most {wish.most_fee_msat / MSAT:,.0f} sat",
        "expires": local_time(wish.decoded.expires.isoformat()),
    }
    _ask(facts, yes=yes)


def _ask(facts: dict[str, str], *, yes: bool) -> None:
    for name, value in facts.items():
        click.echo(f"{name:<8} {plain(value)}", err=True)
    if not yes:
        click.confirm("Pay this?", abort=True, err=True)


def _channel_ids(lnd: Lnd, wanted: Sequence[str]) -> list[str]:
    """Return the ids of channels, which may be named by their points."""
    if not wanted:
        return []
    known = lnd.get("/v1/channels").get("channels", ())
    ids = {each["channel_point"]: str(each["chan_id"]) for each in known}
    ids |= {each: each for each in ids.values()}
    if unknown := [each for each in wanted if each not in ids]:
        raise Malformed(f"--outgoing-channel: {unknown[0]} is not an open channel")
    return [ids[each] for each in wanted]


def _shown(payment: Payment) -> dict[str, Any]:
    return {
        "state": str(payment.state),
        "sats": payment.sats,
        "fee_sats": payment.fee_msat / MSAT,
        "payment_hash": payment.payment_hash,
        "preimage": payment.preimage,
    }


def _transaction(
    address: str, sats: int, sat_per_vbyte: int | None, coins: Sequence[object]
) -> dict[str, object]:
    """Return what lnd is asked for; the label finds it if lnd's answer is lost."""
    return {
        "addr": address,
        "label": f"leyden wallet send {secrets.token_hex(8)}",
        **({"amount": str(sats)} if sats else {"send_all": True}),
        **(
            {"sat_per_vbyte": str(sat_per_vbyte)}
            if sat_per_vbyte
            else {"target_conf": _TARGET_BLOCKS}
        ),
        **({"outpoints": list(coins)} if coins else {}),
    }


def _estimate(lnd: Lnd, address: str, sats: int, sat_per_vbyte: int | None) -> str:
    """Return the fee in words; lnd refuses an address of another chain here."""
    if not sats:
        return f"{sat_per_vbyte or 'the usual'} sat/vB"
    to = quote(f"AddrToAmount[{address}]")
    found = lnd.get(f"/v1/transactions/fee?{to}={sats}&target_conf={_TARGET_BLOCKS}")
    fee, rate = int(found["fee_sat"]), int(found["sat_per_vbyte"])
    if sat_per_vbyte:
        fee, rate = fee * sat_per_vbyte // max(1, rate), sat_per_vbyte
    return f"about {fee:,} sat ({rate:,} sat/vB)"


def _send_coins(
    lnd: Lnd, node: NodeItem, body: dict[str, object], progress: _Progress
) -> dict[str, Any]:
    progress.is_told = True
    try:
        txid = str(lnd.post("/v1/transactions", body)["txid"])
    except (NodeAway, NodeRefused) as error:
        txid = _labelled(lnd, node, str(body["label"]), error)
        if not txid:
            progress.is_told = False
            raise
    return {"state": "sent", "sats": int(str(body.get("amount", 0))), "txid": txid}


def _labelled(lnd: Lnd, node: NodeItem, label: str, error: LeydenError) -> str:
    """Return the transaction with this label; "" if lnd refused to make it."""
    try:
        listed = lnd.get("/v1/transactions").get("transactions", ())
    except (NodeAway, NodeRefused):
        listed, is_refused = (), False
    else:
        is_refused = isinstance(error, NodeRefused)
    found = next((str(e["tx_hash"]) for e in listed if e.get("label") == label), "")
    if not found and not is_refused:
        raise TookTooLong(
            f"{error.message}; whether it was sent is unknown. Before you repeat it, "
            f"look: leyden wallet payments {node.node_name!r} --kind on-chain"
        ) from None
    return found


def outpoint(text: str) -> dict[str, object]:
    """Return TXID:OUTPUT as lnd takes it."""
    txid, _, output = text.partition(":")
    if len(txid) != _TXID or not _is_hex(txid) or not output.isdecimal():
        raise Malformed(f"{plain(text)}: must be TXID:OUTPUT")
    return {"txid_str": txid, "output_index": int(output)}


@click.command()
@node_argument
@click.argument("txid")
@click.option(
    "--sat-per-vbyte",
    type=click.IntRange(1),
    required=True,
    help="Fee rate of the second transaction.",
)
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
@money_options
def bump(
    session: ApiSession,
    node: str,
    txid: str,
    *,
    sat_per_vbyte: int,
    yes: bool,
    keys: OwnerKeys,
    as_json: bool,
) -> None:
    """Raise the fee of an unconfirmed transaction TXID of this wallet.

    lnd spends your own output of it in a second transaction that pays for both, and
    replaces that one (RBF) if you bump again. Both together pay less per vB than the
    second one.

    \b
    leyden wallet bump pier TXID --sat-per-vbyte 20
    """
    found = session.node(node)
    fee = sat_per_vbyte * CHILD_VBYTES
    with open_for(session, found, keys, _BUMP_METHODS) as lnd:
        ours = _own_output(lnd, txid)
        if not yes:
            question = f"Raise its fee by {fee:,} sat, in a second transaction?"
            click.confirm(question, abort=True, err=True)
        # Just before its deadline lnd pays its whole budget at once. Without one, it
        # would pay more with each block, up to half of the output.
        wish = {"outpoint": outpoint(ours), "budget": str(fee), "deadline_delta": 1}
        try:
            lnd.post("/v2/wallet/bumpfee", {**wish, "immediate": True})
        except NodeAway as error:
            raise TookTooLong(
                f"{error.message}; whether its fee was raised is unknown. It is safe "
                "to repeat the command, which replaces what it did"
            ) from None
    rate = {"sat_per_vbyte": sat_per_vbyte, "fee_sats": fee}
    shown = {"txid": txid, "spent_output": ours, **rate}
    if as_json:
        print_json({"node_id": found.node_id, **shown})
    else:
        print_fields(shown)


def _own_output(lnd: Lnd, txid: str) -> str:
    """Return an output of an unconfirmed transaction that this wallet can spend."""
    for each in lnd.get("/v1/transactions").get("transactions", ()):
        if each["tx_hash"] != txid:
            continue
        if int(each.get("num_confirmations", 0)):
            raise Conflict("this transaction is confirmed already")
        for output in each.get("output_details", ()):
            if output.get("is_our_address"):
                return f"{txid}:{output.get('output_index', 0)}"
        raise Conflict("no output of this transaction is this wallet's")
    raise Conflict("this is not a transaction of this wallet")


@contextmanager
def _says_if_nothing_was_sent() -> Iterator[_Progress]:
    progress = _Progress()
    try:
        yield progress
    except LeydenError as error:
        if not progress.is_told:
            error.message = f"{error.message}; nothing was sent by this command"
            error.args = (error.message,)
        raise


def _is_hex(text: str) -> bool:
    try:
        return bool(bytes.fromhex(text))
    except ValueError:
        return False
