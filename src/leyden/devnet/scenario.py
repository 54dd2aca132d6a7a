"""Stories that a private chain can play, told while they happen.

first-channel, as somebody lives it who buys an inbound channel:

1. The market is open.
2. An order is made, and paid over Lightning.
3. The platform makes a ticket for it.
4. The buyer registers the ticket, and the auction matches it.
5. The channel is active.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from leyden.devnet import overview, trading
from leyden.devnet.buyers import Buyer, Customer
from leyden.devnet.calls import calling
from leyden.devnet.hosted import hosted
from leyden.devnet.waiting import until
from leyden.errors import Conflict

Say = Callable[[str], None]

_OPENS_WITHIN_S = 1800.0  # on a new machine two programs are built first
_OVER = frozenset({"expired", "failed", "cancelled"})


async def market_opens(home: Path) -> None:
    """Wait until the market is open."""

    async def is_open() -> bool:
        return await overview.is_open(home)

    await until(is_open, "the market does not open", within_s=_OPENS_WITHIN_S)


async def first_channel(
    home: Path, say: Say, *, capacity: int, poold: Path | None = None
) -> dict[str, Any]:
    """Play it and give the channel; refuse when a step does not come to its end.

    With a poold the buyer is the owner of a node made for the occasion, else the
    chain's own customer.
    """
    began = time.monotonic()

    def tell(line: str) -> None:
        say(f"{time.monotonic() - began:6.1f} s  {line}")

    if not await overview.is_open(home):
        tell("waiting for the market; `leyden logs up` shows how far it is")
        await market_opens(home)
    tell("the market is open")
    async with AsyncExitStack() as stack:
        call = await stack.enter_async_context(calling(home))
        buyer: Buyer = Customer(home)
        if poold is not None:
            buyer = await stack.enter_async_context(hosted(home, call, program=poold))
            tell("a hosted node has its wallet, and a poold beside it")
        order = await call("POST", "/flow/create", {"capacity": capacity})
        tell(f"order {order['order_id']}: {order['amount_due']} sat are due")
        paying = asyncio.create_task(trading.pay(home, order["lightning_invoice"]))

        async def status() -> dict[str, Any]:
            wish = {"order_id": order["order_id"]}
            return await call("POST", "/flow/status", wish)

        try:
            ticketed = await _becomes("created", status, paying)
            tell("paid over Lightning; the ticket is made")
            await paying
        finally:
            paying.cancel()
        before = {each["channel_point"] for each in await buyer.channels()}
        await buyer.register(ticketed["sidecar_ticket"])
        tell("the buyer has registered the ticket")
        await _becomes("submitted", status)
        tell("the auction has a bid for it")
        await _becomes("filled", status)
        tell("matched; the channel is on the chain")
        channel = await _active(buyer, before)
    tell("the channel is active")
    return {
        "order_id": order["order_id"],
        "channel_point": channel["channel_point"],
        "capacity": int(channel["capacity"]),
        "remote_pubkey": channel["remote_pubkey"],
        "seconds": round(time.monotonic() - began, 1),
    }


async def _becomes(
    wanted: str,
    status: Callable[[], Awaitable[dict[str, Any]]],
    *besides: "asyncio.Task[Any]",
) -> dict[str, Any]:
    """Wait for an order's status, or one that comes after it."""
    order: dict[str, Any] = {}
    steps = ("waiting_payment", "creating", "created", "submitted", "filled")

    async def there() -> bool:
        nonlocal order
        order = await status()
        for task in besides:
            if task.done():
                task.result()  # shows why, if it failed
        if order["status"] in _OVER:
            raise Conflict(f"the order is {order['status']}")
        return steps.index(order["status"]) >= steps.index(wanted)

    await until(there, f"the order does not become {wanted}")
    return order


async def _active(buyer: Buyer, before: set[str]) -> dict[str, Any]:
    found: list[dict[str, Any]] = []

    async def there() -> bool:
        nonlocal found
        found = [
            each
            for each in await buyer.channels()
            if each["active"] and each["channel_point"] not in before
        ]
        return bool(found)

    await until(there, "the channel does not become active")
    return found[0]
