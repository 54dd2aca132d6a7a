"""Orders whose node trusts us: their channel is published once they are paid."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from leyden.base.database.statements import Statement
from leyden.base.rules.alarms import AlarmKind
from leyden.channels.direct.jit import state
from leyden.channels.direct.rules.jit import GIVEN_UP_AFTER, JitOrder, JitStatus
from leyden.channels.rules import ledger
from leyden.values import replace
from tests.channels.jit_harness import FEE, HASH, OTHER, PEER, SIZE, JitHarness
from tests.channels.orders_harness import OrdersHarness
from tests.channels.test_jit import COST, OTHER_HASH, balance
from tests.fakes.forwarding import Fate, alias_of
from tests.waiting import until

_ITS_OWN = 900 << 40  # a channel that the node opened itself
_MOST_LISTED = 400


@pytest.fixture
async def jit(harness: OrdersHarness) -> AsyncIterator[JitHarness]:
    made = trusting(harness)
    yield made
    await made.prove()


def trusting(harness: OrdersHarness) -> JitHarness:
    made = JitHarness(harness)
    made.rules = replace(made.rules, client_trusts_lsp=True)
    return made


async def test_a_channel_is_published_once_its_payment_is_claimed(
    jit: JitHarness,
) -> None:
    jit.forwarding.answers = False
    async with jit.serving():
        answer = await jit.buy(await jit.offer())
        assert answer["result"]["client_trusts_lsp"] is True
        scid = (await newest(jit)).scid
        jit.forwarding.pay(scid, HASH, SIZE)
        order = await jit.becomes(scid, JitStatus.RESUMING)
        await until(lambda: _is_forwarded(jit), within_s=20)
        jit.orders.now += timedelta(minutes=30)  # the node keeps it
        (channel,) = jit.purse.channels.values()
        assert not channel.published
        assert order.transaction
        jit.forwarding.resolve(HASH, claims=True)
        await becomes_published(jit, scid)
        order = await jit.becomes(scid, JitStatus.EARNED)
    assert jit.unpublished.published == [order.transaction]
    assert (order.status, order.earned_msat) == (JitStatus.EARNED, FEE)
    assert await balance(jit, ledger.CHAIN_FEES) == -COST


async def test_a_payment_that_nobody_claims_costs_nothing(jit: JitHarness) -> None:
    jit.forwarding.claims = False
    async with jit.serving():
        scid = await jit.bought()
        (probe,) = jit.forwarding.pay(scid, OTHER_HASH, SIZE)
        await jit.becomes(scid, JitStatus.RESUMING)
        await jit.resolved(probe)
        jit.orders.now += timedelta(seconds=10)
        await jit.becomes(scid, JitStatus.UNPAID)
        jit.orders.now += GIVEN_UP_AFTER
        order = await jit.becomes(scid, JitStatus.EXPIRED)
        assert not jit.purse.channels
        assert (order.coins, order.transaction) == ((), "")
        assert (await jit.purse.wallet()).locked == 0
        assert await balance(jit, ledger.CHAIN_FEES) == 0
        (late,) = jit.forwarding.pay(scid, HASH, SIZE)
        await jit.resolved(late)
        assert late.fate is Fate.UNKNOWN
        # It may buy another: it cost nothing.
        jit.forwarding.claims = True
        scid = await jit.bought()
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.EARNED)
        await becomes_published(jit, scid)


async def test_a_payment_after_a_probe_passes_the_same_channel(jit: JitHarness) -> None:
    jit.forwarding.claims = False
    async with jit.serving():
        scid = await jit.bought()
        (probe,) = jit.forwarding.pay(scid, OTHER_HASH, SIZE)
        await jit.becomes(scid, JitStatus.RESUMING)
        await jit.resolved(probe)
        jit.orders.now += timedelta(seconds=10)
        await jit.becomes(scid, JitStatus.UNPAID)
        jit.forwarding.claims = True
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.EARNED)
        await becomes_published(jit, scid)
    assert len(jit.purse.channels) == 1


async def test_only_a_node_that_never_paid_is_asked_to_trust_us(
    jit: JitHarness,
) -> None:
    async with jit.serving():
        scid = await jit.bought()
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.EARNED)
        answer = await jit.buy(await jit.offer())
        assert answer["result"]["client_trusts_lsp"] is False
        await becomes_published(jit, scid)


async def test_a_node_that_has_a_channel_is_not_asked_to_trust_us(
    jit: JitHarness,
) -> None:
    """Else lnd may forward what is for one of its channels over the other."""
    jit.rules = replace(jit.rules, client_trusts_lsp=False)
    jit.forwarding.claims = False
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await jit.resolved(paid)
    jit.rules = replace(jit.rules, client_trusts_lsp=True)
    jit.orders.now += timedelta(days=8)
    async with jit.serving():
        answer = await jit.buy(await jit.offer())
        assert answer["result"]["client_trusts_lsp"] is False


async def test_what_lnd_did_not_write_down_is_published_too(jit: JitHarness) -> None:
    """lnd was killed between a claim and its history: the channel's balance has it."""
    jit.forwarding.silent = True
    async with jit.serving():
        scid = await jit.bought()
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.RESUMING)
        await becomes_published(jit, scid)
        jit.orders.now += timedelta(seconds=10)
        await jit.becomes(scid, JitStatus.UNPAID)
    (channel,) = jit.purse.channels.values()
    assert channel.published
    # The books can't have its fee, and `verify` says so.
    assert jit.forwarding.received_msat(HASH) == SIZE - FEE
    jit.forwarding.paid.clear()


async def test_a_payment_of_somebody_else_waits_until_the_channel_is_published(
    jit: JitHarness,
) -> None:
    """Nothing else is in a channel that may be given up."""
    jit.forwarding.answers = False
    async with jit.serving():
        scid = await jit.bought()
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.RESUMING)
        (point,) = jit.purse.channels
        (other,) = jit.forwarding.pay(alias_of(point), OTHER_HASH, 5_000)
        (stranger,) = jit.forwarding.pay(16_000_001 << 40, "ef" * 32, 5_000)
        await jit.resolved(stranger)
        assert [stranger.fate, other.fate] == [Fate.PASSED, Fate.HELD]
        jit.orders.now += timedelta(seconds=90)
        await jit.resolved(other)
        (later,) = jit.forwarding.pay(alias_of(point), "12" * 32, 5_000)
        jit.forwarding.answers = True
        jit.forwarding.resolve(HASH, claims=True)
        await becomes_published(jit, scid)
        await jit.resolved(later)
    assert [other.fate, later.fate] == [Fate.FAILED, Fate.CLAIMED]


@pytest.mark.parametrize("at", ["funded", "stored"])
async def test_an_opening_whose_answer_is_lost_is_found_or_begun_anew(
    jit: JitHarness, at: str
) -> None:
    jit.unpublished.dies_at = at
    async with jit.serving():
        scid = await jit.bought()
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.EARNED)
        await becomes_published(jit, scid)
    assert len(jit.purse.channels) == 1


async def test_a_node_that_does_not_sign_has_its_coins_for_35_minutes(
    jit: JitHarness,
) -> None:
    jit.purse.freezes = True
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.OPENING)
        await until(lambda: jit.purse.channels)
        jit.orders.now += timedelta(seconds=90)
        await jit.resolved(paid)
        assert (await jit.purse.wallet()).locked > 0
        jit.orders.now += timedelta(minutes=36)
        order = await jit.becomes(scid, JitStatus.SOLD)
    assert (order.coins, order.transaction) == ((), "")
    assert (await jit.purse.wallet()).locked == 0


async def test_a_channel_of_an_attempt_that_was_given_up_is_not_used(
    jit: JitHarness,
) -> None:
    """Its peer signed late: its coins may be in another channel by now."""
    jit.purse.freezes = True
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.OPENING)
        await until(lambda: jit.purse.channels)
        (late,) = jit.purse.channels.values()
        jit.orders.now += timedelta(seconds=90)
        await jit.resolved(paid)
        jit.orders.now += timedelta(minutes=36)
        await jit.becomes(scid, JitStatus.SOLD)
        late.signed = True
        jit.purse.channels[late.point] = late
        jit.purse.freezes = False
        jit.forwarding.pay(scid, OTHER_HASH, SIZE)
        await jit.becomes(scid, JitStatus.EARNED)
        await becomes_published(jit, scid)
    (channel,) = jit.purse.channels
    assert channel != late.point


async def test_a_channel_that_a_restored_database_does_not_know_is_not_given_up(
    harness: OrdersHarness,
) -> None:
    """Its node was paid, after the backup: only its operator can pay it again."""
    jit = trusting(harness)
    jit.unpublished.refuses = "the platform's machine is lost"
    jit.forwarding.silent = True  # so that nothing of it is in the books
    async with jit.serving():
        scid = await jit.bought()
        before = await jit.order(scid)
        jit.forwarding.pay(scid, HASH, SIZE)
        await until(lambda: is_alarmed(jit, before.id), within_s=20)
    async with jit.orders.database.transaction() as tx:
        await tx.jit_orders.drop_parts(before.id)
        await tx.run(Statement("DELETE FROM jit_order"))
        await tx.run(Statement("DELETE FROM finding"))
        assert await tx.jit_orders.add(before)
    jit.orders.now += timedelta(minutes=1)
    async with jit.serving():
        (paid,) = jit.forwarding.pay(scid, OTHER_HASH, SIZE)
        await jit.becomes(scid, JitStatus.OPENING)
        await until(lambda: is_alarmed(jit, before.id), within_s=20)
        await asyncio.sleep(0.5)  # it is not given up
        jit.orders.now += timedelta(seconds=90)
        await jit.resolved(paid)
    assert paid.fate is Fate.FAILED
    assert len(jit.purse.channels) == 1
    assert jit.unpublished.robbed_msat == 0


async def test_giving_up_is_repeated_until_lnd_has_done_it(jit: JitHarness) -> None:
    jit.forwarding.claims = False
    jit.unpublished.dies_at = "given up"
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await jit.resolved(paid)
        jit.orders.now += timedelta(seconds=10)
        await jit.becomes(scid, JitStatus.UNPAID)
        jit.orders.now += GIVEN_UP_AFTER
        await jit.becomes(scid, JitStatus.RETRACTING)
        await jit.becomes(scid, JitStatus.EXPIRED)
    assert not jit.purse.channels


async def test_a_transaction_that_is_refused_is_published_later_with_an_alarm(
    jit: JitHarness,
) -> None:
    jit.unpublished.refuses = "mempool min fee not met"
    async with jit.serving():
        scid = await jit.bought()
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.EARNED)
        order = await jit.order(scid)
        await until(lambda: is_alarmed(jit, order.id), within_s=20)
        (again,) = jit.forwarding.pay(scid, OTHER_HASH, 5_000)  # waits for it
        jit.unpublished.refuses = ""
        await becomes_published(jit, scid)
        await jit.resolved(again)
        assert again.fate is Fate.CLAIMED


async def test_a_channel_that_lnd_closes_is_published_so_that_it_ends(
    jit: JitHarness,
) -> None:
    jit.forwarding.answers = False
    async with jit.serving():
        scid = await jit.bought()
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.RESUMING)
        (point,) = jit.purse.channels
        jit.forwarding.closed.add(point)
        await becomes_published(jit, scid)


async def test_a_process_that_dies_leaves_the_next_one_to_publish(
    jit: JitHarness,
) -> None:
    jit.forwarding.answers = False
    async with jit.serving():
        scid = await jit.bought()
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.RESUMING)
        await until(lambda: jit.forwarding.history or _is_forwarded(jit))
    jit.forwarding.resolve(HASH, claims=True)
    async with jit.serving():
        await becomes_published(jit, scid)


async def test_an_order_that_lnd_does_not_give_up_keeps_no_other_from_being_published(
    jit: JitHarness,
) -> None:
    jit.forwarding.claims = False
    jit.purse.online.add(OTHER)
    async with jit.serving():
        first, second = sorted([await jit.bought(), await jit.bought(OTHER)])
        (paid,) = jit.forwarding.pay(first, HASH, SIZE)
        await jit.resolved(paid)
        jit.orders.now += timedelta(seconds=10)
        stuck = await jit.becomes(first, JitStatus.UNPAID)
        jit.unpublished.keeps.add(stuck.id)
        jit.orders.now += GIVEN_UP_AFTER
        await jit.becomes(first, JitStatus.RETRACTING)
        jit.forwarding.claims = True
        jit.forwarding.pay(second, OTHER_HASH, SIZE)
        await jit.becomes(second, JitStatus.EARNED)
        await until(lambda: jit.unpublished.published, within_s=20)
        jit.unpublished.keeps.clear()
        await jit.becomes(first, JitStatus.EXPIRED)


async def test_what_lnd_sends_over_a_channel_that_is_being_given_up_is_published(
    jit: JitHarness,
) -> None:
    """The node has another channel with us by now, and lnd chose this one for it."""
    jit.forwarding.claims = False
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await jit.resolved(paid)
        jit.orders.now += timedelta(seconds=10)
        await jit.becomes(scid, JitStatus.UNPAID)
        (point,) = jit.purse.channels
        jit.forwarding.aliases[_ITS_OWN] = point
        jit.unpublished.dies_at = "giving up"
        jit.orders.now += GIVEN_UP_AFTER
        await until(lambda: not jit.unpublished.dies_at, within_s=20)
        jit.forwarding.answers = False
        jit.forwarding.pay(_ITS_OWN, OTHER_HASH, 5_000_000)
        await jit.becomes(scid, JitStatus.UNPAID)
        jit.forwarding.resolve(OTHER_HASH, claims=True)
        await becomes_published(jit, scid)


async def test_a_node_that_paid_since_it_bought_gets_a_published_channel(
    jit: JitHarness,
) -> None:
    """Else lnd may send what is for its first channel over the second."""
    async with jit.serving():
        first, second = await jit.bought(), await jit.bought()
        jit.forwarding.pay(first, HASH, SIZE)
        await jit.becomes(first, JitStatus.EARNED)
        await becomes_published(jit, first)
        jit.forwarding.answers = False
        jit.forwarding.pay(second, OTHER_HASH, SIZE)
        await jit.becomes(second, JitStatus.RESUMING)
        await until(lambda: _is_forwarded(jit), within_s=20)
        assert all(each.published for each in jit.purse.channels.values())
        jit.forwarding.resolve(OTHER_HASH, claims=True)
        await jit.becomes(second, JitStatus.EARNED)
    assert not (await jit.order(second)).trusts


async def test_many_payments_that_wait_for_a_channel_are_looked_at_less_often(
    jit: JitHarness,
) -> None:
    jit.forwarding.answers = False
    async with jit.serving():
        scid = await jit.bought()
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.RESUMING)
        (point,) = jit.purse.channels
        others = jit.forwarding.pay(alias_of(point), OTHER_HASH, *[5_000] * 400)
        await asyncio.sleep(1)
        before = jit.forwarding.listed
        await asyncio.sleep(1)
        assert jit.forwarding.listed - before < _MOST_LISTED
        jit.orders.now += timedelta(seconds=90)
        await jit.resolved(*others)


async def test_a_process_that_lost_its_task_gives_nothing_up(jit: JitHarness) -> None:
    """Another one may be opening this channel."""
    jit.unpublished.dies_at = "funded"
    async with jit.serving():
        scid = await jit.bought()
        order = await jit.order(scid)
        jit.unpublished.keeps.add(order.id)
        jit.forwarding.pay(scid, HASH, SIZE)
        await until(lambda: not jit.unpublished.dies_at, within_s=20)
        async with jit.orders.database.transaction() as tx:
            await tx.run(Statement("UPDATE task SET fence = fence + 1"))
        jit.unpublished.keeps.clear()
        await asyncio.sleep(1)
    assert jit.unpublished.gave_up == []


async def test_a_channel_that_nobody_can_publish_is_an_alarm(
    harness: OrdersHarness,
) -> None:
    jit = trusting(harness)
    jit.unpublished.refuses = "the platform's machine is lost"
    async with jit.serving():
        scid = await jit.bought()
        before = await jit.order(scid)
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.EARNED)
    jit.orders.now += timedelta(hours=1)
    assert not await is_alarmed(jit, before.id)
    jit.purse.pubkey = OTHER  # the purse is another lnd now
    async with jit.serving():
        await until(lambda: is_alarmed(jit, before.id), within_s=20)
    jit.purse.pubkey = before.purse  # ... or the database is older than the payment
    jit.orders.now += timedelta(hours=1)
    async with jit.orders.database.transaction() as tx:
        await tx.jit_orders.drop_parts(before.id)
        await tx.run(Statement("DELETE FROM jit_order"))
    assert not await is_alarmed(jit, before.id)
    async with jit.serving():
        await until(lambda: is_alarmed(jit, before.id), within_s=20)


async def test_permissions_that_are_missing_are_named(jit: JitHarness) -> None:
    jit.unpublished.allowed = False
    purse = jit.channels.purse
    assert purse is not None
    found = await state.read(jit.channels, purse, jit.rules)
    assert any("AbandonChannel" in each for each in found.missing), found.missing
    off = replace(jit.rules, client_trusts_lsp=False)
    found = await state.read(jit.channels, purse, off)
    assert not any("AbandonChannel" in each for each in found.missing)


async def is_alarmed(jit: JitHarness, order_id: str) -> bool:
    found = await jit.orders.database.reader.findings.list_(now=jit.orders.now)
    return (AlarmKind.PURSE_UNPUBLISHED, order_id) in [each[:2] for each in found]


def _is_forwarded(jit: JitHarness) -> bool:
    return any(each.fate is Fate.FORWARDED for each in jit.forwarding.paid.values())


async def newest(jit: JitHarness) -> JitOrder:
    found = await jit.orders.database.reader.jit_orders.in_states(list(JitStatus))
    return max(found, key=lambda each: each.created)


async def becomes_published(jit: JitHarness, scid: int) -> None:
    """Wait until the channel is published, and its cost is booked."""

    async def is_so() -> bool:
        return (await jit.order(scid)).funding_fee is not None

    await until(is_so, within_s=20)
    assert all(each.published for each in jit.purse.channels.values()), PEER
