"""Channels that are usable before they confirm, between two real lnds.

lnd lists such a channel among the open ones from its signing on, so being open proves
no publication. The conflict is made while the peer is asked: another transaction with
the same coin goes out before the funding transaction can.
"""

import asyncio
import base64
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from leyden.channels.direct.rules.openings import (
    Coin,
    Opening,
    OpeningState,
    takes_zero_conf,
)
from leyden.customer.channel_acceptor import answer
from leyden.lnd.trust import trusting
from leyden.nodes.lnd.client import connect
from leyden.nodes.lnd.states import TlsAddress
from leyden.values import replace
from leyden_workshop.devnet import access
from leyden_workshop.devnet.chain import connected
from tests.channels.contracts.sellers import LndWorld, wanted
from tests.channels.contracts.treasuries import TreasuryHarness
from tests.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]


@pytest.fixture
async def world(treasury: TreasuryHarness) -> AsyncIterator[LndWorld]:
    world = await LndWorld(treasury).open()
    yield world
    await world.close()


async def nothing() -> None:
    """Do nothing before the answer."""


@asynccontextmanager
async def accepting(
    world: LndWorld, *, first: Callable[[], Awaitable[None]] = nothing
) -> AsyncIterator[None]:
    """Let the peer take channels of the seller, after something else was done."""
    reached = world.harness.treasury_access()
    key = (await world.seller.wallet()).pubkey
    tls = trusting(reached.certificate.read_text())
    address = TlsAddress(reached.host, reached.port, reached.host)
    async with (
        connect(address, tls) as lnd,
        lnd.socket(
            "/v1/channels/acceptor", macaroon=reached.macaroon.read_bytes().hex()
        ) as socket,
    ):

        async def accept() -> None:
            async for message in socket:
                await first()
                body = json.loads(message.data)["result"]
                await socket.send_json(answer(body, key))

        accepts = asyncio.create_task(accept())
        await asyncio.sleep(1)
        yield
        accepts.cancel()
        await asyncio.gather(accepts, return_exceptions=True)


async def conflicting(world: LndWorld, coin: Coin) -> str:
    """Return a transaction of the seller's own that spends the coin, not yet sent."""
    call = world.owner.call
    to = (await call("GET", "/v1/newaddress?type=TAPROOT_PUBKEY"))["address"]
    at = {"txid_str": coin.outpoint.txid, "output_index": coin.outpoint.vout}
    funded = await call(
        "POST",
        "/v2/wallet/psbt/fund",
        {
            "raw": {"outputs": {to: str(coin.sats - 100_000)}, "inputs": [at]},
            "sat_per_vbyte": "20",
        },
    )
    psbt = {"funded_psbt": funded["funded_psbt"]}
    made = await call("POST", "/v2/wallet/psbt/finalize", psbt)
    for each in funded["locked_utxos"]:
        lease = {"id": each["id"], "outpoint": each["outpoint"]}
        await call("POST", "/v2/wallet/utxos/release", lease)
    return base64.b64decode(made["raw_final_tx"]).hex()


async def forget(world: LndWorld, opening: Opening) -> None:
    """Let both lnds forget a channel, and confirm whatever there is."""
    txid, _, vout = opening.channel_point.partition(":")
    sure = "i_know_what_i_am_doing=true"
    for owner in (world.owner, world._peers):
        await owner.call("DELETE", f"/v1/channels/abandon/{txid}/{vout}?{sure}")
    await world.mine()


async def test_it_is_published_and_found_before_a_block(world: LndWorld) -> None:
    order_id = f"{secrets.token_hex(18)}FO"
    coin = await world.fill(451_000)
    assert await world.seller.connect(world.peer, [world.at])

    async def has_told() -> bool:
        return await world.seller.features(world.peer) is not None

    await until(has_told)
    features = await world.seller.features(world.peer)
    assert features is not None
    assert takes_zero_conf(features)
    assert await world.seller.features("02" + "ab" * 32) is None
    async with accepting(world):
        request = replace(wanted(world, order_id, coin), zero_conf=True)
        opening = await world.seller.open(request)
    assert isinstance(opening, Opening)
    assert opening.state is OpeningState.PUBLISHED

    async def is_open() -> bool:
        answer = await world.owner.call("GET", "/v1/channels")
        return any(
            each["memo"] == order_id and each["active"] for each in answer["channels"]
        )

    await until(is_open)
    assert await world.seller.find(order_id, [coin]) == opening
    await world.mine()
    found = await world.seller.find(order_id, [coin])
    assert found == replace(opening, height=found.height)


async def test_open_and_not_published_is_not_published(world: LndWorld) -> None:
    order_id = f"{secrets.token_hex(18)}FO"
    coin = await world.fill(461_000)
    raw = await conflicting(world, coin)

    async def spend() -> None:
        async with connected(access.load(world.harness.home).btcd) as chain:
            await chain.call("sendrawtransaction", raw)
        await asyncio.sleep(1)

    assert await world.seller.connect(world.peer, [world.at])
    async with accepting(world, first=spend):
        request = replace(wanted(world, order_id, coin), zero_conf=True)
        opening = await world.seller.open(request)
    assert isinstance(opening, Opening)
    assert opening.state is OpeningState.UNPUBLISHED

    async def is_open() -> bool:
        answer = await world.owner.call("GET", "/v1/channels")
        return any(each["memo"] == order_id for each in answer["channels"])

    await until(is_open)
    found = await world.seller.find(order_id, [coin])
    assert found == replace(opening, height=found.height)
    await forget(world, opening)
