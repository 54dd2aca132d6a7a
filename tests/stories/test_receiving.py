"""A node that bought a channel receives through it, with everything real.

test_buy_inbound.py has the same for a ticket.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from leyden_workshop.devnet import direct_purchase, lsps1_purchase, receiving, wallet
from leyden_workshop.devnet.calls import calling
from leyden_workshop.devnet.direct_purchase import Recipient
from leyden_workshop.devnet.wallet import Wallet
from tests.stories.test_direct_channel import stranger
from tests.stories.town import Town

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]
CAPACITY = 300_000


@pytest_asyncio.fixture(loop_scope="session")
async def buyer(
    market_town: Town, real_lnd: Path, memory_path: Path
) -> AsyncIterator[Recipient]:
    """A new node without any channel, whose peers are only those it buys from."""
    await market_town.spend_credit()
    folder = memory_path / "stranger"
    async with (
        stranger(market_town, real_lnd, folder) as lnd,
        wallet.opened(lnd) as node,
    ):

        async def is_synced() -> bool:
            return (await node.height())[1]

        await market_town.until("the node is synced", is_synced)
        key = await node.key()
        yield Recipient(key, {"node": f"{key}@{lnd.peer}"}, node)


async def receives(town: Town, to: Recipient, bought: dict[str, Any]) -> None:
    """Hold that the customer's payments arrive through this channel, the only one."""
    assert isinstance(to.node, Wallet)
    sats = await receiving.receive(town.home, to.node, bought)
    await town.run("dev", "pay", await to.node.invoice(5_000))
    (channel,) = await to.node.channels()
    assert channel["channel_point"] == bought["channel_point"]
    assert int(channel["local_balance"]) == sats + 5_000


@pytest.mark.parametrize("announce", [False, True], ids=["private", "announced"])
async def test_direct_channel_receives_payments_of_the_customer(
    market_town: Town, buyer: Recipient, *, announce: bool
) -> None:
    to = Recipient(buyer.key, {**buyer.wish, "announce": announce}, buyer.node)
    async with calling(market_town.home) as call:
        _, channel = await direct_purchase.buy(
            market_town.home, call, to, print, capacity=CAPACITY
        )
    assert channel["private"] is not announce
    await receives(market_town, buyer, channel)
    seller = json.loads(await market_town.run("seller", "--json"))
    assert seller["unreachable"] is None


async def test_lsps1_channel_receives_payments_of_the_customer(
    market_town: Town, buyer: Recipient
) -> None:
    assert isinstance(buyer.node, Wallet)
    async with calling(market_town.home) as call:
        info = await call("GET", "/lsps1/v1/get_info", None)
        key, _, at = info["uris"][0].partition("@")
        await buyer.node.connect(key, at=at)
        _, channel = await lsps1_purchase.buy(
            market_town.home, call, buyer, print, capacity=CAPACITY
        )
    assert channel["private"]
    await receives(market_town, buyer, channel)
