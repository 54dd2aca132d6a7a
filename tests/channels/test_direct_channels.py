"""Channels to nodes that buyers name: paid, opened once, settled once published."""

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import timedelta

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.direct import lease_watch, seller_watch
from leyden.channels.direct.base import WantedOpening
from leyden.channels.direct.dialing import Dialing
from leyden.channels.direct.rules.fundings import WalletTransaction
from leyden.channels.direct.rules.openings import Opening, OpeningRefused, SellerWallet
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import Order, Status
from leyden.channels.rules.payments import InvoiceState, Outpoint, PaymentRequest
from leyden.channels.rules.pricing import Channel
from leyden.errors import Conflict, NotAllowed, SellerAway, SoldOut
from leyden.values import replace
from tests.channels.shop_harness import HARBOUR, LIGHTHOUSE, ShopHarness, request_of
from tests.events.told import types_told
from tests.fakes.channels import FEE_VBYTES
from tests.fakes.seller import FakeSeller

PEER = "02" + "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
OTHER = "02" + "c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5"
AT = "198.51.100.7:9735"
PRICE = 18_999  # 1,000 + 1,000 + a premium of 4,999 and 240 vbytes at 50 sat


def channel(
    peer: str = PEER, *, capacity: int = 1_000_000, announce: bool = False
) -> Channel:
    return Channel(capacity=Sats(capacity), node_key=peer, announce=announce)


@pytest.fixture
async def shop(harness: ShopHarness) -> AsyncIterator[ShopHarness]:
    harness.seller.fill([3_000_000, 3_000_000])
    harness.seller.online.add(PEER)
    yield harness
    await harness.prove()
    for each in await harness.database.reader.orders.all_():
        assert len(harness.seller.opened_for(each.id)) <= 1


async def paid(harness: ShopHarness, order: Order) -> Order:
    harness.payments.pay(request_of(order))
    await harness.settle_down()
    return await harness.get(order)


def invoice_of(harness: ShopHarness, order: Order) -> InvoiceState:
    return harness.payments.invoices[order.payment_hash].state


async def test_a_paid_channel_is_opened_and_then_settled(shop: ShopHarness) -> None:
    order = await shop.create(channel())
    assert (order.total_fee, order.status) == (PRICE, Status.WAITING_PAYMENT)
    order = await paid(shop, order)
    assert order.status is Status.FILLED
    (opened,) = shop.seller.opened_for(order.id)
    assert opened.wanted.pubkey == PEER
    assert opened.wanted.capacity == 1_000_000
    assert order.channel_point == opened.point
    assert invoice_of(shop, order) is InvoiceState.SETTLED
    # What the fee of the chain did not take is the buyer's.
    left = 240 * 50 - FEE_VBYTES * 10
    assert await shop.credit() == left
    assert await shop.place(ledger.SELLER) == PRICE - left - 2_000
    assert await shop.place(ledger.EARNED) == 2_000
    leases = await shop.database.reader.leases.of_orders([order.id])
    assert (leases[order.id].node, leases[order.id].peer) == (PEER, shop.seller.pubkey)


async def test_the_seller_is_sent_nowhere_that_a_name_has_turned_to(
    shop: ShopHarness,
) -> None:
    """The name is judged at each dialling, and lnd is given numbers alone."""
    answers = [["10.0.0.7"], ["169.254.169.254", "8.8.8.8"], ["8.8.8.8"]]

    async def turning(_host: str, _port: int, _organization_id: str) -> Sequence[str]:
        return answers.pop(0) if len(answers) > 1 else answers[0]

    shop.dialing = Dialing(look_up=turning)
    shop.seller.online.clear()
    to = replace(channel(), node_host="turns.example.org:9735")
    order = await shop.create(to)
    order = await paid(shop, order)
    assert (order.status, shop.seller.dialled) == (Status.CREATED, [])
    shop.seller.reached.add("8.8.8.8:9735")
    while await shop.status(order) is Status.CREATED:
        shop.now += timedelta(seconds=3)
        await shop.settle_down()
    assert await shop.status(order) is Status.FILLED
    assert set(shop.seller.dialled) == {(PEER, "8.8.8.8:9735")}


async def test_credit_pays_for_it_at_once(shop: ShopHarness) -> None:
    await shop.give_credit(PRICE)
    order = await shop.create(channel())
    await shop.settle_down()
    assert await shop.status(order) is Status.FILLED


async def test_coins_of_the_chain_pay_for_it(shop: ShopHarness) -> None:
    order = await shop.create(channel())
    shop.payments.send(order.onchain_address, PRICE)
    shop.payments.mine(1)
    await shop.settle_down()
    assert await shop.status(order) is Status.FILLED
    assert invoice_of(shop, order) is InvoiceState.CANCELLED


async def test_a_node_that_is_away_has_its_turn(shop: ShopHarness) -> None:
    shop.seller.online.clear()
    order = await paid(shop, await shop.create(channel()))
    assert order.status is Status.CREATED
    assert invoice_of(shop, order) is InvoiceState.ACCEPTED
    shop.seller.online.add(PEER)
    await shop.pass_time(seconds=3)
    assert await shop.status(order) is Status.FILLED


async def test_a_node_that_never_comes_costs_nothing(shop: ShopHarness) -> None:
    shop.seller.online.clear()
    order = await paid(shop, await shop.create(channel()))
    await shop.pass_time(minutes=16)
    order = await shop.get(order)
    assert order.status is Status.FAILED
    assert invoice_of(shop, order) is InvoiceState.CANCELLED
    assert await shop.database.reader.reserved_coins.all_() == set()
    assert await shop.credit() == 0


async def test_credit_waits_a_day_and_comes_back(shop: ShopHarness) -> None:
    shop.seller.online.clear()
    await shop.give_credit(PRICE)
    order = await shop.create(channel())
    await shop.pass_time(hours=23)
    assert await shop.status(order) is Status.CREATED
    await shop.pass_time(hours=2)
    assert await shop.status(order) is Status.FAILED
    assert await shop.credit() == PRICE


async def test_a_peer_that_refuses_gets_its_payment_back(shop: ShopHarness) -> None:
    shop.seller.refuses = "chan size exceeds maximum"
    order = await paid(shop, await shop.create(channel()))
    assert order.status is Status.FAILED
    assert invoice_of(shop, order) is InvoiceState.CANCELLED


async def test_what_went_back_was_not_paid_whoever_tells_of_it_first(
    shop: ShopHarness,
) -> None:
    """The treasury's stream tells of the cancelled payment before its answer comes."""
    cancel = shop.payments.cancel

    async def told_of_first(request: PaymentRequest) -> bool:
        cancelled = await cancel(request)
        await shop.hear()
        return cancelled

    shop.payments.cancel = told_of_first  # type: ignore[method-assign]
    shop.seller.refuses = "chan size exceeds maximum"
    order = await paid(shop, await shop.create(channel()))
    assert (order.status, order.paid) == (Status.FAILED, False)
    assert await shop.credit() == 0


async def test_coins_that_became_credit_were_paid(shop: ShopHarness) -> None:
    """Its invoice was cancelled, but nothing went back."""
    shop.seller.refuses = "chan size exceeds maximum"
    order = await shop.create(channel())
    shop.payments.send(order.onchain_address, PRICE)
    shop.payments.mine()
    await shop.settle_down()
    order = await shop.get(order)
    assert (order.status, order.paid) == (Status.FAILED, True)
    assert order.invoice is InvoiceState.CANCELLED
    assert await shop.credit() == order.credit_refund == PRICE


async def test_an_answer_that_was_lost_opens_nothing_twice(shop: ShopHarness) -> None:
    shop.seller.answers_lost = 1
    order = await paid(shop, await shop.create(channel()))
    assert order.status is Status.SUBMITTED
    await shop.pass_time(seconds=6)
    assert await shop.status(order) is Status.FILLED
    assert len(shop.seller.opened_for(order.id)) == 1


@pytest.mark.parametrize("ends", [Status.FILLED, Status.FAILED])
async def test_a_frozen_peer_is_waited_for(shop: ShopHarness, ends: Status) -> None:
    """Its coins are locked: nothing is opened anew, and nothing is given back."""
    shop.seller.freezes = True
    order = await paid(shop, await shop.create(channel()))
    await shop.pass_time(minutes=4)
    assert await shop.status(order) is Status.SUBMITTED
    assert invoice_of(shop, order) is InvoiceState.ACCEPTED
    refuses = ends is Status.FAILED
    shop.seller.thaw(refuses=refuses)
    shop.seller.refuses = "gone" if refuses else ""
    await shop.pass_time(seconds=6)
    assert await shop.status(order) is ends
    assert len(shop.seller.opened_for(order.id)) == (not refuses)


async def test_what_is_not_published_is_neither_settled_nor_cancelled(
    shop: ShopHarness,
) -> None:
    shop.seller.publishes = False
    order = await paid(shop, await shop.create(channel()))
    await shop.pass_time(hours=5)
    order = await shop.get(order)
    assert order.status is Status.SUBMITTED
    assert order.channel_point
    assert invoice_of(shop, order) is InvoiceState.ACCEPTED
    with pytest.raises(NotAllowed):
        await shop.cancel(order)
    shop.seller.publish()
    await shop.pass_time(seconds=6)
    assert await shop.status(order) is Status.FILLED
    assert invoice_of(shop, order) is InvoiceState.SETTLED


async def test_a_payment_goes_back_before_its_lock_ends(shop: ShopHarness) -> None:
    shop.seller.publishes = False
    shop.payments.lock = shop.seller.height + 80
    order = await paid(shop, await shop.create(channel()))
    shop.seller.height += 40
    await shop.pass_time(seconds=6)
    assert await shop.status(order) is Status.SUBMITTED
    shop.seller.height += 1
    await shop.pass_time(seconds=6)
    assert await shop.status(order) is Status.FAILED
    assert invoice_of(shop, order) is InvoiceState.CANCELLED


async def test_a_channel_that_is_first_seen_as_its_lock_ends_is_known(
    shop: ShopHarness,
) -> None:
    """Somebody has to abandon it at the seller's lnd."""
    shop.seller.freezes = True
    shop.payments.lock = shop.seller.height + 80
    order = await paid(shop, await shop.create(channel()))
    shop.seller.away, shop.seller.publishes = True, False
    shop.seller.thaw(refuses=False)
    shop.seller.height += 41
    await shop.pass_time(hours=5)
    assert await shop.status(order) is Status.SUBMITTED
    shop.seller.away = False
    await shop.pass_time(seconds=6)
    order = await shop.get(order)
    assert order.status is Status.FAILED
    assert [order.channel_point] == [*shop.seller.channels]


async def test_too_short_a_lock_opens_nothing(shop: ShopHarness) -> None:
    shop.payments.lock = shop.seller.height + 39
    order = await paid(shop, await shop.create(channel()))
    assert order.status is Status.FAILED
    assert shop.seller.opened_for(order.id) == []


async def test_a_lock_that_ends_in_the_middle_gives_the_channel_away(
    shop: ShopHarness, caplog: pytest.LogCaptureFixture
) -> None:
    """The worst there is: it is told, and the books are right."""
    await shop.give_credit(1_000)
    shop.seller.freezes = True
    order = await paid(shop, await shop.create(channel()))
    shop.payments.time_out(request_of(order))
    await shop.settle_down()
    assert await shop.status(order) is Status.SUBMITTED
    shop.seller.thaw(refuses=False)
    await shop.pass_time(seconds=6)
    assert await shop.status(order) is Status.FILLED
    assert invoice_of(shop, order) is InvoiceState.CANCELLED
    assert "a channel was opened without payment" in caplog.text
    ((kind, subject, _),) = await shop.database.reader.findings.list_(now=shop.now)
    assert (kind, subject) == ("order.unpaid", order.id)


async def test_two_orders_never_reserve_the_same_coin(shop: ShopHarness) -> None:
    for who in (HARBOUR, LIGHTHOUSE):
        await shop.give_credit(50_000, who)
    shop.seller.online.clear()
    first = await shop.create(channel(capacity=2_000_000))
    second = await shop.create(channel(OTHER, capacity=2_000_000), LIGHTHOUSE)
    await shop.settle_down()
    with pytest.raises(SoldOut):
        await shop.create(channel("03" + PEER[2:], capacity=2_000_000))
    reader = shop.database.reader.reserved_coins
    coins = [await reader.of_order(each.id) for each in (first, second)]
    assert coins[0] != coins[1]
    await shop.cancel(first)
    await shop.create(channel("03" + PEER[2:], capacity=2_000_000))


async def test_a_node_has_one_open_order(shop: ShopHarness) -> None:
    order = await shop.create(channel())
    with pytest.raises(Conflict, match="another open order"):
        await shop.create(channel())
    theirs = await shop.create(channel(), LIGHTHOUSE)  # unpaid ones block nobody else
    await paid(shop, order)
    assert (await paid(shop, theirs)).status is Status.FILLED


async def test_the_seller_sells_no_more_than_it_may(shop: ShopHarness) -> None:
    from leyden.values import replace  # noqa: PLC0415

    shop.rules = replace(shop.rules, seller_most_per_hour=Sats(1_500_000))
    await shop.give_credit(PRICE)
    await shop.create(channel())
    with pytest.raises(SoldOut):
        await shop.create(channel(OTHER))
    shop.rules = replace(
        shop.rules,
        seller_most_per_hour=Sats(10**8),
        seller_most_per_peer=Sats(500_000),
    )
    with pytest.raises(Conflict, match="maximum capacity"):
        await shop.create(channel(OTHER))


async def test_another_lnd_in_the_sellers_place_sells_nothing(
    shop: ShopHarness,
) -> None:
    await shop.create(channel())
    shop.seller.pubkey = OTHER
    with pytest.raises(SellerAway):
        await shop.create(channel("03" + PEER[2:]))


async def test_the_treasury_is_no_seller(shop: ShopHarness) -> None:
    await shop.start_sweeping()
    shop.seller.pubkey = shop.payments.pubkey
    with pytest.raises(SellerAway):
        await shop.create(channel())


async def test_a_waiting_order_can_be_cancelled(shop: ShopHarness) -> None:
    shop.seller.online.clear()
    order = await paid(shop, await shop.create(channel()))
    cancelled = await shop.cancel(order)
    await shop.settle_down()
    assert cancelled.status is Status.CANCELLED
    assert invoice_of(shop, order) is InvoiceState.CANCELLED
    assert await shop.credit(HARBOUR) == 0


async def test_a_seller_that_is_away_is_waited_for_not_for_ever(
    shop: ShopHarness,
) -> None:
    order = await shop.create(channel())
    shop.seller.away = True
    order = await paid(shop, order)
    assert order.status is Status.CREATING
    await shop.pass_time(minutes=16)
    assert await shop.status(order) is Status.FAILED


async def test_fees_above_the_price_are_waited_for(shop: ShopHarness) -> None:
    shop.seller.fee_sat_per_vb = 51
    order = await paid(shop, await shop.create(channel()))
    assert order.status is Status.CREATING
    shop.seller.fee_sat_per_vb = 50
    await shop.pass_time(minutes=1)
    assert await shop.status(order) is Status.FILLED


async def happened(harness: ShopHarness) -> list[str]:
    """Look at the leases; give the types of events there are of channels."""
    await seller_watch.check(harness.shop)
    found = await types_told(harness.database, HARBOUR)
    return [each for each in found if each.startswith("channel.")]


async def test_the_end_of_a_lease_is_told_before_and_then(shop: ShopHarness) -> None:
    order = await paid(shop, await shop.create(channel()))
    (opened,) = shop.seller.opened_for(order.id)
    assert await happened(shop) == []
    shop.seller.height += 1_007
    assert await happened(shop) == []
    shop.seller.height += 1
    for _ in range(2):
        assert await happened(shop) == ["channel.lease_ending"]
    assert await lease_watch.ended(shop.shop) == []
    shop.seller.height += 1_008
    assert (await happened(shop))[1:] == ["channel.lease_ended"]
    (ended,) = await lease_watch.ended(shop.shop)
    assert (ended.order_id, ended.point) == (order.id, opened.point)
    shop.seller.close_channel(opened.point, by_seller=True)
    assert len(await happened(shop)) == 2, "after its end it may be closed"
    assert await lease_watch.ended(shop.shop) == []


async def test_a_channel_that_is_closed_early_is_told_once(shop: ShopHarness) -> None:
    order = await paid(shop, await shop.create(channel()))
    (opened,) = shop.seller.opened_for(order.id)
    ordered = shop.database.reader.orders.capacity_ordered_to
    assert await ordered(PEER) == 1_000_000
    shop.seller.close_channel(opened.point, by_seller=False)
    for _ in range(2):
        assert await happened(shop) == ["channel.closed_early"]
    since = shop.now - timedelta(hours=1)
    early = await shop.database.reader.leases.closed_early(since=since, most=9)
    assert early == [order.id]
    assert await ordered(PEER) == 0
    assert await shop.status(order) is Status.FILLED, "nothing is given back by itself"


class AskedBefore(FakeSeller):
    """A seller that a program asked just before it died: we ask between."""

    async def open(self, wanted: WantedOpening) -> Opening | OpeningRefused:
        await super().open(wanted)
        return await super().open(wanted)


async def test_a_refusal_because_of_an_earlier_question_is_none(
    shop: ShopHarness,
) -> None:
    """Its coin is spent by the opening that was asked for before: that one counts."""
    shop.seller, before = AskedBefore(), shop.seller
    shop.seller.coins, shop.seller.online = before.coins, before.online
    order = await paid(shop, await shop.create(channel()))
    assert order.status is Status.FILLED
    assert invoice_of(shop, order) is InvoiceState.SETTLED


class WithoutTransactions(FakeSeller):
    """A seller that answers, and lists no transactions; looks at it are counted."""

    looks = 0

    async def wallet(self) -> SellerWallet:
        self.looks += 1
        return await super().wallet()

    async def spending(
        self, coins: Collection[Outpoint], *, since: int
    ) -> list[WalletTransaction]:
        await super().spending(coins, since=since)
        raise SellerAway


async def test_leases_are_watched_where_fundings_cannot_be(shop: ShopHarness) -> None:
    seller, before = WithoutTransactions(), shop.seller
    seller.coins, seller.online, shop.seller = before.coins, before.online, seller
    order = await paid(shop, await shop.create(channel()))
    (opened,) = seller.opened_for(order.id)
    seller.close_channel(opened.point, by_seller=False)
    seller.looks = 0
    with pytest.raises(SellerAway):
        await seller_watch.check(shop.shop)
    assert "channel.closed_early" in await types_told(shop.database, HARBOUR)
    assert seller.looks == 1, "one look is for both"


async def test_nothing_is_opened_for_a_payment_that_went_back(
    shop: ShopHarness,
) -> None:
    """Its peer froze for so long, and would take a channel now."""
    shop.seller.freezes = True
    order = await paid(shop, await shop.create(channel()))
    shop.payments.time_out(request_of(order))
    await shop.settle_down()
    shop.seller.thaw(refuses=True)
    await shop.pass_time(seconds=6)
    assert await shop.status(order) is Status.FAILED
    assert shop.seller.opened_for(order.id) == []


async def test_orders_for_one_node_wait_for_each_other(shop: ShopHarness) -> None:
    first = await shop.create(channel())
    second = await shop.create(channel(), LIGHTHOUSE)
    shop.seller.freezes = True
    assert (await paid(shop, first)).status is Status.SUBMITTED
    shop.seller.freezes = False
    assert (await paid(shop, second)).status is Status.CREATING
    await shop.pass_time(seconds=6)
    assert await shop.status(second) is Status.CREATING
    shop.seller.thaw(refuses=False)
    await shop.pass_time(seconds=6)
    assert await shop.status(first) is Status.FILLED
    assert await shop.status(second) is Status.FILLED
