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
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.payments import Outpoint
from leyden.errors import SellerAway
from leyden.values import replace
from tests.channels.orders_harness import HARBOUR, OrdersHarness
from tests.channels.test_direct_channels import PEER, PRICE, channel, paid
from tests.conftest import NOW
from tests.events.stored_events import stored_types
from tests.fakes.channels import FEE_VBYTES
from tests.fakes.seller import FakeSeller

RULES = FundingRules(bump_after=12, bump_again=6, highest_sat_per_vb=40)


@pytest.fixture
async def direct(harness: OrdersHarness) -> AsyncIterator[OrdersHarness]:
    harness.rules = replace(harness.rules, fundings=RULES)
    harness.seller.fill([3_000_000, 3_000_000])
    harness.seller.online.add(PEER)
    yield harness
    await harness.prove()


async def filled(direct: OrdersHarness) -> Order:
    order = await paid(direct, await direct.create(channel()))
    assert order.status is OrderStatus.FILLED
    return order


async def blocks(direct: OrdersHarness, number: int) -> None:
    """Find so many blocks, and look after each."""
    for _ in range(number):
        direct.seller.height += 1
        await seller_watch.check(direct.channels)


async def watched(direct: OrdersHarness) -> Funding:
    (found,) = await direct.database.reader.fundings.watched()
    return found


async def bumps(direct: OrdersHarness, order: Order) -> list[KnownBump]:
    return await direct.database.reader.fundings.bumps_of(order.id)


async def test_a_confirmed_funding_is_watched_until_it_is_buried(
    direct: OrdersHarness,
) -> None:
    order = await filled(direct)
    assert (await watched(direct)).state is FundingState.UNCONFIRMED
    await blocks(direct, 1)
    assert (await watched(direct)).state is FundingState.CONFIRMED
    await blocks(direct, 99)
    assert await direct.database.reader.fundings.watched() == []
    assert await bumps(direct, order) == []


async def test_one_whose_block_cannot_be_proven_is_watched_on(
    direct: OrdersHarness,
) -> None:
    await filled(direct)
    direct.seller.proves = False
    await blocks(direct, 101)
    assert (await watched(direct)).state is FundingState.CONFIRMED, "and not buried"
    direct.seller.proves = True
    await blocks(direct, 1)
    assert await direct.database.reader.fundings.watched() == []


async def test_all_that_no_block_has_are_found_however_many(
    direct: OrdersHarness,
) -> None:
    first = await filled(direct)
    await blocks(direct, 1)
    second = await filled(direct)
    for at_a_time in (1, 2, 500):
        found = await direct.database.reader.fundings.unconfirmed(at_a_time=at_a_time)
        assert [each.order_id for each in found] == [second.id]
    assert len(await direct.database.reader.fundings.watched()) == 2
    assert first.id != second.id


async def test_one_that_no_block_takes_is_bumped_and_confirms(
    direct: OrdersHarness,
) -> None:
    direct.seller.mined_from = 30
    order = await filled(direct)
    direct.seller.fee_sat_per_vb = 30
    await blocks(direct, 11)
    assert await bumps(direct, order) == []
    await blocks(direct, 1)
    (bump,) = await bumps(direct, order)
    assert (bump.sat_per_vb, bump.answer) == (30, "taken")
    ((outpoint, fee),) = direct.seller.bumps
    assert outpoint.txid == order.channel_point.partition(":")[0]
    assert fee == bump.fee == 30 * (FEE_VBYTES + CHILD_VBYTES) - 10 * FEE_VBYTES
    await blocks(direct, 1)
    assert (await watched(direct)).state is FundingState.CONFIRMED
    assert (await stored_types(direct.database, HARBOUR)).count(
        "channel.fee_bumped"
    ) == 1


async def test_it_is_bumped_step_by_step_until_the_highest_rate(
    direct: OrdersHarness,
) -> None:
    """An estimate that is too low does not stop it; the cap does, and is an alarm."""
    direct.seller.mined_from = 1_000
    order = await filled(direct)
    await blocks(direct, 60)
    rates = [each.sat_per_vb for each in await bumps(direct, order)]
    assert rates == [12, 15, 18, 22, 27, 33, 40]
    heights = [each.height for each in await bumps(direct, order)]
    assert {b - a for a, b in pairwise(heights)} == {6}
    assert (await watched(direct)).obstacle is Obstacle.CAPPED
    assert max(fee for _, fee in direct.seller.bumps) <= 40 * (
        FEE_VBYTES + CHILD_VBYTES
    )


async def test_whoever_dies_while_it_is_bumped_bumps_no_second_time(
    direct: OrdersHarness,
) -> None:
    direct.seller.mined_from = 1_000
    order = await filled(direct)
    direct.seller.answers_lost = 99
    for _ in range(12):
        direct.seller.height += 1
    with pytest.raises(SellerAway):
        await seller_watch.check(direct.channels)
    for _ in range(5):
        await seller_watch.check(direct.channels)
    (bump,) = await bumps(direct, order)
    assert bump.answer == ""
    assert len(direct.seller.bumps) == 1
    direct.seller.answers_lost = 0
    await blocks(direct, 6)
    assert len(direct.seller.bumps) == 2


async def test_a_macaroon_that_may_not_bump_is_told(direct: OrdersHarness) -> None:
    direct.seller.mined_from, direct.seller.bumpable = 1_000, False
    order = await filled(direct)
    await blocks(direct, 12)
    assert (await watched(direct)).obstacle is Obstacle.FORBIDDEN
    (bump,) = await bumps(direct, order)
    assert bump.answer == "permission denied"
    assert "channel.fee_bumped" not in await stored_types(direct.database, HARBOUR)


async def test_one_without_change_cannot_be_bumped(direct: OrdersHarness) -> None:
    direct.seller.mined_from = 1_000
    direct.rules = replace(direct.rules, fundings=FundingRules())
    direct.seller.coins.clear()
    direct.seller.fill([1_015_000, 2_000_000])
    order = await filled(direct)
    direct.seller.fee_sat_per_vb = 100
    await blocks(direct, 12)
    assert (await watched(direct)).obstacle is Obstacle.NO_CHANGE
    assert await bumps(direct, order) == []


async def test_a_reorganisation_moves_no_money_and_is_watched_again(
    direct: OrdersHarness,
) -> None:
    order = await filled(direct)
    await blocks(direct, 3)
    before = await direct.database.reader.ledger.of_order(order.id)
    direct.seller.mined_from = 1_000
    direct.seller.reorganise(order.channel_point)
    await seller_watch.check(direct.channels)
    found = await watched(direct)
    assert (found.state, found.obstacle) == (FundingState.UNCONFIRMED, Obstacle.NONE)
    assert found.since == direct.seller.height
    await blocks(direct, 11)
    assert await bumps(direct, order) == []
    await blocks(direct, 1)
    assert len(await bumps(direct, order)) == 1
    assert await direct.database.reader.ledger.of_order(order.id) == before
    assert await direct.status(order) is OrderStatus.FILLED


async def test_what_another_transaction_has_for_good_is_given_back_once(
    direct: OrdersHarness,
) -> None:
    order = await filled(direct)
    direct.seller.take_coin(order.channel_point)
    await seller_watch.check(direct.channels)
    assert (await watched(direct)).obstacle is Obstacle.CONFLICT
    await blocks(direct, 4)
    assert await direct.status(order) is OrderStatus.FILLED
    await blocks(direct, 3)
    assert await direct.status(order) is OrderStatus.FAILED
    assert await direct.credit() == PRICE
    assert (
        await direct.balance_of(ledger.SELLER)
        == await direct.balance_of(ledger.EARNED)
        == 0
    )
    assert await direct.database.reader.fundings.watched() == []
    assert (
        await leased_channels.find(direct.database.reader, [await direct.get(order)])
        == {}
    )
    types = await stored_types(direct.database, HARBOUR)
    assert types.count("order.failed") == 1
    await direct.cancel(order)
    assert await direct.credit() == PRICE


async def test_two_that_see_it_lost_give_it_back_once(direct: OrdersHarness) -> None:
    order = await filled(direct)
    before = await watched(direct)
    direct.seller.take_coin(order.channel_point)
    direct.seller.height += 5
    for _ in range(2):
        await funding_watch._lose(direct.channels, before)
    assert await direct.credit() == PRICE


async def test_what_cannot_be_proven_is_an_alarm_and_no_credit(
    direct: OrdersHarness,
) -> None:
    """Without the permission, a block that has the coins may be in no chain."""
    order = await filled(direct)
    direct.seller.proves = False
    direct.seller.take_coin(order.channel_point)
    await blocks(direct, 30)
    assert (await watched(direct)).obstacle is Obstacle.CONFLICT
    assert await direct.status(order) is OrderStatus.FILLED
    direct.seller.proves = True
    await blocks(direct, 1)
    assert await direct.status(order) is OrderStatus.FAILED


async def test_a_conflict_that_is_undone_takes_nothing(direct: OrdersHarness) -> None:
    order = await filled(direct)
    direct.seller.take_coin(order.channel_point)
    await blocks(direct, 3)
    direct.seller.channels[order.channel_point].rival = 0
    await blocks(direct, 2)
    assert (await watched(direct)).state is FundingState.CONFIRMED
    assert await direct.credit() == PRICE - 2_000 - await direct.balance_of(
        ledger.SELLER
    )


async def test_one_that_the_wallet_lost_is_told(direct: OrdersHarness) -> None:
    order = await filled(direct)
    direct.seller.channels[order.channel_point].forgotten = True
    await blocks(direct, 1)
    assert (await watched(direct)).obstacle is Obstacle.VANISHED


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
    direct: OrdersHarness, height: int, since: int
) -> None:
    """From then on they are those that it has in the wallet."""
    direct.seller = seller = Watched(direct.seller)
    seller.height = height
    order = await filled(direct)
    (coin,) = (await watched(direct)).coins
    for _ in range(2):
        await seller_watch.check(direct.channels)
    assert seller.asked == [({coin}, since), ({coin, seller.more}, since)]
    assert (await watched(direct)).coins == (coin, seller.more)
    assert await direct.status(order) is OrderStatus.FILLED


async def test_a_bump_that_is_refused_is_told_with_the_reason(
    direct: OrdersHarness,
) -> None:
    direct.seller = Watched(direct.seller)
    order = await filled(direct)
    await blocks(direct, 12)
    assert (await watched(direct)).obstacle is Obstacle.REFUSED
    (bump,) = await bumps(direct, order)
    assert bump.answer == "insufficient fee"


async def test_each_move_is_logged_once_and_louder_where_it_needs_somebody(
    direct: OrdersHarness, logged: pytest.LogCaptureFixture
) -> None:
    direct.seller.mined_from, direct.seller.bumpable = 1_000, False
    order = await filled(direct)
    await blocks(direct, 13)
    direct.seller.mined_from = 0
    await blocks(direct, 2)
    assert [
        (each.levelname, each.__dict__["state"])
        for each in logged.records
        if each.getMessage() == "a funding transaction moved"
        and each.__dict__["order"] == order.id
        and each.__dict__["channel_point"] == order.channel_point
    ] == [("ERROR", "forbidden"), ("INFO", "confirmed")]


async def test_a_corporate_account_owes_nothing_for_it(direct: OrdersHarness) -> None:
    async with direct.database.transaction() as tx:
        await tx.corporate_accounts.set_limit(HARBOUR, Sats(100_000), since=NOW)
    order = await direct.create(channel())
    await direct.settle_down()
    order = await direct.get(order)
    assert order.charged == PRICE
    direct.seller.take_coin(order.channel_point)
    await blocks(direct, 6)
    assert await direct.status(order) is OrderStatus.FAILED
    assert await direct.balance_of(ledger.owed(HARBOUR)) == 0
    assert await direct.credit() == 0
