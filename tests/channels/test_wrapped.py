"""Wrapped invoices: what becomes of each payment, and of each restart."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.direct.jit import wrapped
from leyden.channels.direct.rules.jit import JitStatus
from leyden.channels.direct.rules.wrapped import InnerPayment, PaidState
from leyden.channels.rules import ledger
from leyden.channels.rules.payments import InvoiceState
from leyden.values import replace
from tests.channels.jit_harness import HASH, OTHER, PEER, PURSE, SIZE
from tests.channels.orders_harness import OrdersHarness
from tests.channels.wrapped_harness import FEE, INNER, WrappedHarness
from tests.fakes.channels import FEE_VBYTES
from tests.fakes.forwarding import Fate
from tests.waiting import until

COST = 10 * FEE_VBYTES


@pytest.fixture
async def jit(harness: OrdersHarness) -> AsyncIterator[WrappedHarness]:
    made = WrappedHarness(harness)
    yield made
    await made.prove()


async def balance(jit: WrappedHarness, account: str) -> int:
    return (await jit.orders.database.reader.ledger.sums()).get(account, Sats(0))


async def test_a_payment_opens_a_channel_and_pays_the_node_over_it(
    jit: WrappedHarness,
) -> None:
    async with jit.serving():
        inner = await jit.wrapped()
        assert jit.wrapping.held[inner.payment_hash].asked_msat == SIZE
        jit.wrapping.pay_wrapped(inner.payment_hash)
        order = await jit.turns(inner, JitStatus.EARNED)
        await jit.is_closed(inner)
    assert jit.state_of(inner) is InvoiceState.SETTLED
    ((point, channel),) = jit.purse.channels.items()
    assert jit.wrapping.sent == [(inner.request, point)]
    assert channel.wanted.zero_conf
    assert not channel.wanted.announce
    assert channel.wanted.capacity == 100_000 + 1_000 + 100_000
    assert (order.earned_msat, order.funding_fee) == (FEE, COST)
    assert await balance(jit, ledger.EARNED) == FEE // 1_000
    assert await balance(jit, ledger.CHAIN_FEES) == -COST
    assert await balance(jit, ledger.PURSE) == COST - FEE // 1_000


async def test_what_a_payer_pays_too_much_is_booked_too(jit: WrappedHarness) -> None:
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash, msat=SIZE + 7_000)
        order = await jit.turns(inner, JitStatus.EARNED)
    assert order.earned_msat == FEE + 7_000


async def test_a_node_without_a_route_for_a_moment_is_paid(jit: WrappedHarness) -> None:
    jit.wrapping.no_routes = 3
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await jit.turns(inner, JitStatus.EARNED)
    assert len(jit.wrapping.sent) == 4


async def test_without_a_route_in_time_the_payer_has_it_back(
    jit: WrappedHarness,
) -> None:
    jit.wrapping.no_routes = 10**6
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await jit.turns(inner, JitStatus.RESUMING)
        await until(lambda: jit.wrapping.sent)
        jit.later(seconds=90)
        order = await jit.turns(inner, JitStatus.UNPAID)
        await jit.is_closed(inner)
    assert jit.state_of(inner) is InvoiceState.CANCELLED
    assert (order.earned_msat, order.funding_fee) == (0, COST)


async def test_a_node_that_is_away_is_waited_for_and_then_the_payer_has_it_back(
    jit: WrappedHarness,
) -> None:
    async with jit.serving():
        inner, other = await jit.wrapped(), await jit.wrapped()
        jit.purse.online.clear()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await jit.turns(inner, JitStatus.HOLDING)
        jit.later(seconds=90)
        await jit.is_closed(inner)
        assert jit.state_of(inner) is InvoiceState.CANCELLED
        assert (await jit.order_of(inner)).status is JitStatus.EXPIRED
        jit.wrapping.pay_wrapped(other.payment_hash)
        await jit.turns(other, JitStatus.HOLDING)
        jit.purse.online.add(PEER)
        await jit.turns(other, JitStatus.EARNED)
    assert len(jit.purse.channels) == 1


async def test_an_lnd_that_deletes_cancelled_invoices_holds_up_nothing(
    jit: WrappedHarness,
) -> None:
    jit.wrapping.forgets = True
    jit.purse.refuses = "channel rejected"
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await jit.is_closed(inner)
        assert (await jit.order_of(inner)).status is JitStatus.EXPIRED


async def test_after_two_blocks_no_channel_is_opened(jit: WrappedHarness) -> None:
    async with jit.serving():
        inner = await jit.wrapped()
        jit.purse.online.clear()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await jit.turns(inner, JitStatus.HOLDING)
        jit.purse.height += 2
        jit.purse.online.add(PEER)
        await jit.is_closed(inner)
    assert not jit.purse.channels


async def test_a_node_that_rejects_the_channel_costs_nothing(
    jit: WrappedHarness,
) -> None:
    jit.purse.refuses = "channel rejected"
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await jit.is_closed(inner)
        order = await jit.order_of(inner)
    assert jit.state_of(inner) is InvoiceState.CANCELLED
    assert (order.status, order.coins) == (JitStatus.EXPIRED, ())
    assert await jit.orders.database.reader.jit_orders.reserved() == set()


async def test_a_node_that_refuses_the_payment_has_a_channel_and_gets_no_other(
    jit: WrappedHarness,
) -> None:
    jit.wrapping.claims = False
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        order = await jit.turns(inner, JitStatus.UNPAID)
        await jit.is_closed(inner)
        assert jit.state_of(inner) is InvoiceState.CANCELLED
        assert order.earned_msat == 0
        assert await balance(jit, ledger.CHAIN_FEES) == -COST
        # Neither this way, nor over LSPS2, for a week.
        with pytest.raises(Exception, match="Client rejected"):
            await jit.wrapped()
        assert (await jit.buy(await jit.offer()))["error"]["code"] == 1


async def test_a_node_that_keeps_its_payment_is_waited_for_however_long(
    jit: WrappedHarness,
) -> None:
    jit.wrapping.answers = False
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await until(lambda: jit.wrapping.sent)
        jit.later(days=1)
        jit.purse.height += 60
        jit.purse.online.clear()
        await until(lambda: jit.wrapping.paid)
    async with jit.serving():
        assert (await jit.order_of(inner)).status is JitStatus.RESUMING
        assert jit.state_of(inner) is InvoiceState.ACCEPTED
        jit.wrapping.resolve(inner.payment_hash, claims=True)
        await jit.turns(inner, JitStatus.EARNED)
    assert jit.state_of(inner) is InvoiceState.SETTLED
    assert len(jit.wrapping.sent) == 1


async def test_for_a_payment_that_a_node_keeps_lnd_is_asked_next_to_nothing(
    jit: WrappedHarness,
) -> None:
    """Also by the process that did not send it."""
    jit.wrapping.answers = False
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await until(lambda: jit.wrapping.paid)
    async with jit.serving():
        await until(lambda: jit.wrapping.calls["decided"])
        before = jit.wrapping.calls.total()
        await asyncio.sleep(2)
        assert jit.wrapping.calls.total() == before
        jit.wrapping.resolve(inner.payment_hash, claims=True)
        await jit.turns(inner, JitStatus.EARNED)


async def test_a_channel_that_is_not_zero_conf_gets_no_payment(
    jit: WrappedHarness,
) -> None:
    jit.forwarding.zero_conf = False
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await jit.turns(inner, JitStatus.UNPAID)
        await jit.is_closed(inner)
    assert not jit.wrapping.sent


async def test_a_channel_that_never_gets_active_is_accounted_for(
    jit: WrappedHarness,
) -> None:
    jit.forwarding.active = False
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await jit.turns(inner, JitStatus.OPENED)
        jit.later(seconds=90)
        order = await jit.turns(inner, JitStatus.UNPAID)
        await jit.is_closed(inner)
    assert jit.state_of(inner) is InvoiceState.CANCELLED
    assert order.funding_fee == COST


@pytest.mark.parametrize("at", [JitStatus.HOLDING, JitStatus.OPENED])
async def test_a_payment_that_expires_too_soon_is_not_paid_on(
    jit: WrappedHarness, at: JitStatus
) -> None:
    """Its payer's HTLC must outlast what the node is paid with."""
    jit.forwarding.active = False
    async with jit.serving():
        inner = await jit.wrapped()
        if at is JitStatus.HOLDING:
            jit.purse.online.clear()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await jit.turns(inner, at)
        held = jit.wrapping.held[inner.payment_hash]
        held.invoice = replace(held.invoice, expires=jit.purse.height + 80 + 3 + 39)
        jit.forwarding.active = True
        jit.purse.online.add(PEER)
        await jit.is_closed(inner)
    assert not jit.wrapping.sent
    assert jit.state_of(inner) is InvoiceState.CANCELLED


async def test_no_channel_is_opened_for_less_than_it_costs(
    jit: WrappedHarness,
) -> None:
    async with jit.serving():
        inner = await jit.wrapped()
        jit.purse.fee_sat_per_vb = 15  # 3,600 sat, for 3,400
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await jit.is_closed(inner)
    assert jit.state_of(inner) is InvoiceState.CANCELLED
    assert not jit.purse.channels


async def test_the_limit_per_hour_holds_across_both_ways_of_buying(
    jit: WrappedHarness,
) -> None:
    jit.rules = replace(jit.rules, most_per_hour=Sats(300_000))
    jit.purse.online.add(OTHER)
    async with jit.serving():
        inner, scid = await jit.wrapped(), await jit.bought(OTHER)
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.EARNED)
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await jit.is_closed(inner)
    assert jit.state_of(inner) is InvoiceState.CANCELLED
    assert len(jit.purse.channels) == 1


async def test_both_ways_of_buying_at_once_never_share_a_coin(
    jit: WrappedHarness,
) -> None:
    jit.purse.online.add(OTHER)
    async with jit.serving():
        inner, scid = await jit.wrapped(), await jit.bought(OTHER)
        jit.wrapping.pay_wrapped(inner.payment_hash)
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.turns(inner, JitStatus.EARNED)
        await jit.becomes(scid, JitStatus.EARNED)
    coins = [each for c in jit.purse.channels.values() for each in c.wanted.coins]
    assert len(set(coins)) == len(coins) == 2


async def test_a_payment_to_the_orders_id_as_a_channel_is_passed_on(
    jit: WrappedHarness,
) -> None:
    """The interceptor does not even look at it."""
    async with jit.serving():
        inner = await jit.wrapped()
        order = await jit.order_of(inner)
        (paid,) = jit.forwarding.pay(order.scid, HASH, SIZE)
        await jit.resolved(paid)
        assert (await jit.order_of(inner)).status is JitStatus.SOLD
    assert paid.fate is Fate.UNKNOWN


async def test_nobody_pays_and_nothing_is_left(jit: WrappedHarness) -> None:
    async with jit.serving():
        inner = await jit.wrapped()
        jit.later(hours=2)
        await jit.is_closed(inner)
        assert jit.state_of(inner) is InvoiceState.CANCELLED
        assert (await jit.order_of(inner)).status is JitStatus.EXPIRED
    reader = jit.orders.database.reader
    async with jit.serving():
        jit.later(days=2)

        async def is_gone() -> bool:
            return not await reader.jit_orders.in_states(list(JitStatus))

        await until(is_gone, within_s=20)
    assert await reader.wrapped_invoices.with_hash(inner.payment_hash) is None


async def test_a_payment_that_was_held_while_we_were_away_too_long_goes_back(
    jit: WrappedHarness,
) -> None:
    inner = await jit.wrapped()
    jit.wrapping.pay_wrapped(inner.payment_hash)
    jit.later(hours=1)  # its own invoice has expired
    async with jit.serving():
        await jit.is_closed(inner)
    assert jit.state_of(inner) is InvoiceState.CANCELLED
    assert not jit.purse.channels


async def test_a_payment_hash_that_was_paid_before_earns_nothing(
    jit: WrappedHarness,
) -> None:
    """Otherwise the payer would pay us for what the node was paid long ago."""
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.paid[inner.payment_hash] = InnerPayment(
            state=PaidState.FAILED, why="FAILURE_REASON_NO_ROUTE"
        )
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await jit.turns(inner, JitStatus.UNPAID)
        await jit.is_closed(inner)
    assert jit.state_of(inner) is InvoiceState.CANCELLED
    assert not jit.wrapping.sent


# Restarts. What is paused does not end: its process is killed there.

_STEPS = [
    "pay",
    "done pay",
    "settle",
    "done settle",
]


@pytest.mark.parametrize("step", _STEPS)
async def test_a_process_that_dies_anywhere_is_continued_by_the_next(
    jit: WrappedHarness, step: str
) -> None:
    jit.wrapping.pauses_at = step
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await jit.wrapping.paused.wait()
    assert (await jit.order_of(inner)).status is JitStatus.RESUMING
    jit.wrapping.pauses_at = ""
    jit.later(hours=1)
    jit.purse.height += 6
    if step == "pay":  # lnd was told nothing: the inner invoice has expired by now
        async with jit.serving():
            await jit.is_closed(inner)
        assert jit.state_of(inner) is InvoiceState.CANCELLED
        assert (await jit.order_of(inner)).status is JitStatus.UNPAID
        return
    async with jit.serving():
        order = await jit.turns(inner, JitStatus.EARNED)
        await jit.is_closed(inner)
    assert order.earned_msat == FEE
    assert jit.state_of(inner) is InvoiceState.SETTLED
    assert len(jit.wrapping.sent) == len(jit.purse.channels) == 1


async def test_what_was_not_paid_yet_is_not_once_it_would_be_too_late(
    jit: WrappedHarness,
) -> None:
    """A process died before it told lnd, and blocks were found before the next one."""
    jit.wrapping.pauses_at = "pay"
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await jit.wrapping.paused.wait()
    jit.wrapping.pauses_at = ""
    jit.purse.height += 41
    async with jit.serving():
        await jit.is_closed(inner)
    assert jit.state_of(inner) is InvoiceState.CANCELLED
    assert not jit.wrapping.sent


async def test_what_a_frozen_lnd_reads_late_pays_nothing_twice(
    jit: WrappedHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may read what it was told first after what it was told last."""
    monkeypatch.setattr(wrapped, "_TOLD_WITHIN_S", 0.2)
    jit.wrapping.claims = False
    jit.wrapping.pauses_at = "pay"
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await jit.wrapping.paused.wait()
        jit.wrapping.pauses_at = ""
        (channel,) = await jit.forwarding.channels()
        looked = jit.wrapping.calls["payment"]
        await until(lambda: jit.wrapping.calls["payment"] > looked)
        await jit.wrapping.pay(inner.request, channel, cltv_limit=100)
        await jit.is_closed(inner)
    assert len(jit.wrapping.sent) == 1
    assert (await jit.order_of(inner)).status is JitStatus.UNPAID


async def test_a_channel_that_was_closed_before_it_was_used_ends_the_payment(
    jit: WrappedHarness,
) -> None:
    jit.wrapping.pauses_at = "pay"
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await jit.wrapping.paused.wait()
    jit.wrapping.pauses_at = ""
    order = await jit.order_of(inner)
    jit.purse.channels[order.channel_point].signed = False
    async with jit.serving():
        await jit.is_closed(inner)
    assert jit.state_of(inner) is InvoiceState.CANCELLED
    assert (await jit.order_of(inner)).status is JitStatus.UNPAID


async def test_a_node_that_was_paid_after_all_is_not_paid_by_us(
    jit: WrappedHarness,
) -> None:
    """Whatever led there: before it cancels, lnd is asked once more."""
    jit.wrapping.claims = False
    jit.wrapping.pauses_at = "cancel"
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await jit.wrapping.paused.wait()
    assert (await jit.order_of(inner)).status is JitStatus.UNPAID
    jit.wrapping.pauses_at = ""
    jit.wrapping.paid[inner.payment_hash] = InnerPayment(state=PaidState.IN_FLIGHT)
    async with jit.serving():
        jit.later(seconds=1)
        await asyncio.sleep(0.5)
        assert jit.state_of(inner) is InvoiceState.ACCEPTED
        jit.wrapping.resolve(inner.payment_hash, claims=True)
        order = await jit.turns(inner, JitStatus.EARNED)
    assert order.earned_msat == FEE
    assert jit.state_of(inner) is InvoiceState.SETTLED


async def test_a_payment_that_a_restored_database_does_not_know_is_settled(
    jit: WrappedHarness,
) -> None:
    """It only knows that the invoice was sold, and is paid too late."""
    inner = await jit.wrapped()
    jit.wrapping.pay_wrapped(inner.payment_hash)
    jit.wrapping.paid[inner.payment_hash] = InnerPayment(state=PaidState.IN_FLIGHT)
    jit.later(hours=3)
    async with jit.serving():
        await asyncio.sleep(0.5)
        assert jit.state_of(inner) is InvoiceState.ACCEPTED
        jit.wrapping.paid[inner.payment_hash] = InnerPayment(
            state=PaidState.SUCCEEDED,
            preimage=jit.wrapping.preimages[inner.payment_hash],
            msat=INNER,
        )
        await jit.is_closed(inner)
    assert jit.state_of(inner) is InvoiceState.SETTLED


async def test_a_payment_whose_order_a_restored_database_does_not_know_is_settled(
    jit: WrappedHarness,
) -> None:
    """Otherwise its payer would have it back, for what the node was paid."""
    jit.wrapping.answers = False
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await until(lambda: inner.payment_hash in jit.wrapping.paid, within_s=20)
    lost = await jit.order_of(inner)
    async with jit.orders.database.transaction() as tx:
        # As if the order had never been stored.
        await tx.jit_orders.drop_parts(lost.id)
        await tx.jit_orders.save(
            lost,
            replace(
                lost,
                status=JitStatus.EXPIRED,
                coins=(),
                channel_point="",
                funding_fee=None,
            ),
        )
        await tx.wrapped_invoices.close(lost.id)
        await tx.wrapped_invoices.prune(before=lost.valid_until, limit=1)
    jit.later(minutes=2)
    async with jit.serving():
        await asyncio.sleep(0.5)
        assert jit.state_of(inner) is InvoiceState.ACCEPTED, "the node may refuse it"
        jit.wrapping.resolve(inner.payment_hash, claims=True)
        jit.later(minutes=1)
        await until(lambda: jit.state_of(inner) is InvoiceState.SETTLED, within_s=20)


@pytest.mark.parametrize("call", ["pay", "settle"])
async def test_an_answer_that_is_lost_is_asked_for_again(
    jit: WrappedHarness, call: str
) -> None:
    jit.wrapping.loses = call
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        order = await jit.turns(inner, JitStatus.EARNED)
    assert order.earned_msat == FEE
    assert len(jit.wrapping.sent) == 1


async def test_a_lost_answer_to_cancel_is_asked_for_again(jit: WrappedHarness) -> None:
    jit.wrapping.loses = "cancel"
    jit.wrapping.claims = False
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await jit.is_closed(inner)
    assert jit.state_of(inner) is InvoiceState.CANCELLED


async def test_a_process_that_dies_while_the_channel_opens_finds_it(
    jit: WrappedHarness,
) -> None:
    jit.purse.answers_lost = 1
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await jit.turns(inner, JitStatus.EARNED)
    assert len(jit.purse.channels) == 1


async def test_an_opening_without_an_answer_keeps_its_coins_and_returns_the_payment(
    jit: WrappedHarness,
) -> None:
    jit.purse.freezes = True
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await until(lambda: jit.purse.channels)
        jit.later(seconds=90)
        await until(lambda: jit.state_of(inner) is InvoiceState.CANCELLED)
        order = await jit.order_of(inner)
        assert (order.status, len(order.coins)) == (JitStatus.OPENING, 1)
        jit.purse.thaw(refuses=False)  # it signs after all
        jit.later(seconds=91)
        await jit.turns(inner, JitStatus.UNPAID)
        await jit.is_closed(inner)
    assert not jit.wrapping.sent


async def test_coins_of_an_opening_that_never_comes_are_free_again(
    jit: WrappedHarness,
) -> None:
    jit.purse.freezes = True
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await until(lambda: jit.purse.channels)
        jit.later(seconds=90)
        await until(lambda: jit.state_of(inner) is InvoiceState.CANCELLED)
        jit.purse.thaw(refuses=True)
        jit.later(minutes=36)
        await jit.is_closed(inner)
        order = await jit.order_of(inner)
    assert (order.status, order.coins) == (JitStatus.EXPIRED, ())


async def test_an_lnd_that_is_away_is_waited_for(jit: WrappedHarness) -> None:
    async with jit.serving():
        inner = await jit.wrapped()
        jit.purse.away = True
        jit.wrapping.pay_wrapped(inner.payment_hash)
        jit.later(seconds=80)
        jit.purse.away = False
        await jit.turns(inner, JitStatus.EARNED)


async def test_a_payment_is_settled_by_an_lnd_that_is_behind_its_chain(
    jit: WrappedHarness,
) -> None:
    """The chain goes on without it, until the payer's payment is gone."""
    jit.wrapping.answers = False
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await until(lambda: jit.wrapping.sent)
        jit.purse.synced = False
        jit.wrapping.resolve(inner.payment_hash, claims=True)
        await jit.turns(inner, JitStatus.EARNED)
        await jit.is_closed(inner)
    assert jit.state_of(inner) is InvoiceState.SETTLED


async def test_an_lnd_that_is_behind_its_chain_pays_nothing(
    jit: WrappedHarness,
) -> None:
    """It does not know for how long the payer's payment is held."""
    jit.forwarding.active = False
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await jit.turns(inner, JitStatus.OPENED)
        jit.purse.synced = False
        await asyncio.sleep(1)
        jit.forwarding.active = True
        await asyncio.sleep(0.5)
        assert (await jit.order_of(inner)).status is JitStatus.OPENED
        jit.purse.synced = True
        await jit.turns(inner, JitStatus.EARNED)


async def test_an_lnd_that_falls_behind_its_chain_tries_no_payment_again(
    jit: WrappedHarness,
) -> None:
    jit.wrapping.no_routes = 10**6
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await until(lambda: jit.wrapping.sent)
        jit.purse.synced = False
        await asyncio.sleep(1.5)
        tried = len(jit.wrapping.sent)
        await asyncio.sleep(1)
        assert len(jit.wrapping.sent) == tried
        jit.wrapping.no_routes = 0
        jit.purse.synced = True
        await jit.turns(inner, JitStatus.EARNED)


async def test_without_the_permissions_lsps2_goes_on(jit: WrappedHarness) -> None:
    inner = await jit.wrapped()
    jit.wrapping.denies = True
    jit.purse.online.add(OTHER)
    async with jit.serving():
        scid = await jit.bought(OTHER)
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.EARNED)
        assert (await jit.order_of(inner)).status is JitStatus.SOLD
        jit.wrapping.denies = False
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await jit.turns(inner, JitStatus.EARNED)


async def test_a_node_that_was_paid_and_whose_payment_is_gone_is_an_alarm(
    harness: OrdersHarness,
) -> None:
    """We were away until the payer's time was over: this much can be lost."""
    jit = WrappedHarness(harness)
    jit.wrapping.answers = False
    async with jit.serving():
        inner = await jit.wrapped()
        jit.wrapping.pay_wrapped(inner.payment_hash)
        await until(lambda: jit.wrapping.sent)
        held = jit.wrapping.held[inner.payment_hash]
        held.invoice = replace(held.invoice, state=InvoiceState.CANCELLED)
        jit.wrapping.resolve(inner.payment_hash, claims=True)
        assert jit.wrapping.lost_msat == INNER
        await jit.is_closed(inner)
    order = await jit.order_of(inner)
    findings = jit.orders.database.reader.findings
    ((kind, subject, what),) = await findings.list_(now=jit.orders.now)
    assert (kind, subject) == ("purse.lost", order.id)
    assert f"was paid {INNER:,} msat" in what
    assert (order.status, order.earned_msat) == (JitStatus.RESUMING, 0)
    assert jit.wrapping.paid[inner.payment_hash].state is PaidState.SUCCEEDED


async def test_another_lnd_than_the_one_that_sold_it_is_asked_nothing(
    jit: WrappedHarness,
) -> None:
    inner = await jit.wrapped()
    jit.wrapping.pay_wrapped(inner.payment_hash)
    jit.purse.pubkey = f"03{'f9308a01' * 8}"
    async with jit.serving():
        scid = await jit.bought()
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.EARNED)
        assert (await jit.order_of(inner)).status is JitStatus.SOLD
        jit.purse.pubkey = PURSE
