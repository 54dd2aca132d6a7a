"""How everybody in the market of a private chain is doing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leyden.devnet import access, auctioneer, trader, wallet
from leyden.errors import LeydenError, SetupError

_NOTHING: Mapping[str, Any] = {"orders": [], "batches": []}


async def is_open(home: Path) -> bool:
    """Tell whether an order can be paid, its ticket offered, registered and filled."""
    network = access.load(home)
    if network.auctioneer is None:
        raise SetupError("this private chain was made with devnet_market = false")
    told = await _told(network.auctioneer)
    if not any(order["side"] == "ask" for order in told["orders"]):
        return False
    states = {name: (await _pool(at))["state"] for name, at in network.pools.items()}
    return (
        states["provider"] == states["asker-pool"] == "trading"
        and states["customer-pool"] != "away"
        and await _pays(network.lnds["customer"])
    )


async def status(home: Path) -> dict[str, Any]:
    """Tell of the market, its poolds, their tickets, the bids and the batches."""
    network = access.load(home)
    if network.auctioneer is None:
        return {"market": "left out"}
    # Imported only where it is used: gRPC takes a while.
    from leyden.devnet import tickets  # noqa: PLC0415

    told = await _told(network.auctioneer)
    return {
        "market": "open" if await is_open(home) else "not open",
        "pools": [
            {"name": name, **await _pool(at)} for name, at in network.pools.items()
        ],
        "tickets": await tickets.shown(network),
        "bids": [_bid(order) for order in told["orders"] if order["side"] == "bid"],
        "batches": [
            {key: batch[key] for key in ("txid", "height", "confirmed")}
            for batch in told["batches"]
        ],
    }


def _bid(order: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "sats": order["sats"],
        "lease_duration_blocks": order["duration"],
        "rate_fixed": order["rate"],
        "waiting": "; ".join(order.get("waiting", [])) or "for the next batch",
    }


async def _told(reached: access.Auctioneer) -> Mapping[str, Any]:
    """Give what the auctioneer tells of itself; nothing while it is away."""
    try:
        return await auctioneer.status(reached)
    except LeydenError:
        return _NOTHING


async def _pays(reached: access.Lnd) -> bool:
    """Tell whether the customer has a channel to pay with."""
    try:
        async with wallet.opened(reached) as customer:
            return any(each["active"] for each in await customer.channels())
    except LeydenError:
        return False


async def _pool(reached: access.Pool) -> dict[str, Any]:
    """Tell how a poold is doing: away, without an account, or trading."""
    try:
        async with trader.opened(reached) as pool:
            alive = [each for each in await pool.accounts() if each.alive]
            orders = await pool.orders()
    except LeydenError:
        return {"state": "away", "account_sats": 0, "available_sats": 0, "asks": 0}
    trading = any(each.state != "PENDING_OPEN" for each in alive)
    return {
        "state": "trading" if trading else "no account",
        "account_sats": sum(each.sats for each in alive),
        "available_sats": sum(each.available_sats for each in alive),
        "asks": len(orders["asks"]),
    }
