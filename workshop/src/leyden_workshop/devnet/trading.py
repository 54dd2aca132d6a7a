"""The actions of a private chain's customer in the market.

The customer has an lnd with coins and a channel to the treasury, and a
poold beside it.
"""

from pathlib import Path
from typing import Any

from leyden.client.payments import failure
from leyden.errors import Away, Conflict, Refused, SetupError
from leyden_workshop.devnet import access, auctioneer, trader, wallet

_TO_HUNDREDTHS_OF_PERCENT = 10_000 / 1_000_000_000


async def register(home: Path, ticket: str) -> None:
    """Register a ticket on the customer's poold for a customer's channel.

    That poold restarts after the auctioneer does, and is down for some seconds.
    """
    network, _ = _market(home)
    try:
        async with trader.connect(network.pools["customer-pool"]) as customer:
            await customer.register(ticket)
    except Away as error:
        raise Away(
            f"{error.message}; `leyden dev status --wait` waits until the market is "
            "open again"
        ) from None


async def pay(home: Path, invoice: str) -> dict[str, Any]:
    """Pay a Lightning invoice as the customer; return once done or failed."""
    if not invoice.strip():
        raise Refused(
            "INVOICE: must not be empty; an order paid with credit has no invoice"
        )
    network, _ = _market(home)
    async with wallet.opened(network.lnds["customer"]) as customer:
        paid = await customer.pay(invoice)
    if paid["status"] != "SUCCEEDED":
        why = failure(paid.get("failure_reason", ""))
        raise Conflict(f"the payment failed: {why}")
    return {"paid_sats": int(paid["value_sat"]), "fee_sats": int(paid["fee_sat"])}


async def send(home: Path, address: str, sats: int) -> str:
    """Pay an on-chain address as the customer; return the unconfirmed txid."""
    network, _ = _market(home)
    async with wallet.opened(network.lnds["customer"]) as customer:
        return await customer.send(address, sats)


async def tick(home: Path) -> dict[str, Any]:
    """Run one batch of the auction now."""
    _, auction = _market(home)
    return await auctioneer.tick(auction)


async def asks(home: Path) -> list[dict[str, Any]]:
    """List the asks in the auction."""
    _, auction = _market(home)
    book = await auctioneer.status(auction)
    return [
        {
            "lease_duration_blocks": order["duration"],
            "sats": order["sats"],
            "rate_fixed": order["rate"],
            "bps": round(
                order["rate"] * order["duration"] * _TO_HUNDREDTHS_OF_PERCENT, 1
            ),
        }
        for order in book["orders"]
        if order["side"] == "ask"
    ]


def _market(home: Path) -> tuple[access.ChainAccess, access.AuctioneerAccess]:
    network = access.load(home)
    if network.auctioneer is None:
        raise SetupError(
            "this private chain has no market; set devnet_market and run `leyden up`"
        )
    return network, network.auctioneer
