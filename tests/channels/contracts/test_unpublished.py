"""What holds for channels that are published later: in memory, and with real lnds."""

import secrets
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, nullcontext

import pytest

from leyden.channels.direct.base import Unpublished, WantedOpening
from leyden.channels.direct.lnd_unpublished import LndUnpublished
from leyden.channels.direct.rules.openings import Coin, Opening, OpeningState
from leyden.channels.direct.rules.transactions import txid_of
from leyden.values import replace
from leyden_workshop.devnet import purse
from tests.channels.contracts.sellers import FakeWorld, LndWorld, World, wanted
from tests.channels.contracts.test_zero_conf import accepting
from tests.channels.contracts.treasuries import TreasuryHarness
from tests.channels.contracts.worlds import FAKE_AND_LND
from tests.fakes.forwarding import FakeForwarding
from tests.fakes.unpublished import FakeUnpublished


class Purse:
    """A purse, and a peer that takes its channels."""

    def __init__(self, world: World, unpublished: Unpublished) -> None:
        self.world, self.unpublished = world, unpublished
        self.stored: list[str] = []

    def accepting(self) -> AbstractAsyncContextManager[None]:
        """Let the peer take channels without confirmations."""
        if isinstance(self.world, LndWorld):
            return accepting(self.world)
        return nullcontext()

    async def store(self, transaction: str) -> None:
        self.stored.append(transaction)

    async def request(self, sats: int) -> tuple[WantedOpening, Coin]:
        coin = await self.world.fill(sats)
        assert await self.world.seller.connect(self.world.peer, [self.world.at])
        order_id = secrets.token_hex(18)
        return replace(wanted(self.world, order_id, coin), zero_conf=True), coin

    async def state(self, request: WantedOpening) -> OpeningState:
        found = await self.world.seller.find(request.order_id, request.coins)
        return found.state


@pytest.fixture(params=FAKE_AND_LND)
async def own(request: pytest.FixtureRequest) -> AsyncIterator[Purse]:
    if request.param == "fake":
        fake = FakeWorld()
        yield Purse(fake, FakeUnpublished(FakeForwarding(fake.seller)))
        return
    harness: TreasuryHarness = request.getfixturevalue("treasury")
    world = await LndWorld(harness).open()
    await purse.bake(harness.customer, harness.home)
    access = replace(world.as_seller(), macaroon=purse.macaroon(harness.home))
    unpublished = LndUnpublished(access)
    yield Purse(world, unpublished)
    await unpublished.close()
    await world.close()


async def test_it_is_published_when_we_say_so(own: Purse) -> None:
    request, coin = await own.request(471_000)
    async with own.accepting():
        opening = await own.unpublished.open(request, own.store)
    assert isinstance(opening, Opening)
    assert opening.state is OpeningState.UNPUBLISHED
    (transaction,) = own.stored
    assert opening.channel_point.startswith(txid_of(transaction))
    assert await own.state(request) is OpeningState.UNPUBLISHED
    assert (await own.world.seller.wallet()).locked >= coin.sats
    for _ in range(2):
        publish = own.unpublished.publish
        assert await publish(request.order_id, transaction, request.coins) == ""
        found = await own.world.seller.find(request.order_id, request.coins)
        assert found.state is OpeningState.PUBLISHED
        assert found.channel_point == opening.channel_point
        assert found.fee
    wallet = await own.world.seller.wallet()
    assert coin not in wallet.coins
    assert wallet.locked == 0
    await own.world.mine()


async def test_it_is_given_up_and_its_coins_are_free(own: Purse) -> None:
    request, coin = await own.request(481_000)
    async with own.accepting():
        opening = await own.unpublished.open(request, own.store)
    assert isinstance(opening, Opening)
    for _ in range(2):
        await own.unpublished.give_up(
            request.order_id, opening.channel_point, request.coins
        )
        assert await own.state(request) is OpeningState.NONE
        wallet = await own.world.seller.wallet()
        assert coin in wallet.coins
        assert wallet.locked == 0


async def test_what_is_not_stored_is_not_opened(own: Purse) -> None:
    request, coin = await own.request(491_000)

    async def lose(transaction: str) -> None:
        raise KeyError(transaction)

    with pytest.raises(KeyError):
        async with own.accepting():
            await own.unpublished.open(request, lose)
    assert await own.state(request) is OpeningState.UNDECIDED
    await own.unpublished.give_up(request.order_id, "", request.coins)
    assert await own.state(request) is OpeningState.NONE
    assert coin in (await own.world.seller.wallet()).coins
    # The same is asked for again.
    async with own.accepting():
        opening = await own.unpublished.open(request, own.store)
    assert isinstance(opening, Opening)
    await own.unpublished.give_up(
        request.order_id, opening.channel_point, request.coins
    )


async def test_our_macaroon_has_all_permissions(own: Purse) -> None:
    assert await own.unpublished.denied() == []
