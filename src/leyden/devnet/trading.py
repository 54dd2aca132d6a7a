"""The market's hands: what the customer of a private chain does, and how all are doing.

The customer has an lnd with coins and a channel to the treasury, and a poold beside it.
"""

from pathlib import Path
from typing import Any

from leyden.devnet import access, auctioneer, trader, wallet
from leyden.errors import Conflict, LeydenError, SetupError

_TO_HUNDREDTHS_OF_PERCENT = 10_000 / 1_000_000_000


async def register(home: Path, ticket: str) -> None:
    """Register a ticket on the customer's poold: the channel will be the customer's."""
    network, _ = _market(home)
    async with trader.opened(network.pools["customer-pool"]) as customer:
        await customer.register(ticket)


async def pay(home: Path, invoice: str) -> dict[str, Any]:
    """Pay a Lightning invoice as the customer; returns once it is settled or not."""
    network, _ = _market(home)
    async with wallet.opened(network.lnds["customer"]) as customer:
        paid = await customer.pay(invoice)
    if paid["status"] != "SUCCEEDED":
        raise Conflict(f"the payment failed: {paid.get('failure_reason')}")
    return {"paid_sats": int(paid["value_sat"]), "fee_sats": int(paid["fee_sat"])}


async def send(home: Path, address: str, sats: int) -> str:
    """Pay to an address as the customer, unconfirmed, and give the txid."""
    network, _ = _market(home)
    async with wallet.opened(network.lnds["customer"]) as customer:
        return await customer.send(address, sats)


async def tick(home: Path) -> dict[str, Any]:
    """Run a batch of the auction now."""
    _, auction = _market(home)
    return await auctioneer.tick(auction)


async def asks(home: Path) -> list[dict[str, Any]]:
    """List what is for sale."""
    _, auction = _market(home)
    told = await auctioneer.status(auction)
    return [
        {
            "lease_duration_blocks": order["duration"],
            "sats": order["sats"],
            "rate_fixed": order["rate"],
            "bps": round(
                order["rate"] * order["duration"] * _TO_HUNDREDTHS_OF_PERCENT, 1
            ),
        }
        for order in told["orders"]
        if order["side"] == "ask"
    ]


async def status(home: Path) -> dict[str, Any]:
    """Tell whether the market is open, and how everybody in it is doing.

    It is open once an order can be paid, its ticket offered, registered and filled.
    """
    network = access.load(home)
    if network.auctioneer is None:
        return {"market": "left out"}
    try:
        told = await auctioneer.status(network.auctioneer)
    except LeydenError:
        return {"market": "not open", "pools": [], "bids": [], "batches": []}
    pools = [
        {"name": name, **await _pool(reached)}
        for name, reached in network.pools.items()
    ]
    states = {pool["name"]: pool["state"] for pool in pools}
    is_open = (
        states["provider"] == states["asker-pool"] == "trading"
        and states["customer-pool"] != "away"
        and await _pays(network.lnds["customer"])
        and any(order["side"] == "ask" for order in told["orders"])
    )
    return {
        "market": "open" if is_open else "not open",
        "pools": pools,
        "bids": [
            {
                "sats": order["sats"],
                "lease_duration_blocks": order["duration"],
                "rate_fixed": order["rate"],
                "waiting": "; ".join(order.get("waiting", [])) or "for the next batch",
            }
            for order in told["orders"]
            if order["side"] == "bid"
        ],
        "batches": [
            {
                "txid": batch["txid"],
                "height": batch["height"],
                "confirmed": batch["confirmed"],
            }
            for batch in told["batches"]
        ],
    }


async def _pays(reached: access.Lnd) -> bool:
    try:
        async with wallet.opened(reached) as customer:
            return any(each["active"] for each in await customer.channels())
    except LeydenError:
        return False


async def _pool(reached: access.Pool) -> dict[str, Any]:
    """Tell how a poold is doing: away, without an account, or trading."""
    found = {"state": "away", "account_sats": 0, "available_sats": 0, "asks": 0}
    try:
        async with trader.opened(reached) as pool:
            alive = [each for each in await pool.accounts() if each.alive]
            orders = await pool.orders()
    except LeydenError:
        return found
    trading = any(each.state != "PENDING_OPEN" for each in alive)
    return {
        "state": "trading" if trading else "no account",
        "account_sats": sum(each.sats for each in alive),
        "available_sats": sum(each.available_sats for each in alive),
        "asks": len(orders["asks"]),
    }


def _market(home: Path) -> tuple[access.Access, access.Auctioneer]:
    network = access.load(home)
    if network.auctioneer is None:
        raise SetupError(
            "this private chain has no market; `leyden up` with devnet_market makes one"
        )
    return network, network.auctioneer
