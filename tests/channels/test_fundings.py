"""Funding transactions of published channels: bumped, buried, reorganised, lost."""

from collections.abc import AsyncIterator, Collection
from itertools import pairwise

import pytest

from leyden.base.rules.units import Sats
from leyden.channels import leased_channels
from leyden.channels.direct import funding_watch, seller_watch
from leyden.channels.direct.base import BumpRefused
from leyden.channels.direct.rows.fundings import KnownBump
from leyden.channels.direct.rules.fundings import (
    CHILD_VBYTES,
    Funding,
    FundingRules,
    FundingState,
    Obstacle,
    WalletTransaction,
)
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import Order, Status
from leyden.channels.rules.payments import Outpoint
from leyden.errors import SellerAway
from leyden.values import replace
from tests.channels.shop_harness import HARBOUR, ShopHarness
from tests.channels.test_direct_channels import PEER, PRICE, channel, paid
from tests.conftest import NOW
from tests.events.told import types_told
from tests.fakes.channels import FEE_VBYTES
from tests.fakes.seller import FakeSeller

RULES = FundingRules(bump_after=12, bump_again=6, highest_sat_per_vb=40)


@pytest.fixture
async def shop(harness: ShopHarness) -> AsyncIterator[ShopHarness]:
    harness.rules = replace(harness.rules, fundings=RULES)
    harness.seller.fill([3_000_000, 3_000_000])
    harness.seller.online.add(PEER)
    yield harness
    await harness.prove()


async def filled(shop: ShopHarness) -> Order:
    order = await paid(shop, await shop.create(channel()))
    assert order.status is Status.FILLED
    return order


async def blocks(shop: ShopHarness, number: int) -> None:
    """Find so many blocks, and look after each."""
    for _ in range(number):
        shop.seller.height += 1
        await seller_watch.check(shop.shop)


async def watched(shop: ShopHarness) -> Funding:
    (found,) = await shop.database.reader.fundings.watched()
    return found


async def bumps(shop: ShopHarness, order: Order) -> list[KnownBump]:
    return await shop.database.reader.fundings.bumps_of(order.id)


async def test_a_confirmed_funding_is_watched_until_it_is_buried(
    shop: ShopHarness,
) -> None:
    order = await filled(shop)
    assert (await watched(shop)).state is FundingState.UNCONFIRMED
    await blocks(shop, 1)
    assert (await watched(shop)).state is FundingState.CONFIRMED
    await blocks(shop, 99)
    assert await shop.database.reader.fundings.watched() == []
    assert await bumps(shop, order) == []


async def test_one_whose_block_cannot_be_proven_is_watched_on(
    shop: ShopHarness,
) -> None:
    await filled(shop)
    shop.seller.proves = False
    await blocks(shop, 101)
    assert (await watched(shop)).state is FundingState.CONFIRMED, "and not buried"
    shop.seller.proves = True
    await blocks(shop, 1)
    assert await shop.database.reader.fundings.watched() == []


async def test_all_that_no_block_has_are_found_however_many(shop: ShopHarness) -> None:
    first = await filled(shop)
    await blocks(shop, 1)
    second = await filled(shop)
    for at_a_time in (1, 2, 500):
        found = await shop.database.reader.fundings.unconfirmed(at_a_time=at_a_time)
        assert [each.order_id for each in found] == [second.id]
    assert len(await shop.database.reader.fundings.watched()) == 2
    assert first.id != second.id


async def test_one_that_no_block_takes_is_bumped_and_confirms(
    shop: ShopHarness,
) -> None:
    shop.seller.mined_from = 30
    order = await filled(shop)
    shop.seller.fee_sat_per_vb = 30
    await blocks(shop, 11)
    assert await bumps(shop, order) == []
    await blocks(shop, 1)
    (bump,) = await bumps(shop, order)
    assert (bump.sat_per_vb, bump.answer) == (30, "taken")
    ((outpoint, fee),) = shop.seller.bumps
    assert outpoint.txid == order.channel_point.partition(":")[0]
    assert fee == bump.fee == 30 * (FEE_VBYTES + CHILD_VBYTES) - 10 * FEE_VBYTES
    await blocks(shop, 1)
    assert (await watched(shop)).state is FundingState.CONFIRMED
    assert (await types_told(shop.database, HARBOUR)).count("channel.fee_bumped") == 1


async def test_it_is_bumped_step_by_step_until_the_highest_rate(
    shop: ShopHarness,
) -> None:
    """An estimate that is too low does not stop it; the cap does, and is an alarm."""
    shop.seller.mined_from = 1_000
    order = await filled(shop)
    await blocks(shop, 60)
    rates = [each.sat_per_vb for each in await bumps(shop, order)]
    assert rates == [12, 15, 18, 22, 27, 33, 40]
    heights = [each.height for each in await bumps(shop, order)]
    assert {b - a for a, b in pairwise(heights)} == {6}
    assert (await watched(shop)).obstacle is Obstacle.CAPPED
    assert max(fee for _, fee in shop.seller.bumps) <= 40 * (FEE_VBYTES + CHILD_VBYTES)


async def test_whoever_dies_while_it_is_bumped_bumps_no_second_time(
    shop: ShopHarness,
) -> None:
    shop.seller.mined_from = 1_000
    order = await filled(shop)
    shop.seller.answers_lost = 99
    for _ in range(12):
        shop.seller.height += 1
    with pytest.raises(SellerAway):
        await seller_watch.check(shop.shop)
    for _ in range(5):
        await seller_watch.check(shop.shop)
    (bump,) = await bumps(shop, order)
    assert bump.answer == ""
    assert len(shop.seller.bumps) == 1
    shop.seller.answers_lost = 0
    await blocks(shop, 6)
    assert len(shop.seller.bumps) == 2


async def test_a_macaroon_that_may_not_bump_is_told(shop: ShopHarness) -> None:
    shop.seller.mined_from, shop.seller.bumpable = 1_000, False
    order = await filled(shop)
    await blocks(shop, 12)
    assert (await watched(shop)).obstacle is Obstacle.FORBIDDEN
    (bump,) = await bumps(shop, order)
    assert bump.answer == "permission denied"
    assert "channel.fee_bumped" not in await types_told(shop.database, HARBOUR)


async def test_one_without_change_cannot_be_bumped(shop: ShopHarness) -> None:
    shop.seller.mined_from = 1_000
    shop.rules = replace(shop.rules, fundings=FundingRules())
    shop.seller.coins.clear()
    shop.seller.fill([1_015_000, 2_000_000])
    order = await filled(shop)
    shop.seller.fee_sat_per_vb = 100
    await blocks(shop, 12)
    assert (await watched(shop)).obstacle is Obstacle.NO_CHANGE
    assert await bumps(shop, order) == []


async def test_a_reorganisation_moves_no_money_and_is_watched_again(
    shop: ShopHarness,
) -> None:
    order = await filled(shop)
    await blocks(shop, 3)
    before = await shop.database.reader.ledger.of_order(order.id)
    shop.seller.mined_from = 1_000
    shop.seller.reorganise(order.channel_point)
    await seller_watch.check(shop.shop)
    found = await watched(shop)
    assert (found.state, found.obstacle) == (FundingState.UNCONFIRMED, Obstacle.NONE)
    assert found.since == shop.seller.height
    await blocks(shop, 11)
    assert await bumps(shop, order) == []
    await blocks(shop, 1)
    assert len(await bumps(shop, order)) == 1
    assert await shop.database.reader.ledger.of_order(order.id) == before
    assert await shop.status(order) is Status.FILLED


async def test_what_another_transaction_has_for_good_is_given_back_once(
    shop: ShopHarness,
) -> None:
    order = await filled(shop)
    shop.seller.take_coin(order.channel_point)
    await seller_watch.check(shop.shop)
    assert (await watched(shop)).obstacle is Obstacle.CONFLICT
    await blocks(shop, 4)
    assert await shop.status(order) is Status.FILLED
    await blocks(shop, 3)
    assert await shop.status(order) is Status.FAILED
    assert await shop.credit() == PRICE
    assert await shop.place(ledger.SELLER) == await shop.place(ledger.EARNED) == 0
    assert await shop.database.reader.fundings.watched() == []
    assert (
        await leased_channels.find(shop.database.reader, [await shop.get(order)]) == {}
    )
    told = await types_told(shop.database, HARBOUR)
    assert told.count("order.failed") == 1
    await shop.cancel(order)
    assert await shop.credit() == PRICE


async def test_two_that_see_it_lost_give_it_back_once(shop: ShopHarness) -> None:
    order = await filled(shop)
    before = await watched(shop)
    shop.seller.take_coin(order.channel_point)
    shop.seller.height += 5
    for _ in range(2):
        await funding_watch._lose(shop.shop, before)
    assert await shop.credit() == PRICE


async def test_what_cannot_be_proven_is_an_alarm_and_no_credit(
    shop: ShopHarness,
) -> None:
    """Without the permission, a block that has the coins may be in no chain."""
    order = await filled(shop)
    shop.seller.proves = False
    shop.seller.take_coin(order.channel_point)
    await blocks(shop, 30)
    assert (await watched(shop)).obstacle is Obstacle.CONFLICT
    assert await shop.status(order) is Status.FILLED
    shop.seller.proves = True
    await blocks(shop, 1)
    assert await shop.status(order) is Status.FAILED


async def test_a_conflict_that_is_undone_takes_nothing(shop: ShopHarness) -> None:
    order = await filled(shop)
    shop.seller.take_coin(order.channel_point)
    await blocks(shop, 3)
    shop.seller.channels[order.channel_point].rival = 0
    await blocks(shop, 2)
    assert (await watched(shop)).state is FundingState.CONFIRMED
    assert await shop.credit() == PRICE - 2_000 - await shop.place(ledger.SELLER)


async def test_one_that_the_wallet_lost_is_told(shop: ShopHarness) -> None:
    order = await filled(shop)
    shop.seller.channels[order.channel_point].forgotten = True
    await blocks(shop, 1)
    assert (await watched(shop)).obstacle is Obstacle.VANISHED


class Watched(FakeSeller):
    """A seller whose fundings have a coin that we did not know; it keeps what is asked.

    It takes no child, and not because our macaroon may not bump.
    """

    more = Outpoint("ab" * 32, 21)

    def __init__(self, before: FakeSeller) -> None:
        super().__init__(pubkey=before.pubkey)
        self.coins, self.online = before.coins, before.online
        self.mined_from = 1_000
        self.asked: list[tuple[set[Outpoint], int]] = []

    async def spending(
        self, coins: Collection[Outpoint], *, since: int
    ) -> list[WalletTransaction]:
        self.asked.append((set(coins), since))
        found = await super().spending(coins, since=since)
        return [replace(each, spends=(*each.spends, self.more)) for each in found]

    async def bump(self, outpoint: Outpoint, fee: Sats) -> BumpRefused | None:
        del outpoint, fee
        return BumpRefused("insufficient fee")


@pytest.mark.parametrize(("height", "since"), [(1_000, 856), (144, 0), (100, 0)])
async def test_its_coins_are_looked_for_from_a_day_before_it(
    shop: ShopHarness, height: int, since: int
) -> None:
    """From then on they are those that it has in the wallet."""
    shop.seller = seller = Watched(shop.seller)
    seller.height = height
    order = await filled(shop)
    (coin,) = (await watched(shop)).coins
    for _ in range(2):
        await seller_watch.check(shop.shop)
    assert seller.asked == [({coin}, since), ({coin, seller.more}, since)]
    assert (await watched(shop)).coins == (coin, seller.more)
    assert await shop.status(order) is Status.FILLED


async def test_a_bump_that_is_refused_is_told_with_the_reason(
    shop: ShopHarness,
) -> None:
    shop.seller = Watched(shop.seller)
    order = await filled(shop)
    await blocks(shop, 12)
    assert (await watched(shop)).obstacle is Obstacle.REFUSED
    (bump,) = await bumps(shop, order)
    assert bump.answer == "insufficient fee"


async def test_each_move_is_logged_once_and_louder_where_it_needs_somebody(
    shop: ShopHarness, logged: pytest.LogCaptureFixture
) -> None:
    shop.seller.mined_from, shop.seller.bumpable = 1_000, False
    order = await filled(shop)
    await blocks(shop, 13)
    shop.seller.mined_from = 0
    await blocks(shop, 2)
    assert [
        (each.levelname, each.__dict__["state"])
        for each in logged.records
        if each.getMessage() == "a funding transaction moved"
        and each.__dict__["order"] == order.id
        and each.__dict__["channel_point"] == order.channel_point
    ] == [("ERROR", "forbidden"), ("INFO", "confirmed")]


async def test_a_corporate_account_owes_nothing_for_it(shop: ShopHarness) -> None:
    async with shop.database.transaction() as tx:
        await tx.corporate_accounts.set_limit(HARBOUR, Sats(100_000), since=NOW)
    order = await shop.create(channel())
    await shop.settle_down()
    order = await shop.get(order)
    assert order.charged == PRICE
    shop.seller.take_coin(order.channel_point)
    await blocks(shop, 6)
    assert await shop.status(order) is Status.FAILED
    assert await shop.place(ledger.owed(HARBOUR)) == 0
    assert await shop.credit() == 0
