"""What becomes of a published channel whose transaction no block takes.

The seller's lnd, the chain and the platform are real. Blocks that take nothing are made
by hand: btcd's own miner takes everything.
"""

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from leyden.base import processes
from leyden.base.processes.daemons import claim
from leyden.base.rules.units import Sats
from leyden.channels.direct.rules.openings import Coin
from leyden.channels.rules.payments import Outpoint
from leyden_workshop.devnet import access, actions, wallet
from leyden_workshop.devnet.chain import Chain, connected
from leyden_workshop.devnet.wallet import Wallet
from tests.channels.contracts.rivals import abandon, mine_nothing, rival_of
from tests.stories.test_direct_channel import (
    channels_of,
    check,
    customers,
    seller_answers,
)
from tests.stories.town import Town

pytestmark = [
    pytest.mark.real,
    pytest.mark.long,  # the platform looks once a minute
    pytest.mark.timeout(900),
    pytest.mark.asyncio(loop_scope="session"),
]
_LOOKS_S = 180


@contextlib.asynccontextmanager
async def chain_of(town: Town) -> AsyncIterator[Chain]:
    async with connected(access.load(town.home).btcd) as chain:
        yield chain


@contextlib.asynccontextmanager
async def seller_of(town: Town) -> AsyncIterator[Wallet]:
    async with wallet.opened(access.load(town.home).lnds["seller"]) as seller:
        yield seller


async def unconfirmed(town: Town, order_id: str) -> dict[str, Any] | None:
    """Return what `leyden seller` says of an order's transaction."""
    told = json.loads(await town.run("seller", "--json"))
    assert told["denied"] == []
    found = [each for each in told["fundings"] if each["order_id"] == order_id]
    return found[0] if found else None


async def bumped(town: Town, order_id: str, times: int) -> bool:
    found = await unconfirmed(town, order_id)
    assert found is not None
    assert found["bumps"] <= times
    return bool(found["bumps"] == times and found["answer"] == "taken")


async def is_confirmed(town: Town, order_id: str) -> bool:
    return await unconfirmed(town, order_id) is None


async def is_unconfirmed(town: Town, order_id: str) -> bool:
    return await unconfirmed(town, order_id) is not None


async def children_of(town: Town, channel_point: str) -> list[int]:
    """Return the fees of what spends the change of a funding."""
    txid = channel_point.partition(":")[0]
    async with seller_of(town) as seller:
        told = await seller.call("GET", "/v1/transactions?start_height=0&end_height=-1")
    return sorted(
        int(each["total_fees"])
        for each in told["transactions"]
        if any(
            spent["outpoint"].startswith(txid) for spent in each["previous_outpoints"]
        )
    )


async def test_one_that_never_confirms_is_bumped_and_confirms(
    market_town: Town,
) -> None:
    """Killed after the bump, the seller's lnd is asked for no more than one again."""
    town = market_town
    order = await customers(town)
    found = await order.becomes("filled")
    await order.paying
    point = found["channel_point"]
    async with chain_of(town) as chain:
        await mine_nothing(chain, 12)
        await town.until(
            "it is bumped", partial(bumped, town, order.id, 1), seconds=_LOOKS_S
        )
        running = processes.holder(claim(access.folder(town.home) / "seller"))
        assert running is not None
        processes.signal(running, signal.SIGKILL)
        await asyncio.sleep(1)
        await town.until("the seller is there", partial(seller_answers, town))
        assert len(await children_of(town, point)) == 1
        await mine_nothing(chain, 6)
        await town.until(
            "it is bumped again", partial(bumped, town, order.id, 2), seconds=_LOOKS_S
        )
        first, *_, second = await children_of(town, point)
        assert second >= first * 5 // 4
    await check(town)
    await town.until(
        "it is confirmed", partial(is_confirmed, town, order.id), seconds=_LOOKS_S
    )
    assert await channels_of(town, order.id) == [point]


async def test_a_reorganisation_moves_nothing(market_town: Town) -> None:
    town = market_town
    order = await customers(town)
    await order.becomes("filled")
    await order.paying
    credit = await town.credit()
    await town.run("dev", "mine", "3")
    await town.until(
        "it is confirmed", partial(is_confirmed, town, order.id), seconds=_LOOKS_S
    )
    async with chain_of(town) as chain:
        first = await chain.call("getblockhash", await chain.height() - 2)
        await chain.call("invalidateblock", first)
        await mine_nothing(chain, 4)
    await town.until(
        "it is reorganised", partial(is_unconfirmed, town, order.id), seconds=_LOOKS_S
    )
    await order.becomes("filled")
    assert await town.credit() == credit
    await check(town)
    await town.until(
        "it is confirmed again", partial(is_confirmed, town, order.id), seconds=_LOOKS_S
    )


async def test_one_whose_coin_is_spent_elsewhere_is_credited(market_town: Town) -> None:
    town = market_town
    async with seller_of(town) as seller:
        told = await seller.call("GET", "/v1/utxos?min_confs=1&max_confs=2147483647")
        rivals = {}
        for each in told["utxos"]:
            at = Outpoint(
                each["outpoint"]["txid_str"], int(each["outpoint"]["output_index"])
            )
            coin = Coin(sats=Sats(int(each["amount_sat"])), outpoint=at)
            rivals[str(at)] = await rival_of(seller, coin, sat_per_vb=500)
    order = await customers(town)
    found = await order.becomes("filled")
    await order.paying
    point = found["channel_point"]
    async with seller_of(town) as seller:
        told = await seller.call("GET", "/v1/transactions?start_height=0&end_height=-1")
    (funding,) = [
        each for each in told["transactions"] if point.startswith(each["tx_hash"])
    ]
    (spent,) = funding["previous_outpoints"]
    async with chain_of(town) as chain:
        await chain.call("sendrawtransaction", rivals[spent["outpoint"]])
    await actions.mine(town.home, 6)
    assert "the books are right" in await town.run("verify")
    lost = await order.becomes("failed", seconds=_LOOKS_S)
    assert lost["total_fee"] == found["total_fee"]
    assert await town.credit() == found["total_fee"]
    assert "can never open" in await town.run("orders")
    lnds = access.load(town.home).lnds
    for name in ("seller", "customer"):
        async with wallet.opened(lnds[name]) as each:
            await abandon(each, point)
    await check(town)
