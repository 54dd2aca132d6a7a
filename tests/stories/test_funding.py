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
from leyden_workshop.devnet.chain import BtcdChain, connected
from leyden_workshop.devnet.wallet import Wallet
from tests.channels.contracts.rivals import abandon, mine_nothing, rival_of
from tests.stories.platform import RunningPlatform
from tests.stories.test_direct_channel import (
    channels_of,
    check,
    customers,
    seller_answers,
)

pytestmark = [
    pytest.mark.real,
    pytest.mark.long,  # the platform looks once a minute
    pytest.mark.timeout(900),
    pytest.mark.asyncio(loop_scope="session"),
]
_LOOKS_S = 180


@contextlib.asynccontextmanager
async def chain_of(platform: RunningPlatform) -> AsyncIterator[BtcdChain]:
    async with connected(access.load(platform.home).btcd) as chain:
        yield chain


@contextlib.asynccontextmanager
async def seller_of(platform: RunningPlatform) -> AsyncIterator[Wallet]:
    async with wallet.opened(access.load(platform.home).lnds["seller"]) as seller:
        yield seller


async def unconfirmed(
    platform: RunningPlatform, order_id: str
) -> dict[str, Any] | None:
    """Return what `leyden seller` says of an order's transaction."""
    body = json.loads(await platform.run("seller", "--json"))
    assert body["denied"] == []
    found = [each for each in body["fundings"] if each["order_id"] == order_id]
    return found[0] if found else None


async def bumped(platform: RunningPlatform, order_id: str, times: int) -> bool:
    found = await unconfirmed(platform, order_id)
    assert found is not None
    assert found["bumps"] <= times
    return bool(found["bumps"] == times and found["answer"] == "taken")


async def is_confirmed(platform: RunningPlatform, order_id: str) -> bool:
    return await unconfirmed(platform, order_id) is None


async def is_unconfirmed(platform: RunningPlatform, order_id: str) -> bool:
    return await unconfirmed(platform, order_id) is not None


async def children_of(platform: RunningPlatform, channel_point: str) -> list[int]:
    """Return the fees of what spends the change of a funding."""
    txid = channel_point.partition(":")[0]
    async with seller_of(platform) as seller:
        answer = await seller.call(
            "GET", "/v1/transactions?start_height=0&end_height=-1"
        )
    return sorted(
        int(each["total_fees"])
        for each in answer["transactions"]
        if any(
            spent["outpoint"].startswith(txid) for spent in each["previous_outpoints"]
        )
    )


async def test_one_that_never_confirms_is_bumped_and_confirms(
    trading_platform: RunningPlatform,
) -> None:
    """Killed after the bump, the seller's lnd is asked for no more than one again."""
    platform = trading_platform
    order = await customers(platform)
    found = await order.becomes("filled")
    await order.paying
    point = found["channel_point"]
    async with chain_of(platform) as chain:
        await mine_nothing(chain, 12)
        await platform.until(
            "it is bumped", partial(bumped, platform, order.id, 1), seconds=_LOOKS_S
        )
        running = processes.holder(claim(access.folder(platform.home) / "seller"))
        assert running is not None
        processes.signal(running, signal.SIGKILL)
        await asyncio.sleep(1)
        await platform.until("the seller is there", partial(seller_answers, platform))
        assert len(await children_of(platform, point)) == 1
        await mine_nothing(chain, 6)
        await platform.until(
            "it is bumped again",
            partial(bumped, platform, order.id, 2),
            seconds=_LOOKS_S,
        )
        first, *_, second = await children_of(platform, point)
        assert second >= first * 5 // 4
    await check(platform)
    await platform.until(
        "it is confirmed", partial(is_confirmed, platform, order.id), seconds=_LOOKS_S
    )
    assert await channels_of(platform, order.id) == [point]


async def test_a_reorganisation_moves_nothing(
    trading_platform: RunningPlatform,
) -> None:
    platform = trading_platform
    order = await customers(platform)
    await order.becomes("filled")
    await order.paying
    credit = await platform.credit()
    await platform.run("dev", "mine", "3")
    await platform.until(
        "it is confirmed", partial(is_confirmed, platform, order.id), seconds=_LOOKS_S
    )
    async with chain_of(platform) as chain:
        first = await chain.call("getblockhash", await chain.height() - 2)
        await chain.call("invalidateblock", first)
        await mine_nothing(chain, 4)
    await platform.until(
        "it is reorganised",
        partial(is_unconfirmed, platform, order.id),
        seconds=_LOOKS_S,
    )
    await order.becomes("filled")
    assert await platform.credit() == credit
    await check(platform)
    await platform.until(
        "it is confirmed again",
        partial(is_confirmed, platform, order.id),
        seconds=_LOOKS_S,
    )


async def test_one_whose_coin_is_spent_elsewhere_is_credited(
    trading_platform: RunningPlatform,
) -> None:
    platform = trading_platform
    async with seller_of(platform) as seller:
        answer = await seller.call("GET", "/v1/utxos?min_confs=1&max_confs=2147483647")
        rivals = {}
        for each in answer["utxos"]:
            at = Outpoint(
                each["outpoint"]["txid_str"], int(each["outpoint"]["output_index"])
            )
            coin = Coin(sats=Sats(int(each["amount_sat"])), outpoint=at)
            rivals[str(at)] = await rival_of(seller, coin, sat_per_vb=500)
    order = await customers(platform)
    found = await order.becomes("filled")
    await order.paying
    point = found["channel_point"]
    async with seller_of(platform) as seller:
        answer = await seller.call(
            "GET", "/v1/transactions?start_height=0&end_height=-1"
        )
    (funding,) = [
        each for each in answer["transactions"] if point.startswith(each["tx_hash"])
    ]
    (spent,) = funding["previous_outpoints"]
    async with chain_of(platform) as chain:
        await chain.call("sendrawtransaction", rivals[spent["outpoint"]])
    await actions.mine(platform.home, 6)
    assert "the books are right" in await platform.run("verify")
    lost = await order.becomes("failed", seconds=_LOOKS_S)
    assert lost["total_fee"] == found["total_fee"]
    assert await platform.credit() == found["total_fee"]
    assert "can never open" in await platform.run("orders", "list", "--needs-attention")
    lnds = access.load(platform.home).lnds
    for name in ("seller", "customer"):
        async with wallet.opened(lnds[name]) as each:
            await abandon(each, point)
    await check(platform)
