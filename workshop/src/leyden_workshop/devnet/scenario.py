"""Scenarios played on a private chain, with progress messages.

first-channel, as a buyer of an inbound channel sees it:

1. The market is open.
2. An order is placed, and paid over Lightning unless the credit of earlier scenarios
   covers it: they have an organization of their own, and spend nobody else's.
3. The platform creates a ticket for it.
4. The buyer registers the ticket, and the auction matches it.
5. The channel is active.
6. The node receives a payment.

direct-channel, as the owner of a node sees it:

1. An order names the node, and is paid over Lightning: the payment is held.
2. The seller opens the channel; once it is published the payment is settled.
3. The channel is active.
4. The node receives a payment.

lsps1 is the same for somebody without an account: over HTTP as wallets speak it.
"""

import functools
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from leyden_workshop.devnet import (
    direct_purchase,
    lsps1_purchase,
    overview,
    receiving,
    trading,
)
from leyden_workshop.devnet.buyers import Customer
from leyden_workshop.devnet.calls import calling
from leyden_workshop.devnet.first_run import SCENARIOS, FirstAccount
from leyden_workshop.devnet.hosted import Hosted, hosted
from leyden_workshop.devnet.purchase import Purchase
from leyden_workshop.devnet.waiting import until

Say = Callable[[str], None]

_OPENS_WITHIN_S = 1800.0  # on a new machine two programs are built first


async def market_opens(home: Path) -> None:
    """Wait until the market is open."""

    async def is_open() -> bool:
        return await overview.is_open(home)

    await until(is_open, "the market did not open", within_s=_OPENS_WITHIN_S)


async def first_channel(
    home: Path,
    say: Say,
    *,
    account: FirstAccount,
    capacity: int,
    poold: Path | None = None,
) -> dict[str, Any]:
    """Play it and give the channel; refuse when a step does not come to its end.

    With a poold the buyer is the owner of a hosted node, else the chain's own customer.
    """
    began = time.monotonic()
    tell = _teller(say, began)
    await _open(home, tell)
    tell("the market is open")
    _tell_who_orders(tell)
    async with AsyncExitStack() as stack:
        call = await stack.enter_async_context(calling(home, account.api_key))
        buyer: Customer | Hosted = Customer(home)
        if poold is not None:
            buyer = await stack.enter_async_context(
                hosted(
                    home,
                    call,
                    program=poold,
                    organization_id=account.organization_id,
                )
            )
            tell("the hosted node has a wallet, and its poold runs")
        purchase = Purchase(
            call=call,
            pay=functools.partial(trading.pay, home),
            buyer=buyer,
            tell=tell,
        )
        order_id, channel = await purchase.buy(capacity)
        tell("the channel is active")
        summary = _summary(order_id, channel, began)
        await _receive(home, buyer, channel, tell)
    return summary


async def direct_channel(
    home: Path,
    say: Say,
    *,
    account: FirstAccount,
    capacity: int,
    hosted: bool,
    lsps1: bool = False,
) -> dict[str, Any]:
    """Play it and give the channel; refuse when a step does not come to its end.

    The node is a hosted one, or else the chain's own customer. Over LSPS1 nobody has
    an account: it is the customer's.
    """
    buy = lsps1_purchase.buy if lsps1 else direct_purchase.buy
    began = time.monotonic()
    tell = _teller(say, began)
    await _open(home, tell)
    tell("the seller and the customer are ready")
    if not lsps1:
        _tell_who_orders(tell)
    async with (
        calling(home, account.api_key) as call,
        direct_purchase.recipient(
            home, call, hosted=hosted, organization_id=account.organization_id
        ) as to,
    ):
        tell(f"node {to.key}")
        order_id, channel = await buy(home, call, to, tell, capacity=capacity)
        tell("the channel is active")
        summary = _summary(order_id, channel, began)
        await _receive(home, to.node, channel, tell)
    return summary


def _teller(say: Say, began: float) -> Say:
    def tell(line: str) -> None:
        say(f"{time.monotonic() - began:6.1f} s  {line}")

    return tell


def _tell_who_orders(tell: Say) -> None:
    tell(f'"{SCENARIOS}" orders, an organization of its own: yours keeps its credit')


async def _open(home: Path, tell: Say) -> None:
    if not await overview.is_open(home):
        tell(f"waiting for the market, which is {await overview.line(home)}")
        await market_opens(home)


async def _receive(
    home: Path, node: receiving.Payee, channel: dict[str, Any], tell: Say
) -> None:
    sats = await receiving.receive(home, node, channel)
    tell(f"the node received a payment of {sats:,} sat")


def _summary(order_id: str, channel: dict[str, Any], began: float) -> dict[str, Any]:
    return {
        "order_id": order_id,
        "channel_point": channel["channel_point"],
        "capacity": int(channel["capacity"]),
        "remote_pubkey": channel["remote_pubkey"],
        "seconds": round(time.monotonic() - began, 1),
    }
