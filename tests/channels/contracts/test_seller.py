"""What holds for every seller: the fake one, and a real lnd on a private chain."""

import secrets
from collections.abc import AsyncIterator
from functools import partial

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.direct.connection import SellerConnection
from leyden.channels.direct.rules.fundings import (
    CHILD_VBYTES,
    ChainView,
    WalletTransaction,
)
from leyden.channels.direct.rules.openings import (
    Coin,
    Opening,
    OpeningRefused,
    OpeningState,
)
from leyden.channels.rules.payments import Outpoint
from leyden.errors import NodeRefused, SellerAway
from leyden.values import replace
from tests.channels.contracts.sellers import FakeWorld, LndWorld, World, wanted
from tests.channels.contracts.worlds import FAKE_AND_LND
from tests.waiting import until

STRANGER = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"


@pytest.fixture(params=FAKE_AND_LND)
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    if request.param == "fake":
        yield FakeWorld()
        return
    world = await LndWorld(request.getfixturevalue("treasury")).open()
    yield world
    await world.close()


@pytest.fixture
def order_id() -> str:
    return f"{secrets.token_hex(18)}FO"


def _some() -> int:
    """An amount that no other coin has."""
    return 400_000 + secrets.randbelow(100_000)


async def _is_seen(
    world: World, order_id: str, coin: Coin, state: OpeningState
) -> bool:
    return (await world.seller.find(order_id, [coin])).state is state


async def _is_synced(world: World) -> bool:
    return (await world.seller.wallet()).synced


async def test_its_wallet_is_told(world: World) -> None:
    coin = await world.fill(_some())
    await until(lambda: _is_synced(world))
    wallet = await world.seller.wallet()
    assert coin in wallet.coins
    assert wallet.uri.startswith(wallet.pubkey)
    assert wallet.fee_sat_per_vb >= 1
    assert await world.seller.address()


async def test_inbound_is_what_announced_channels_can_bring_in(world: World) -> None:
    assert await world.seller.connect(world.peer, [world.at])
    before = await world.seller.inbound()
    await world.pay(30_000)
    await until(lambda: _brings_in(world, before + 30_000))


async def _brings_in(world: World, sats: int) -> bool:
    # More, where the channel was not up again when it was first looked at.
    return await world.seller.inbound() >= sats


async def test_a_peer_is_dialled_where_it_is(world: World) -> None:
    assert not await world.seller.connect(STRANGER, ["127.0.0.1:1"])
    await world.part()
    for _ in range(2):
        assert await world.seller.connect(world.peer, ["127.0.0.1:1", world.at])
    assert await world.seller.connect(world.peer, [])


async def test_what_was_never_asked_for_is_not_there(
    world: World, order_id: str
) -> None:
    coin = await world.fill(_some())
    assert await world.seller.find(order_id, [coin]) == Opening(state=OpeningState.NONE)


async def test_a_channel_is_opened_with_its_coin_and_found_by_its_order(
    world: World, order_id: str
) -> None:
    coin = await world.fill(_some())
    assert await world.seller.connect(world.peer, [world.at])
    opening = await world.seller.open(wanted(world, order_id, coin))
    assert isinstance(opening, Opening)
    assert opening.state is OpeningState.PUBLISHED
    assert opening.fee
    assert opening.height
    assert await world.seller.find(order_id, [coin]) == opening
    assert coin not in (await world.seller.wallet()).coins
    await world.mine()
    found = await world.seller.find(order_id, [coin])
    assert found == replace(opening, height=found.height)


async def test_an_open_channel_has_a_short_id(world: World, order_id: str) -> None:
    coin = await world.fill(_some())
    await world.seller.connect(world.peer, [world.at])
    opening = await world.seller.open(wanted(world, order_id, coin))
    assert isinstance(opening, Opening)
    point = opening.channel_point
    assert point not in await world.seller.channel_ids(world.peer)
    await world.mine()

    async def is_told() -> bool:
        return point in await world.seller.channel_ids(world.peer)

    await until(is_told)
    block, transaction, output = map(
        int, (await world.seller.channel_ids(world.peer))[point].split("x")
    )
    assert opening.height < block <= (await world.seller.wallet()).height
    assert transaction > 0
    assert output in {0, 1}
    assert await world.seller.channel_ids(STRANGER) == {}
    await world.close_channel(point)

    async def is_gone() -> bool:
        return point not in await world.seller.channel_ids(world.peer)

    await until(is_gone)


async def test_an_opening_outlives_a_reorganisation(
    world: World, order_id: str
) -> None:
    coin = await world.fill(_some())
    await world.seller.connect(world.peer, [world.at])
    opening = await world.seller.open(wanted(world, order_id, coin))
    assert isinstance(opening, Opening)
    await world.mine()
    await world.reorganise(6)  # the block of the funding transaction, and all after
    found = await world.seller.find(order_id, [coin])
    assert found == replace(opening, height=found.height)
    assert coin not in (await world.seller.wallet()).coins
    await world.mine()


async def test_no_second_channel_comes_of_the_same_coin(
    world: World, order_id: str
) -> None:
    coin = await world.fill(_some())
    await world.seller.connect(world.peer, [world.at])
    first = await world.seller.open(wanted(world, order_id, coin))
    await world.mine()
    again = await world.seller.open(wanted(world, order_id, coin))
    assert isinstance(first, Opening)
    assert isinstance(again, OpeningRefused)
    assert not again.offline
    found = await world.seller.find(order_id, [coin])
    assert found.channel_point == first.channel_point


async def test_a_caller_that_is_gone_finds_its_channel(
    world: World, order_id: str
) -> None:
    coin = await world.fill(_some())
    await world.seller.connect(world.peer, [world.at])
    await world.give_up(wanted(world, order_id, coin))
    await until(lambda: _is_seen(world, order_id, coin, OpeningState.PUBLISHED))
    await world.mine()


async def test_a_channel_that_its_peer_has_closed_is_found_as_opened(
    world: World, order_id: str
) -> None:
    """It was opened, and is paid for, even if nobody has looked until now."""
    opening, coin = await published(world, order_id)
    await world.mine()
    await world.close_channel(opening.channel_point)
    found = await world.seller.find(order_id, [coin])
    assert found == replace(opening, height=found.height)


async def published(world: World, order_id: str) -> tuple[Opening, Coin]:
    coin = await world.fill(_some())
    await world.seller.connect(world.peer, [world.at])
    opening = await world.seller.open(wanted(world, order_id, coin))
    assert isinstance(opening, Opening)
    return opening, coin


async def chain_of(world: World, coin: Coin) -> ChainView:
    wallet = await world.seller.wallet()
    since = max(0, wallet.height - 100)
    return ChainView(
        height=wallet.height,
        sat_per_vb=wallet.fee_sat_per_vb,
        transactions=await world.seller.spending([coin.outpoint], since=since),
    )


async def funding_of(world: World, opening: Opening, coin: Coin) -> WalletTransaction:
    txid = opening.channel_point.partition(":")[0]
    found = (await chain_of(world, coin)).find(txid)
    assert found is not None
    return found


async def test_a_transaction_is_told_with_all_that_a_bump_needs(
    world: World, order_id: str
) -> None:
    opening, coin = await published(world, order_id)
    found = await funding_of(world, opening, coin)
    assert found.confirmations == 0
    assert found.spends == (coin.outpoint,)
    assert found.fee == opening.fee
    assert found.fee == pytest.approx(2 * found.vbytes, abs=4)
    (change,) = found.ours
    assert change.sats == coin.sats - 200_000 - found.fee
    await world.mine()
    assert (await funding_of(world, opening, coin)).confirmations == 6
    await world.unmine(6)

    async def is_unconfirmed() -> bool:
        return (await funding_of(world, opening, coin)).confirmations == 0

    await until(is_unconfirmed)
    await world.mine()


async def test_a_transaction_is_bumped_and_bumped_again(
    world: World, order_id: str
) -> None:
    opening, coin = await published(world, order_id)
    await world.mine_nothing(1)
    (change,) = (await funding_of(world, opening, coin)).ours

    async def is_paid(fee: Sats) -> bool:
        answer = (await chain_of(world, coin)).transactions
        children = [each for each in answer if change.outpoint in each.spends]
        child = max(children, key=lambda each: each.fee, default=None)
        return (
            child is not None
            and child.vbytes == CHILD_VBYTES
            and fee - 1 <= child.fee <= fee  # lnd works in satoshis for 1,000 weight
        )

    for fee in (Sats(2_220), Sats(4_440)):
        for _ in range(2):  # the second time nothing changes
            assert await world.seller.bump(change.outpoint, fee) is None
        await until(partial(is_paid, fee))
        await world.mine_nothing(1)
    await world.mine()
    assert (await funding_of(world, opening, coin)).confirmations >= 6


async def test_its_macaroon_may_do_all_that_is_asked(world: World) -> None:
    assert await world.seller.denied() == []


async def test_a_coin_that_another_transaction_takes_is_told(
    world: World, order_id: str
) -> None:
    coin = await world.fill(_some())
    await world.sign_rival(coin)
    await world.seller.connect(world.peer, [world.at])
    opening = await world.seller.open(wanted(world, order_id, coin))
    assert isinstance(opening, Opening)
    await world.publish_rival()
    await world.mine()
    txid = opening.channel_point.partition(":")[0]
    chain = await chain_of(world, coin)
    assert chain.find(txid) is None
    (rival,) = chain.transactions
    assert rival.confirmations >= 6
    assert rival.spends == (coin.outpoint,)
    assert rival.proven
    await world.abandon(opening.channel_point)


async def test_a_refusal_leaves_the_coin_free(world: World, order_id: str) -> None:
    coin = await world.fill(_some())
    await world.seller.connect(world.peer, [world.at])
    await world.refuse()
    answer = await world.seller.open(wanted(world, order_id, coin))
    assert isinstance(answer, OpeningRefused)
    assert not answer.offline
    assert "exceed" in answer.why
    await until(lambda: _is_seen(world, order_id, coin, OpeningState.NONE))
    assert coin in (await world.seller.wallet()).coins
    await world.mine()


async def test_a_peer_that_is_not_connected_is_told_apart(
    world: World, order_id: str
) -> None:
    coin = await world.fill(_some())
    absent = replace(
        wanted(world, order_id, coin),
        pubkey=STRANGER,
    )
    answer = await world.seller.open(absent)
    assert isinstance(answer, OpeningRefused)
    assert answer.offline


async def test_a_coin_that_is_not_there_opens_nothing(
    world: World, order_id: str
) -> None:
    gone = Coin(sats=Sats(500_000), outpoint=Outpoint("ab" * 32, 0))
    await world.seller.connect(world.peer, [world.at])
    answer = await world.seller.open(wanted(world, order_id, gone))
    assert isinstance(answer, OpeningRefused)
    assert await _is_seen(world, order_id, gone, OpeningState.NONE)


async def test_a_seller_without_an_answer_is_away(world: World, order_id: str) -> None:
    coin = await world.fill(_some())
    ask = wanted(world, order_id, coin)
    await world.leave()
    for call in (
        world.seller.wallet(),
        world.seller.connect(world.peer, []),
        world.seller.find(order_id, []),
        world.seller.open(ask),
        world.seller.closed(),
        world.seller.spending([coin.outpoint], since=0),
        world.seller.bump(coin.outpoint, Sats(1_000)),
        world.seller.denied(),
    ):
        with pytest.raises(SellerAway):
            await call


@pytest.mark.real
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/transactions", {"addr": "sb1q", "amount": "1000"}),
        ("POST", "/v2/wallet/send", {}),
        ("POST", "/v2/router/send", {"payment_request": "lnsb1"}),
        ("POST", "/v1/macaroon", {"permissions": []}),
        ("DELETE", f"/v1/channels/{'ab' * 32}/0", None),
        ("POST", "/v2/wallet/psbt/fund", {"raw": {}}),
        ("POST", "/v1/invoices", {"value": "1"}),
    ],
)
async def test_its_macaroon_opens_and_nothing_else(
    request: pytest.FixtureRequest,
    method: str,
    path: str,
    body: dict[str, object] | None,
) -> None:
    world = await LndWorld(request.getfixturevalue("treasury")).open()
    ours = SellerConnection(world.as_seller())
    try:
        with pytest.raises(NodeRefused, match="permission denied"):
            if path.startswith("/v2/router") or method == "DELETE":
                async for _ in ours.stream(method, path, body):
                    pass
            else:
                await ours.call(method, path, body)
    finally:
        await ours.close()
        await world.close()
