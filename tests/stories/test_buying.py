"""A second installation buys from the first one, over LSPS1, and sells to its customer.

The first one, its seller, the chain, the lnd that pays and the node that gets a channel
are real. Of the second one only its customers' payments are not: they pay with credit.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from leyden.base.database.database import open_database
from leyden.base.database.secrets import Sealer
from leyden.base.rules.times import utc_now
from leyden.base.rules.units import Sats
from leyden.channels.direct.base import Lsps
from leyden.channels.direct.buying.http_lsp import HttpLsp
from leyden.channels.direct.connection import BUYING_PERMISSIONS
from leyden.channels.direct.lnd_payer import LndPayer
from leyden.channels.direct.rules.purchases import LspPurchaseStatus
from leyden.channels.direct.rules.wrapped import PaidState
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import OrderStatus
from leyden.channels.rules.payments import Outpoint
from leyden.channels.rules.pricing import Channel
from leyden.channels.rules.sources import Source
from leyden.channels.services import BuyingSettings
from leyden.values import replace
from leyden_workshop.devnet import access, seller
from leyden_workshop.devnet.wallet import Wallet
from tests.channels.contracts.treasuries import owners_access
from tests.channels.orders_harness import HARBOUR, OrdersHarness
from tests.stories.platform import RunningPlatform
from tests.stories.test_receiving import new_buyer, receives, receives_from_afar

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]

_CREDIT = 100_000
_CAPACITY = Sats(400_000)


@pytest_asyncio.fixture(loop_scope="session")
async def reseller(
    trading_platform: RunningPlatform,
    sqlite_template: Path,
    sealer: Sealer,
    tmp_path: Path,
) -> AsyncIterator[OrdersHarness]:
    """An installation whose LSP is the first one."""
    shutil.copy(sqlite_template, tmp_path / "leyden.db")
    database = await open_database(f"sqlite:///{tmp_path}/leyden.db")
    lnd = access.load(trading_platform.home).lnds["customer"]
    macaroon = tmp_path / "buy.macaroon"
    await seller.bake_into(macaroon, lnd, BUYING_PERMISSIONS)
    url = f"{trading_platform.facts['base_url']}/lsps1/v1"
    harness = OrdersHarness(database=database, sealer=sealer, now=utc_now())
    harness.lsps = Lsps((url,), HttpLsp)
    harness.payer = LndPayer(replace(owners_access(lnd), macaroon=macaroon))
    harness.rules = replace(
        harness.rules, sources=(Source.LSPS1,), buying=BuyingSettings()
    )
    await harness.open()
    try:
        yield harness
        await harness.prove()
    finally:
        await harness.lsps.close()
        await harness.payer.close()
        await database.close()


async def test_a_channel_is_bought_and_resold(
    trading_platform: RunningPlatform,
    reseller: OrdersHarness,
    real_lnd: Path,
    memory_path: Path,
) -> None:
    async with new_buyer(trading_platform, real_lnd, memory_path / "buyer") as buyer:
        node = buyer.node
        assert isinstance(node, Wallet)
        wanted = Channel(capacity=_CAPACITY, node_key=buyer.key)
        await reseller.give_credit(_CREDIT)
        order = await reseller.create(wanted)
        purchase = await reseller.database.reader.purchases.find(order.id)
        assert purchase is not None
        key, _, host = purchase.uri.partition("@")
        await node.connect(key, at=host)
        async with asyncio.timeout(120):
            while (status := await reseller.status(order)) is not OrderStatus.FILLED:
                assert status is not OrderStatus.FAILED
                reseller.now = utc_now()
                await reseller.settle_down()
                purchase = await reseller.database.reader.purchases.find(order.id)
                assert purchase is not None
                if purchase.status is LspPurchaseStatus.PAID:
                    await trading_platform.run("dev", "mine", "1")
                await asyncio.sleep(0.5)
        order = await reseller.get(order)
        await trading_platform.run("dev", "mine", "6")

        async def is_open() -> bool:
            points = [each["channel_point"] for each in await node.channels()]
            return order.channel_point in points

        await trading_platform.until("the node has the channel", is_open)
        (channel,) = await node.channels()
        await receives(trading_platform, buyer, channel)
        await receives_from_afar(trading_platform, node)
    # What was asked for a price is never paid, and stands in the way of others' tests.
    for each in (await trading_platform.api("GET", "/flow/orders"))["orders"]:
        if each["status"] == "waiting_payment":
            body = {"order_id": each["order_id"]}
            await trading_platform.api("POST", "/flow/cancel", body)
    payer = reseller.payer
    assert payer is not None
    assert (await payer.payment(purchase.payment_hash)).state is PaidState.SUCCEEDED
    txid, _, vout = order.channel_point.partition(":")
    found = await payer.output_sats(Outpoint(txid, int(vout)), since=purchase.height)
    assert found == _CAPACITY
    spent = await reseller.balance_of(ledger.LSPS)
    assert spent == purchase.price + purchase.routing_fee > 0
    assert await reseller.balance_of(ledger.EARNED) == order.quote.service_fee
    left = _CREDIT - spent - order.quote.service_fee
    assert await reseller.credit(HARBOUR) == left
