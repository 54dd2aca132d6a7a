"""A client for the seller's lnd, and all that our macaroon for it has to allow."""

from collections.abc import Mapping
from typing import Any, Final

from leyden.errors import NodeRefused, SellerAway
from leyden.lnd import rest
from leyden.lnd.connection import Access, Connection

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

# And what LSPS1 over BOLT8 needs beside them: messages of peers, and nothing of money.
MESSAGE_PERMISSIONS = (
    "uri:/lnrpc.Lightning/SubscribeCustomMessages",
    "uri:/lnrpc.Lightning/SendCustomMessage",
)

_RETRY_AFTER_S = 5
# Refusals that say nothing about the channel: lnd starts, or has lost its chain.
_NOT_YET: Final = (
    "until the chain backend is fully synced",
    "before the wallet is fully synced",
    "still in the process of starting",
    "wallet locked",
)
_DENIED: Final = "permission denied"


class SellerConnection(Connection):
    """Calls the seller; SellerAway without answer, NodeRefused with its reason."""

    def __init__(self, access: Access) -> None:
        super().__init__(access, rest.Errors(_away, rest.refused))

    async def plainly(
        self, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> dict[str, Any]:
        """Call what lnd refuses only for reasons of its own: locked, starting."""
        try:
            return await self.call(method, path, body)
        except NodeRefused as error:
            raise refusal(error) from error

    async def transactions(self, since: int) -> list[dict[str, Any]]:
        """List the wallet's transactions: of blocks since then, and of none."""
        told = await self.plainly(
            "GET", f"/v1/transactions?start_height={since}&end_height=-1"
        )
        return list(told["transactions"])


def refusal(error: NodeRefused) -> SellerAway:
    """Return the error for a refusal that says nothing about the call."""
    return SellerAway(
        why=f"the seller refuses: {error.message}", retry_after_s=_RETRY_AFTER_S
    )


def check_ready(error: NodeRefused) -> None:
    """Raise SellerAway if lnd refuses because it is not ready yet."""
    if any(words in error.message for words in _NOT_YET):
        raise refusal(error) from error


def is_denied(error: NodeRefused) -> bool:
    """Return whether our macaroon does not allow the call."""
    return _DENIED in error.message


def _away(why: str) -> SellerAway:
    return SellerAway(why=f"the seller {why}", retry_after_s=_RETRY_AFTER_S)
