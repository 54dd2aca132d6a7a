"""Buying a direct channel from the platform, for a node that is named."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from leyden.devnet import access, actions, trading, wallet
from leyden.devnet.calls import Calls
from leyden.devnet.hosted import owned
from leyden.devnet.waiting import until
from leyden.errors import Conflict
from leyden.values import Struct

_OVER = frozenset({"expired", "failed", "cancelled"})
_DEEP_ENOUGH = 6


class Recipient(Struct, frozen=True):
    """A node that gets a channel: its key, what an order says of it, its channels."""

    key: str
    wish: Mapping[str, str]
    channels: Callable[[], Awaitable[list[dict[str, Any]]]]


@asynccontextmanager
async def recipient(
    home: Path, call: Calls, *, hosted: bool
) -> AsyncIterator[Recipient]:
    """Yield the chain's own customer, or the owner of a hosted node."""
    if hosted:
        async with owned(home, call) as node:
            key = await node.key()
            wish = {"node_id": node.node_id, "node": key}
            yield Recipient(key, wish, node.channels)
        return
    lnd = access.load(home).lnds["customer"]
    async with wallet.opened(lnd) as customer:
        key = await customer.key()
        yield Recipient(key, {"node": f"{key}@{lnd.peer}"}, customer.channels)


async def buy(
    home: Path,
    call: Calls,
    to: Recipient,
    tell: Callable[[str], None],
    *,
    capacity: int,
) -> tuple[str, dict[str, Any]]:
    """Order and pay a channel; return the order's id and the channel once it is active.

    Raise Conflict if the order ends without one.
    """
    order = await call("POST", "/flow/create", {"capacity": capacity, **to.wish})
    tell(f"order {order['order_id']}: {order['amount_due']} sat are due")
    paying = None
    if order["lightning_invoice"]:
        paying = asyncio.ensure_future(trading.pay(home, order["lightning_invoice"]))
    found: dict[str, Any] = order

    async def filled() -> bool:
        nonlocal found
        wish = {"order_id": order["order_id"]}
        found = await call("POST", "/flow/status", wish)
        if paying is not None and paying.done():
            paying.result()  # shows why, if it failed
        if found["status"] in _OVER:
            raise Conflict(f"the order is {found['status']}")
        return bool(found["status"] == "filled")

    try:
        await until(filled, "the order is not filled")
        tell("paid, and the channel is published; the payment is settled only now")
        if paying is not None:
            await paying
    finally:
        if paying is not None:
            paying.cancel()
    await actions.mine(home, _DEEP_ENOUGH)
    channel: dict[str, Any] = {}

    async def active() -> bool:
        nonlocal channel
        ours = [
            each
            for each in await to.channels()
            if each["channel_point"] == found["channel_point"] and each["active"]
        ]
        channel = ours[0] if ours else {}
        return bool(ours)

    await until(active, "the channel does not become active")
    return order["order_id"], channel
