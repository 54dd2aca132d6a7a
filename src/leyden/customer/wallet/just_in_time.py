"""Receiving a payment that pays for its own channel: a wrapped invoice.

The platform never has the preimage: it is the node's own, as for every invoice. What
the platform wraps it in is compared with it before anybody is asked to pay.
"""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from leyden.client import ApiError, Lnd
from leyden.customer import channel_acceptor
from leyden.customer.session import ApiSession
from leyden.customer.wallet import peers
from leyden.errors import Conflict, Malformed
from leyden.schemas.nodes import NodeItem
from leyden.schemas.wrapped import WrappingInfo

_METHODS: Final = (
    peers.CONNECT,
    "lnrpc.Lightning/ChannelAcceptor",
    "lnrpc.Lightning/GetInfo",
)
_MSAT: Final = 1_000
_NOT_FOUND: Final = 404
# A payment in the invoice's last second is held for 90 s, until the channel is there.
LATE_S: Final = 120


def methods(sats: int | None, *, alone: bool) -> tuple[str, ...]:
    """Return the calls of lnd that it needs; raise Malformed for other options."""
    if not alone:
        raise Malformed(
            "--just-in-time: can't be used with --on-chain, --both or --hints"
        )
    if not sats:
        raise Malformed("--just-in-time: needs SATS, what the payer pays")
    return _METHODS


@contextmanager
def bought(
    session: ApiSession, node: NodeItem, lnd: Lnd, sats: int, *, memo: str, expiry: int
) -> Iterator[dict[str, Any]]:
    """Yield an invoice whose payment opens a channel while inside."""
    settings = session.client.nodes.get(node.node_id).settings
    if not (settings.zeroconf and settings.optionscidalias):
        raise Conflict(
            "this node takes no channels without confirmations; allow them first: "
            f"leyden nodes settings {node.node_name!r} --zeroconf --optionscidalias"
        )
    offers = session.client.wrapped_invoices
    info = _info(session)
    at = info.connection_methods[0]
    host = f"[{at.address}]" if ":" in at.address else at.address
    peers.reach(lnd, info.pubkey, f"{host}:{at.port}")
    key = str(lnd.get("/v1/getinfo")["identity_pubkey"])
    fee = offers.fee(sats * _MSAT, key)
    fee_sats = -(-fee.fee_amount_msat // _MSAT)
    if not fee_sats:
        raise Conflict(
            "this node can receive that over a channel that it has; leave "
            "--just-in-time out"
        )
    received = sats - fee_sats
    if received <= 0:  # lnd would create an invoice for any amount
        raise Conflict(
            f"the platform asks for a fee of {fee_sats:,} sat, which leaves nothing of "
            f"{sats:,} sat"
        )
    wish = {"memo": memo, "expiry": str(expiry), "value": str(received)}
    inner = lnd.post("/v1/invoices", wish)
    payment_hash = base64.b64decode(inner["r_hash"]).hex()
    accepting = channel_acceptor.zero_conf_from(
        session, node, info.pubkey, macaroon=lnd.macaroon
    )
    with accepting:
        invoice = offers.propose(str(inner["payment_request"]), fee.id).jit_bolt11
        decoded = lnd.get(f"/v1/payreq/{invoice}")
        if decoded["payment_hash"] != payment_hash:
            raise Conflict(
                "the platform's invoice has another payment hash than your node's: "
                "whoever pays it does not pay your node; don't use it"
            )
        if int(decoded["num_msat"]) != sats * _MSAT:
            raise Conflict(
                f"the platform's invoice is for {decoded['num_msat']} msat, not "
                f"{sats * _MSAT}; don't use it"
            )
        yield {
            "memo": memo,
            "invoice": invoice,
            "payment_hash": payment_hash,
            "expires_in_s": int(decoded["expiry"]),
            "fee_sats": fee_sats,
            "received_sats": received,
        }


def _info(session: ApiSession) -> WrappingInfo:
    try:
        info = session.client.wrapped_invoices.info()
    except ApiError as error:
        if error.status != _NOT_FOUND:
            raise
        raise Conflict(
            "this platform sells no just-in-time channels; leave --just-in-time out, "
            "and buy a channel first: leyden channels order"
        ) from None
    if not info.connection_methods:
        raise Conflict(
            "the platform does not tell where its node for just-in-time channels is"
        )
    return info
