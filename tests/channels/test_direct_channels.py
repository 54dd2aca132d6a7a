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
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.payments import InvoiceState, Outpoint, PaymentRequest
from leyden.channels.rules.pricing import Channel
from leyden.errors import Conflict, NotAllowed, SellerAway, SoldOut
from leyden.values import replace
from tests.channels.orders_harness import HARBOUR, LIGHTHOUSE, OrdersHarness, request_of
from tests.events.stored_events import stored_types
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
async def direct(harness: OrdersHarness) -> AsyncIterator[OrdersHarness]:
    harness.seller.fill([3_000_000, 3_000_000])
    harness.seller.online.add(PEER)
    yield harness
    await harness.prove()
    for each in await harness.database.reader.orders.all_():
        assert len(harness.seller.opened_for(each.id)) <= 1


async def paid(harness: OrdersHarness, order: Order) -> Order:
    harness.payments.pay(request_of(order))
    await harness.settle_down()
    return await harness.get(order)


def invoice_of(harness: OrdersHarness, order: Order) -> InvoiceState:
    return harness.payments.invoices[order.payment_hash].state


async def test_a_paid_channel_is_opened_and_then_settled(direct: OrdersHarness) -> None:
    order = await direct.create(channel())
    assert (order.total_fee, order.status) == (PRICE, OrderStatus.WAITING_PAYMENT)
    order = await paid(direct, order)
    assert order.status is OrderStatus.FILLED
    (opened,) = direct.seller.opened_for(order.id)
    assert opened.wanted.pubkey == PEER
    assert opened.wanted.capacity == 1_000_000
    assert order.channel_point == opened.point
    assert invoice_of(direct, order) is InvoiceState.SETTLED
    # What the fee of the chain did not take is the buyer's.
    left = 240 * 50 - FEE_VBYTES * 10
    assert await direct.credit() == left
    assert await direct.balance_of(ledger.SELLER) == PRICE - left - 2_000
    assert await direct.balance_of(ledger.EARNED) == 2_000
    leases = await direct.database.reader.leases.of_orders([order.id])
    assert (leases[order.id].node, leases[order.id].peer) == (
        PEER,
        direct.seller.pubkey,
    )


async def test_the_seller_is_sent_nowhere_that_a_name_has_turned_to(
    direct: OrdersHarness,
) -> None:
    """The name is judged at each dialling, and lnd is given numbers alone."""
    answers = [["10.0.0.7"], ["169.254.169.254", "8.8.8.8"], ["8.8.8.8"]]

    async def turning(_host: str, _port: int, _organization_id: str) -> Sequence[str]:
        return answers.pop(0) if len(answers) > 1 else answers[0]

    direct.dialing = Dialing(look_up=turning)
    direct.seller.online.clear()
    to = replace(channel(), node_host="turns.example.org:9735")
    order = await direct.create(to)
    order = await paid(direct, order)
    assert (order.status, direct.seller.dialled) == (OrderStatus.CREATED, [])
    direct.seller.reached.add("8.8.8.8:9735")
    while await direct.status(order) is OrderStatus.CREATED:
        direct.now += timedelta(seconds=3)
        await direct.settle_down()
    assert await direct.status(order) is OrderStatus.FILLED
    assert set(direct.seller.dialled) == {(PEER, "8.8.8.8:9735")}


async def test_credit_pays_for_it_at_once(direct: OrdersHarness) -> None:
    await direct.give_credit(PRICE)
    order = await direct.create(channel())
    await direct.settle_down()
    assert await direct.status(order) is OrderStatus.FILLED


async def test_coins_of_the_chain_pay_for_it(direct: OrdersHarness) -> None:
    order = await direct.create(channel())
    direct.payments.send(order.onchain_address, PRICE)
    direct.payments.mine(1)
    await direct.settle_down()
    assert await direct.status(order) is OrderStatus.FILLED
    assert invoice_of(direct, order) is InvoiceState.CANCELLED


async def test_a_node_that_is_away_has_its_turn(direct: OrdersHarness) -> None:
    direct.seller.online.clear()
    order = await paid(direct, await direct.create(channel()))
    assert order.status is OrderStatus.CREATED
    assert invoice_of(direct, order) is InvoiceState.ACCEPTED
    direct.seller.online.add(PEER)
    await direct.pass_time(seconds=3)
    assert await direct.status(order) is OrderStatus.FILLED


async def test_a_node_that_never_comes_costs_nothing(direct: OrdersHarness) -> None:
    direct.seller.online.clear()
    order = await paid(direct, await direct.create(channel()))
    await direct.pass_time(minutes=16)
    order = await direct.get(order)
    assert order.status is OrderStatus.FAILED
    assert invoice_of(direct, order) is InvoiceState.CANCELLED
    assert await direct.database.reader.reserved_coins.all_() == set()
    assert await direct.credit() == 0


async def test_credit_waits_a_day_and_comes_back(direct: OrdersHarness) -> None:
    direct.seller.online.clear()
    await direct.give_credit(PRICE)
    order = await direct.create(channel())
    await direct.pass_time(hours=23)
    assert await direct.status(order) is OrderStatus.CREATED
    await direct.pass_time(hours=2)
    assert await direct.status(order) is OrderStatus.FAILED
    assert await direct.credit() == PRICE


async def test_a_peer_that_refuses_gets_its_payment_back(direct: OrdersHarness) -> None:
    direct.seller.refuses = "chan size exceeds maximum"
    order = await paid(direct, await direct.create(channel()))
    assert order.status is OrderStatus.FAILED
    assert invoice_of(direct, order) is InvoiceState.CANCELLED


async def test_what_went_back_was_not_paid_whoever_tells_of_it_first(
    direct: OrdersHarness,
) -> None:
    """The treasury's stream tells of the cancelled payment before its answer comes."""
    cancel = direct.payments.cancel

    async def told_of_first(request: PaymentRequest) -> bool:
        cancelled = await cancel(request)
        await direct.hear()
        return cancelled

    direct.payments.cancel = told_of_first  # type: ignore[method-assign]
    direct.seller.refuses = "chan size exceeds maximum"
    order = await paid(direct, await direct.create(channel()))
    assert (order.status, order.paid) == (OrderStatus.FAILED, False)
    assert await direct.credit() == 0


async def test_coins_that_became_credit_were_paid(direct: OrdersHarness) -> None:
    """Its invoice was cancelled, but nothing went back."""
    direct.seller.refuses = "chan size exceeds maximum"
    order = await direct.create(channel())
    direct.payments.send(order.onchain_address, PRICE)
    direct.payments.mine()
    await direct.settle_down()
    order = await direct.get(order)
    assert (order.status, order.paid) == (OrderStatus.FAILED, True)
    assert order.invoice is InvoiceState.CANCELLED
    assert await direct.credit() == order.credit_refund == PRICE


async def test_an_answer_that_was_lost_opens_nothing_twice(
    direct: OrdersHarness,
) -> None:
    direct.seller.answers_lost = 1
    order = await paid(direct, await direct.create(channel()))
    assert order.status is OrderStatus.SUBMITTED
    await direct.pass_time(seconds=6)
    assert await direct.status(order) is OrderStatus.FILLED
    assert len(direct.seller.opened_for(order.id)) == 1


@pytest.mark.parametrize("ends", [OrderStatus.FILLED, OrderStatus.FAILED])
async def test_a_frozen_peer_is_waited_for(
    direct: OrdersHarness, ends: OrderStatus
) -> None:
    """Its coins are locked: nothing is opened anew, and nothing is given back."""
    direct.seller.freezes = True
    order = await paid(direct, await direct.create(channel()))
    await direct.pass_time(minutes=4)
    assert await direct.status(order) is OrderStatus.SUBMITTED
    assert invoice_of(direct, order) is InvoiceState.ACCEPTED
    refuses = ends is OrderStatus.FAILED
    direct.seller.thaw(refuses=refuses)
    direct.seller.refuses = "gone" if refuses else ""
    await direct.pass_time(seconds=6)
    assert await direct.status(order) is ends
    assert len(direct.seller.opened_for(order.id)) == (not refuses)


async def test_what_is_not_published_is_neither_settled_nor_cancelled(
    direct: OrdersHarness,
) -> None:
    direct.seller.publishes = False
    order = await paid(direct, await direct.create(channel()))
    await direct.pass_time(hours=5)
    order = await direct.get(order)
    assert order.status is OrderStatus.SUBMITTED
    assert order.channel_point
    assert invoice_of(direct, order) is InvoiceState.ACCEPTED
    with pytest.raises(NotAllowed):
        await direct.cancel(order)
    direct.seller.publish()
    await direct.pass_time(seconds=6)
    assert await direct.status(order) is OrderStatus.FILLED
    assert invoice_of(direct, order) is InvoiceState.SETTLED


async def test_a_payment_goes_back_before_its_lock_ends(direct: OrdersHarness) -> None:
    direct.seller.publishes = False
    direct.payments.lock = direct.seller.height + 80
    order = await paid(direct, await direct.create(channel()))
    direct.seller.height += 40
    await direct.pass_time(seconds=6)
    assert await direct.status(order) is OrderStatus.SUBMITTED
    direct.seller.height += 1
    await direct.pass_time(seconds=6)
    assert await direct.status(order) is OrderStatus.FAILED
    assert invoice_of(direct, order) is InvoiceState.CANCELLED


async def test_a_channel_that_is_first_seen_as_its_lock_ends_is_known(
    direct: OrdersHarness,
) -> None:
    """Somebody has to abandon it at the seller's lnd."""
    direct.seller.freezes = True
    direct.payments.lock = direct.seller.height + 80
    order = await paid(direct, await direct.create(channel()))
    direct.seller.away, direct.seller.publishes = True, False
    direct.seller.thaw(refuses=False)
    direct.seller.height += 41
    await direct.pass_time(hours=5)
    assert await direct.status(order) is OrderStatus.SUBMITTED
    direct.seller.away = False
    await direct.pass_time(seconds=6)
    order = await direct.get(order)
    assert order.status is OrderStatus.FAILED
    assert [order.channel_point] == [*direct.seller.channels]


async def test_too_short_a_lock_opens_nothing(direct: OrdersHarness) -> None:
    direct.payments.lock = direct.seller.height + 39
    order = await paid(direct, await direct.create(channel()))
    assert order.status is OrderStatus.FAILED
    assert direct.seller.opened_for(order.id) == []


async def test_a_lock_that_ends_in_the_middle_gives_the_channel_away(
    direct: OrdersHarness, caplog: pytest.LogCaptureFixture
) -> None:
    """The worst there is: it is told, and the books are right."""
    await direct.give_credit(1_000)
    direct.seller.freezes = True
    order = await paid(direct, await direct.create(channel()))
    direct.payments.time_out(request_of(order))
    await direct.settle_down()
    assert await direct.status(order) is OrderStatus.SUBMITTED
    direct.seller.thaw(refuses=False)
    await direct.pass_time(seconds=6)
    assert await direct.status(order) is OrderStatus.FILLED
    assert invoice_of(direct, order) is InvoiceState.CANCELLED
    assert "a channel was opened without payment" in caplog.text
    ((kind, subject, _),) = await direct.database.reader.findings.list_(now=direct.now)
    assert (kind, subject) == ("order.unpaid", order.id)


async def test_two_orders_never_reserve_the_same_coin(direct: OrdersHarness) -> None:
    for who in (HARBOUR, LIGHTHOUSE):
        await direct.give_credit(50_000, who)
    direct.seller.online.clear()
    first = await direct.create(channel(capacity=2_000_000))
    second = await direct.create(channel(OTHER, capacity=2_000_000), LIGHTHOUSE)
    await direct.settle_down()
    with pytest.raises(SoldOut):
        await direct.create(channel("03" + PEER[2:], capacity=2_000_000))
    reader = direct.database.reader.reserved_coins
    coins = [await reader.of_order(each.id) for each in (first, second)]
    assert coins[0] != coins[1]
    await direct.cancel(first)
    await direct.create(channel("03" + PEER[2:], capacity=2_000_000))


async def test_a_node_has_one_open_order(direct: OrdersHarness) -> None:
    order = await direct.create(channel())
    with pytest.raises(Conflict, match="another open order"):
        await direct.create(channel())
    theirs = await direct.create(channel(), LIGHTHOUSE)  # unpaid ones block nobody else
    await paid(direct, order)
    assert (await paid(direct, theirs)).status is OrderStatus.FILLED


async def test_the_seller_sells_no_more_than_it_may(direct: OrdersHarness) -> None:
    from leyden.values import replace  # noqa: PLC0415

    direct.rules = replace(direct.rules, seller_most_per_hour=Sats(1_500_000))
    await direct.give_credit(PRICE)
    await direct.create(channel())
    with pytest.raises(SoldOut):
        await direct.create(channel(OTHER))
    direct.rules = replace(
        direct.rules,
        seller_most_per_hour=Sats(10**8),
        seller_most_per_peer=Sats(500_000),
    )
    with pytest.raises(Conflict, match="maximum capacity"):
        await direct.create(channel(OTHER))


async def test_another_lnd_in_the_sellers_place_sells_nothing(
    direct: OrdersHarness,
) -> None:
    await direct.create(channel())
    direct.seller.pubkey = OTHER
    with pytest.raises(SellerAway):
        await direct.create(channel("03" + PEER[2:]))


async def test_the_treasury_is_no_seller(direct: OrdersHarness) -> None:
    await direct.start_sweeping()
    direct.seller.pubkey = direct.payments.pubkey
    with pytest.raises(SellerAway):
        await direct.create(channel())


async def test_a_waiting_order_can_be_cancelled(direct: OrdersHarness) -> None:
    direct.seller.online.clear()
    order = await paid(direct, await direct.create(channel()))
    cancelled = await direct.cancel(order)
    await direct.settle_down()
    assert cancelled.status is OrderStatus.CANCELLED
    assert invoice_of(direct, order) is InvoiceState.CANCELLED
    assert await direct.credit(HARBOUR) == 0


async def test_a_seller_that_is_away_is_waited_for_not_for_ever(
    direct: OrdersHarness,
) -> None:
    order = await direct.create(channel())
    direct.seller.away = True
    order = await paid(direct, order)
    assert order.status is OrderStatus.CREATING
    await direct.pass_time(minutes=16)
    assert await direct.status(order) is OrderStatus.FAILED


async def test_fees_above_the_price_are_waited_for(direct: OrdersHarness) -> None:
    direct.seller.fee_sat_per_vb = 51
    order = await paid(direct, await direct.create(channel()))
    assert order.status is OrderStatus.CREATING
    direct.seller.fee_sat_per_vb = 50
    await direct.pass_time(minutes=1)
    assert await direct.status(order) is OrderStatus.FILLED


async def test_a_transaction_of_many_coins_costs_no_more_than_its_price(
    direct: OrdersHarness,
) -> None:
    direct.seller.coins.clear()
    direct.seller.fill([250_000] * 5)
    direct.seller.fee_sat_per_vb = 28  # for 444 vB, where 240 at 50 are paid
    order = await paid(direct, await direct.create(channel()))
    assert order.status is OrderStatus.CREATING
    direct.seller.fee_sat_per_vb = 27
    await direct.pass_time(minutes=1)
    assert await direct.status(order) is OrderStatus.FILLED


async def happened(harness: OrdersHarness) -> list[str]:
    """Look at the leases; give the types of events there are of channels."""
    await seller_watch.check(harness.channels)
    found = await stored_types(harness.database, HARBOUR)
    return [each for each in found if each.startswith("channel.")]


async def test_the_end_of_a_lease_is_told_before_and_then(
    direct: OrdersHarness,
) -> None:
    order = await paid(direct, await direct.create(channel()))
    (opened,) = direct.seller.opened_for(order.id)
    assert await happened(direct) == []
    direct.seller.height += 1_007
    assert await happened(direct) == []
    direct.seller.height += 1
    for _ in range(2):
        assert await happened(direct) == ["channel.lease_ending"]
    assert await lease_watch.ended(direct.channels) == []
    direct.seller.height += 1_008
    assert (await happened(direct))[1:] == ["channel.lease_ended"]
    (ended,) = await lease_watch.ended(direct.channels)
    assert (ended.order_id, ended.point) == (order.id, opened.point)
    direct.seller.close_channel(opened.point)
    assert len(await happened(direct)) == 2, "after its end it may be closed"
    assert await lease_watch.ended(direct.channels) == []


async def test_a_channel_that_is_closed_early_is_told_once(
    direct: OrdersHarness,
) -> None:
    order = await paid(direct, await direct.create(channel()))
    (opened,) = direct.seller.opened_for(order.id)
    ordered = direct.database.reader.orders.capacity_ordered_to
    assert await ordered(PEER) == 1_000_000
    direct.seller.close_channel(opened.point)
    for _ in range(2):
        assert await happened(direct) == ["channel.closed_early"]
    since = direct.now - timedelta(hours=1)
    early = await direct.database.reader.leases.closed_early(since=since, limit=9)
    assert early == [order.id]
    assert await ordered(PEER) == 0
    assert await direct.status(order) is OrderStatus.FILLED, (
        "nothing is given back by itself"
    )


class AskedBefore(FakeSeller):
    """A seller that a program asked just before it died: we ask between."""

    async def open(self, wanted: WantedOpening) -> Opening | OpeningRefused:
        await super().open(wanted)
        return await super().open(wanted)


async def test_a_refusal_because_of_an_earlier_question_is_none(
    direct: OrdersHarness,
) -> None:
    """Its coin is spent by the opening that was asked for before: that one counts."""
    direct.seller, before = AskedBefore(), direct.seller
    direct.seller.coins, direct.seller.online = before.coins, before.online
    order = await paid(direct, await direct.create(channel()))
    assert order.status is OrderStatus.FILLED
    assert invoice_of(direct, order) is InvoiceState.SETTLED


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


async def test_leases_are_watched_where_fundings_cannot_be(
    direct: OrdersHarness,
) -> None:
    seller, before = WithoutTransactions(), direct.seller
    seller.coins, seller.online, direct.seller = before.coins, before.online, seller
    order = await paid(direct, await direct.create(channel()))
    (opened,) = seller.opened_for(order.id)
    seller.close_channel(opened.point)
    seller.looks = 0
    with pytest.raises(SellerAway):
        await seller_watch.check(direct.channels)
    assert "channel.closed_early" in await stored_types(direct.database, HARBOUR)
    assert seller.looks == 1, "one look is for both"


async def test_nothing_is_opened_for_a_payment_that_went_back(
    direct: OrdersHarness,
) -> None:
    """Its peer froze for so long, and would take a channel now."""
    direct.seller.freezes = True
    order = await paid(direct, await direct.create(channel()))
    direct.payments.time_out(request_of(order))
    await direct.settle_down()
    direct.seller.thaw(refuses=True)
    await direct.pass_time(seconds=6)
    assert await direct.status(order) is OrderStatus.FAILED
    assert direct.seller.opened_for(order.id) == []


async def test_orders_for_one_node_wait_for_each_other(direct: OrdersHarness) -> None:
    first = await direct.create(channel())
    second = await direct.create(channel(), LIGHTHOUSE)
    direct.seller.freezes = True
    assert (await paid(direct, first)).status is OrderStatus.SUBMITTED
    direct.seller.freezes = False
    assert (await paid(direct, second)).status is OrderStatus.CREATING
    await direct.pass_time(seconds=6)
    assert await direct.status(second) is OrderStatus.CREATING
    direct.seller.thaw(refuses=False)
    await direct.pass_time(seconds=6)
    assert await direct.status(first) is OrderStatus.FILLED
    assert await direct.status(second) is OrderStatus.FILLED
