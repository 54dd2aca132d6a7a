"""A client for the seller's lnd, and the permissions that our macaroon needs."""

from collections.abc import Mapping
from typing import Any, Final

from leyden.errors import NodeRefused, SellerAway
from leyden.lnd import rest
from leyden.nodes.lnd.connection import LndAccess, LndConnection

BUMP = "uri:/walletrpc.WalletKit/BumpFee"
HASHES = "uri:/chainrpc.ChainKit/GetBlockHash"
BLOCKS = "uri:/chainrpc.ChainKit/GetBlock"

# Nothing that sends coins, pays, closes or bakes. OpenChannel could still give money
# away by `push_sat`, and BumpFee to miners: keep the wallet small.
PERMISSIONS = (
    "uri:/lnrpc.Lightning/GetInfo",
    "uri:/lnrpc.Lightning/ListPeers",
    "uri:/lnrpc.Lightning/ConnectPeer",
    "uri:/lnrpc.Lightning/OpenChannel",
    "uri:/lnrpc.Lightning/PendingChannels",
    "uri:/lnrpc.Lightning/ListChannels",
    "uri:/lnrpc.Lightning/ClosedChannels",
    "uri:/lnrpc.Lightning/WalletBalance",
    "uri:/lnrpc.Lightning/ListUnspent",
    "uri:/lnrpc.Lightning/GetTransactions",
    "uri:/lnrpc.Lightning/NewAddress",
    "uri:/walletrpc.WalletKit/ListLeases",
    "uri:/walletrpc.WalletKit/EstimateFee",
    BUMP,
    HASHES,
    BLOCKS,
)

# LSPS1 over BOLT8 needs these as well: messages of peers, and nothing about money.
MESSAGE_PERMISSIONS = (
    "uri:/lnrpc.Lightning/SubscribeCustomMessages",
    "uri:/lnrpc.Lightning/SendCustomMessage",
)

# The purse of just-in-time channels needs these: messages, forwards, and channels
# without bumps. HtlcInterceptor is a right to spend: an answer may forward more than
# arrived.
PURSE_PERMISSIONS = (
    "uri:/lnrpc.Lightning/SubscribeCustomMessages",
    "uri:/lnrpc.Lightning/SendCustomMessage",
    "uri:/lnrpc.Lightning/ListPeers",
    "uri:/lnrpc.Lightning/OpenChannel",
    "uri:/lnrpc.Lightning/ListChannels",
    "uri:/lnrpc.Lightning/ForwardingHistory",
    "uri:/routerrpc.Router/HtlcInterceptor",
    "uri:/routerrpc.Router/XAddLocalChanAliases",
    # These only read.
    "uri:/lnrpc.Lightning/GetInfo",
    "uri:/lnrpc.Lightning/PendingChannels",
    "uri:/lnrpc.Lightning/ClosedChannels",
    "uri:/lnrpc.Lightning/WalletBalance",
    "uri:/lnrpc.Lightning/ListUnspent",
    "uri:/lnrpc.Lightning/GetTransactions",
    "uri:/walletrpc.WalletKit/ListLeases",
    "uri:/walletrpc.WalletKit/EstimateFee",
)

# Wrapped invoices need these as well. SendPaymentV2 spends what is in the purse's
# channels: any invoice can be paid with it.
WRAPPED_PERMISSIONS = (
    "uri:/invoicesrpc.Invoices/AddHoldInvoice",
    "uri:/invoicesrpc.Invoices/SettleInvoice",
    "uri:/invoicesrpc.Invoices/CancelInvoice",
    "uri:/routerrpc.Router/SendPaymentV2",
    # These only read.
    "uri:/routerrpc.Router/TrackPaymentV2",
    "uri:/lnrpc.Lightning/DecodePayReq",
    "uri:/lnrpc.Lightning/ListInvoices",
    "uri:/lnrpc.Lightning/LookupInvoice",
)

# Buying from other LSPs needs these. SendPaymentV2 spends what is in the channels of
# that lnd.
BUYING_PERMISSIONS = (
    "uri:/routerrpc.Router/SendPaymentV2",
    # These only read.
    "uri:/routerrpc.Router/TrackPaymentV2",
    "uri:/lnrpc.Lightning/GetInfo",
    "uri:/lnrpc.Lightning/ListChannels",
    "uri:/lnrpc.Lightning/DecodePayReq",
    HASHES,
    BLOCKS,
)

# Channels that are published once they are paid need these as well. Together they
# spend the wallet's coins.
UNPUBLISHED_PERMISSIONS = (
    "uri:/walletrpc.WalletKit/FundPsbt",
    "uri:/walletrpc.WalletKit/FinalizePsbt",
    "uri:/walletrpc.WalletKit/PublishTransaction",
    "uri:/walletrpc.WalletKit/ReleaseOutput",
    "uri:/lnrpc.Lightning/FundingStateStep",
    "uri:/lnrpc.Lightning/AbandonChannel",
)

_RETRY_AFTER_S = 5
# Refusals that are not about the channel: lnd is starting, or has lost its chain.
_NOT_YET: Final = (
    "until the chain backend is fully synced",
    "before the wallet is fully synced",
    "still in the process of starting",
    "wallet locked",
)
_DENIED: Final = "permission denied"


class SellerConnection(LndConnection):
    """A client that raises SellerAway without an answer, else NodeRefused."""

    def __init__(self, access: LndAccess) -> None:
        super().__init__(access, rest.Errors(_away, rest.refused))

    async def call_or_away(
        self, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> dict[str, Any]:
        """Call once, and treat every refusal as temporary: raise SellerAway."""
        try:
            return await self.call(method, path, body)
        except NodeRefused as error:
            raise refusal(error) from error

    async def transactions(self, since: int) -> list[dict[str, Any]]:
        """List the wallet's transactions: unconfirmed, and in blocks since then."""
        response = await self.call_or_away(
            "GET", f"/v1/transactions?start_height={since}&end_height=-1"
        )
        return list(response["transactions"])


def refusal(error: NodeRefused) -> SellerAway:
    """Return the error for a refusal that is not about the call itself."""
    return SellerAway(
        why=f"the seller refuses: {error.message}", retry_after_s=_RETRY_AFTER_S
    )


def check_ready(error: NodeRefused) -> None:
    """Raise SellerAway if lnd refuses because it is not ready yet."""
    if any(words in error.message for words in _NOT_YET):
        raise refusal(error) from error


def is_denied(error: NodeRefused) -> bool:
    """Return whether lnd refused because our macaroon lacks the permission."""
    return _DENIED in error.message


def _away(why: str) -> SellerAway:
    return SellerAway(why=f"the seller {why}", retry_after_s=_RETRY_AFTER_S)
