"""The status of everything in the market of a private chain."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leyden.errors import LeydenError, SetupError
from leyden_workshop.devnet import access, auctioneer, opening, trader, wallet

_USUAL_SATS = 100_000  # more than a usual order costs
_NOTHING: Mapping[str, Any] = {"accounts": [], "orders": [], "batches": []}


async def is_open(home: Path) -> bool:
    """Return whether a channel can be bought from order to filled ticket.

    An order must be payable, and its ticket offered, registered and filled.
    """
    network = access.load(home)
    if network.auctioneer is None:
        raise SetupError("this private chain has no market: devnet_market was false")
    book = await _auctioneer_status(network.auctioneer)
    if not any(order["side"] == "ask" for order in book["orders"]):
        return False
    pools = network.pools.items()
    states = {name: (await _pool_status(at, book))["state"] for name, at in pools}
    return (
        states["provider"] == states["asker-pool"] == "trading"
        and states["customer-pool"] != "away"
        and await _can_pay(network)
    )


async def line(home: Path) -> str:
    """Return whether the market is open, and if not, why and how long that takes."""
    if access.load(home).auctioneer is None:
        return "left out"
    if waiting := opening.find(home):
        return f"not open: {waiting.words(time.time())}"
    return "open" if await is_open(home) else "not open"


async def status(home: Path) -> dict[str, Any]:
    """Return the status of market, poolds, tickets, bids and batches."""
    # gRPC takes a while to import, and only this needs it.
    from leyden_workshop.devnet import tickets  # noqa: PLC0415

    network = access.load(home)
    if network.auctioneer is None:
        return {"market": "left out"}
    book = await _auctioneer_status(network.auctioneer)
    pools = network.pools.items()
    waiting = opening.find(home)
    opened = waiting is None and await is_open(home)
    return {
        "market": "open" if opened else "not open",
        **({"market_waits_for": waiting.words(time.time())} if waiting else {}),
        "pools": [{"name": name, **await _pool_status(at, book)} for name, at in pools],
        "tickets": await tickets.list_tickets(network),
        "bids": [_bid(order) for order in book["orders"] if order["side"] == "bid"],
        "batches": [
            {key: batch[key] for key in ("txid", "height", "confirmed")}
            for batch in book["batches"]
        ],
    }


def _bid(order: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "sats": order["sats"],
        "lease_duration_blocks": order["duration"],
        "rate_fixed": order["rate"],
        "waiting": "; ".join(order.get("waiting", [])) or "for the next batch",
    }


async def _auctioneer_status(reached: access.AuctioneerAccess) -> Mapping[str, Any]:
    """Return the auctioneer's own status; empty while it is down."""
    try:
        return await auctioneer.status(reached)
    except LeydenError:
        return _NOTHING


async def _can_pay(network: access.ChainAccess) -> bool:
    """Return whether the customer has a way to pay the treasury.

    Channels that were bought are active as well, and lead elsewhere.
    """
    try:
        async with (
            wallet.opened(network.lnds["customer"]) as customer,
            wallet.opened(network.lnds["treasury"]) as treasury,
        ):
            return await customer.has_route(await treasury.key(), _USUAL_SATS)
    except LeydenError:
        return False


async def _pool_status(reached: access.Pool, book: Mapping[str, Any]) -> dict[str, Any]:
    """Return a poold's status: away, without an account, connecting, or trading.

    A poold that was started again answers before the auctioneer knows it again; until
    then a ticket that it offers, and a bid, are refused.
    """
    try:
        async with trader.connect(reached) as pool:
            alive = [each for each in await pool.accounts() if each.alive]
            orders = await pool.orders()
    except LeydenError:
        return {"state": "away", "account_sats": 0, "available_sats": 0, "asks": 0}
    usable = {each.key for each in alive if each.state != "PENDING_OPEN"}
    connected = {each["trader"] for each in book["accounts"] if each["connected"]}
    state = "trading" if usable & connected else "connecting"
    return {
        "state": state if usable else "no account",
        "account_sats": sum(each.sats for each in alive),
        "available_sats": sum(each.available_sats for each in alive),
        "asks": len(orders["asks"]),
    }
