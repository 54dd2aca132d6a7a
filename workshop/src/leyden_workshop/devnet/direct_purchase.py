"""Buying a direct channel from the platform, for a node that is named."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from leyden.errors import Conflict
from leyden.values import Struct
from leyden_workshop.devnet import access, actions, trading, wallet
from leyden_workshop.devnet.calls import Calls
from leyden_workshop.devnet.hosted import Owned, owned
from leyden_workshop.devnet.purchase import to_pay
from leyden_workshop.devnet.waiting import until
from leyden_workshop.devnet.wallet import Wallet

_OVER = frozenset({"expired", "failed", "cancelled"})
_DEEP_ENOUGH = 6


class PurchasingNode(Struct, frozen=True):
    """A node that gets a channel: its key, what an order says of it, its lnd."""

    key: str
    wish: Mapping[str, object]
    node: Owned | Wallet


@asynccontextmanager
async def recipient(
    home: Path, call: Calls, *, hosted: bool, organization_id: str
) -> AsyncIterator[PurchasingNode]:
    """Yield the chain's own customer, or the owner of a hosted node."""
    if hosted:
        async with owned(home, call, organization_id=organization_id) as node:
            key = await node.key()
            wish = {"node_id": node.node_id, "node": key}
            yield PurchasingNode(key, wish, node)
        return
    lnd = access.load(home).lnds["customer"]
    async with wallet.opened(lnd) as customer:
        key = await customer.key()
        yield PurchasingNode(key, {"node": f"{key}@{lnd.peer}"}, customer)


async def buy(
    home: Path,
    call: Calls,
    to: PurchasingNode,
    tell: Callable[[str], None],
    *,
    capacity: int,
) -> tuple[str, dict[str, Any]]:
    """Order and pay a channel; return the order's id and the channel once it is active.

    Raise Conflict if the order ends without one.
    """
    order = await call("POST", "/flow/create", {"capacity": capacity, **to.wish})
    tell(to_pay(order))
    point = ""

    async def filled() -> bool:
        nonlocal point
        found = await call("POST", "/flow/status", {"order_id": order["order_id"]})
        if found["status"] in _OVER:
            raise Conflict(f"the order is {found['status']}")
        point = found["channel_point"] if found["status"] == "filled" else ""
        return bool(point)

    await paid(home, order["lightning_invoice"], filled)
    tell("paid; the channel is published, and the payment is settled")
    return order["order_id"], await active(home, to, point)


async def paid(home: Path, invoice: str, filled: Callable[[], Awaitable[bool]]) -> None:
    """Pay the invoice, if any is due, and wait until the order is filled."""
    paying = asyncio.ensure_future(trading.pay(home, invoice)) if invoice else None

    async def is_filled() -> bool:
        if paying is not None and paying.done():
            paying.result()  # shows why, if it failed
        return await filled()

    try:
        await until(is_filled, "the order was not filled")
        if paying is not None:
            await paying
    finally:
        if paying is not None:
            paying.cancel()


async def active(home: Path, to: PurchasingNode, point: str) -> dict[str, Any]:
    """Confirm a channel, and return it once its node says that it is active."""
    await actions.mine(home, _DEEP_ENOUGH)
    channel: dict[str, Any] = {}

    async def is_active() -> bool:
        nonlocal channel
        ours = [
            each
            for each in await to.node.channels()
            if each["channel_point"] == point and each["active"]
        ]
        channel = ours[0] if ours else {}
        return bool(ours)

    await until(is_active, "the channel did not become active")
    return channel
