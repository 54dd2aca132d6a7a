"""A node that bought a channel receives through it, with everything real.

test_buy_inbound.py has the same for a ticket.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from leyden_workshop.devnet import (
    access,
    direct_purchase,
    lsps1_purchase,
    receiving,
    wallet,
)
from leyden_workshop.devnet.calls import calling
from leyden_workshop.devnet.direct_purchase import PurchasingNode
from leyden_workshop.devnet.wallet import Wallet
from tests.stories.platform import RunningPlatform
from tests.stories.test_direct_channel import stranger

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]
CAPACITY = 300_000


@asynccontextmanager
async def new_buyer(
    platform: RunningPlatform, program: Path, folder: Path
) -> AsyncIterator[PurchasingNode]:
    """Run a new node without any channel, whose peers are only those it buys from."""
    async with stranger(platform, program, folder) as lnd, wallet.opened(lnd) as node:

        async def is_synced() -> bool:
            return (await node.height())[1]

        await platform.until("the node is synced", is_synced)
        key = await node.key()
        yield PurchasingNode(key, {"node": f"{key}@{lnd.peer}"}, node)


@pytest_asyncio.fixture(loop_scope="session")
async def buyer(
    trading_platform: RunningPlatform, real_lnd: Path, memory_path: Path
) -> AsyncIterator[PurchasingNode]:
    """A new node, whose organization has no credit."""
    await trading_platform.spend_credit()
    async with new_buyer(trading_platform, real_lnd, memory_path / "stranger") as made:
        yield made


async def receives(
    platform: RunningPlatform, to: PurchasingNode, bought: dict[str, Any]
) -> None:
    """Hold that the customer's payments arrive through this channel, the only one."""
    node = to.node
    assert isinstance(node, Wallet)
    sats = await receiving.receive(platform.home, node, bought)
    await platform.run("dev", "pay", await node.invoice(5_000))

    async def is_in_it() -> bool:
        (channel,) = await node.channels()
        assert channel["channel_point"] == bought["channel_point"]
        return int(channel["local_balance"]) == sats + 5_000

    # The payer knows that it paid before both ends have signed the balance.
    await platform.until("the payment is in the channel", is_in_it)


async def receives_from_afar(
    platform: RunningPlatform, payee: receiving.Payee, *, payer: str = "asker"
) -> None:
    """Hold that a payment arrives whose sender has no channel with the seller."""
    lnds = access.load(platform.home).lnds
    async with (
        wallet.opened(lnds["customer"]) as customer,
        wallet.opened(lnds[payer]) as stranger_,
    ):
        # What it has in its channel with the customer is more than the reserve then.
        await customer.pay(await stranger_.invoice(250_000))
        funder = await customer.key()

        async def can_spend() -> bool:
            return any(
                each["remote_pubkey"] == funder
                and int(each["local_balance"]) >= 200_000
                for each in await stranger_.channels()
            )

        await platform.until("the stranger can spend it", can_spend)
        invoice, key = await payee.invoice(3_000), await payee.key()

        async def is_found() -> bool:
            return await stranger_.has_hints(invoice) or await stranger_.has_route(
                key, 3_000
            )

        await platform.until("the stranger finds the channel", is_found)
        paid = await stranger_.pay(invoice)
    assert paid["status"] == "SUCCEEDED", paid
    (route,) = [
        each["route"] for each in paid["htlcs"] if each["status"] == "SUCCEEDED"
    ]
    assert len(route["hops"]) == 3


@pytest.mark.parametrize("announce", [False, True], ids=["private", "announced"])
async def test_direct_channel_receives_payments_of_the_customer(
    trading_platform: RunningPlatform, buyer: PurchasingNode, *, announce: bool
) -> None:
    to = PurchasingNode(buyer.key, {**buyer.wish, "announce": announce}, buyer.node)
    async with calling(trading_platform.home) as call:
        _, channel = await direct_purchase.buy(
            trading_platform.home, call, to, print, capacity=CAPACITY
        )
    assert channel["private"] is not announce
    await receives(trading_platform, buyer, channel)
    assert isinstance(buyer.node, Wallet)
    await receives_from_afar(trading_platform, buyer.node)
    seller = json.loads(await trading_platform.run("seller", "--json"))
    assert seller["unreachable"] is None


async def test_lsps1_channel_receives_payments_of_the_customer(
    trading_platform: RunningPlatform, buyer: PurchasingNode
) -> None:
    assert isinstance(buyer.node, Wallet)
    async with calling(trading_platform.home) as call:
        info = await call("GET", "/lsps1/v1/get_info", None)
        key, _, at = info["uris"][0].partition("@")
        await buyer.node.connect(key, at=at)
        _, channel = await lsps1_purchase.buy(
            trading_platform.home, call, buyer, print, capacity=CAPACITY
        )
    assert channel["private"]
    await receives(trading_platform, buyer, channel)
    await receives_from_afar(trading_platform, buyer.node)
