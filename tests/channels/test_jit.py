"""Just-in-time orders: what becomes of each payment, and of each restart."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import NoReturn

import pytest
from prometheus_client import REGISTRY

from leyden.base.database.statements import Statement
from leyden.base.rules.units import Sats
from leyden.channels.books import jit_rules
from leyden.channels.direct.base import WantedOpening
from leyden.channels.direct.jit import state
from leyden.channels.direct.jit.purse import RecentWallet
from leyden.channels.direct.rows.jit_orders import JitOrders
from leyden.channels.direct.rules.jit import HOLD, JitChannel, JitStatus
from leyden.channels.direct.rules.jit import scid_text as jit_id
from leyden.channels.rules import ledger
from leyden.errors import SellerAway
from leyden.values import replace
from tests.channels.jit_harness import FEE, HASH, OTHER, PEER, PURSE, SIZE, JitHarness
from tests.channels.orders_harness import OrdersHarness
from tests.fakes.channels import FEE_VBYTES
from tests.fakes.forwarding import OTHERS, Fate
from tests.waiting import until

COST = 10 * FEE_VBYTES
OTHER_HASH = "cd" * 32


@pytest.fixture
async def jit(harness: OrdersHarness) -> AsyncIterator[JitHarness]:
    made = JitHarness(harness)
    yield made
    await made.prove()


async def balance(jit: JitHarness, account: str) -> int:
    return (await jit.orders.database.reader.ledger.sums()).get(account, Sats(0))


async def test_a_payment_opens_a_channel_and_the_fee_is_booked(jit: JitHarness) -> None:
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        order = await jit.becomes(scid, JitStatus.EARNED)
    assert paid.fate is Fate.CLAIMED
    assert jit.forwarding.received_msat(HASH) == SIZE - FEE
    assert order.earned_msat == FEE
    assert order.funding_fee == COST
    (channel,) = jit.purse.channels.values()
    assert channel.wanted.zero_conf
    assert not channel.wanted.announce
    assert channel.wanted.capacity == 100_000 + 1_000 + 100_000
    assert await balance(jit, ledger.EARNED) == FEE // 1_000
    assert await balance(jit, ledger.CHAIN_FEES) == -COST
    assert await balance(jit, ledger.PURSE) == COST - FEE // 1_000


async def test_a_second_payment_passes_without_a_fee(jit: JitHarness) -> None:
    async with jit.serving():
        scid = await jit.bought()
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.EARNED)
        (paid,) = jit.forwarding.pay(scid, OTHER_HASH, 7_000)
        await jit.resolved(paid)
    assert jit.forwarding.received_msat(OTHER_HASH) == 7_000


async def test_several_parts_are_held_until_all_are_there(jit: JitHarness) -> None:
    async with jit.serving():
        scid = await jit.bought()
        parts = jit.forwarding.pay(scid, HASH, 40_000_000, 35_000_000)
        await jit.becomes(scid, JitStatus.HOLDING)
        assert not jit.purse.channels
        parts += jit.forwarding.pay(scid, HASH, 25_000_000)
        order = await jit.becomes(scid, JitStatus.EARNED)
    assert [each.fate for each in parts] == [Fate.CLAIMED] * 3
    assert order.earned_msat == FEE
    assert len(jit.purse.channels) == 1


async def test_what_is_not_ours_is_passed_on_untouched_without_a_database(
    jit: JitHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with jit.serving():
        monkeypatch.setattr(JitOrders, "find", None)  # it would fail
        (stranger,) = jit.forwarding.pay(900_000 << 40 | 1, HASH, 5_000)
        await until(lambda: stranger.fate is Fate.PASSED, within_s=1)
        monkeypatch.undo()
        (never_sold,) = jit.forwarding.pay(16_150_000 << 40 | 1, HASH, 5_000)
        await jit.resolved(never_sold)
    assert never_sold.fate is Fate.UNKNOWN
    assert {each.out_msat for each in jit.forwarding.answered} == {None}


async def test_a_node_that_is_away_is_waited_for_and_then_the_payer_has_it_back(
    jit: JitHarness,
) -> None:
    jit.purse.online.clear()
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.HOLDING)
        jit.orders.now += timedelta(seconds=90)
        await jit.resolved(paid)
        assert paid.fate is Fate.FAILED
        await jit.becomes(scid, JitStatus.SOLD)
        jit.purse.online.add(PEER)
        jit.forwarding.pay(scid, HASH, SIZE)  # the payer tries again
        await jit.becomes(scid, JitStatus.EARNED)


async def test_after_two_blocks_no_channel_is_opened(jit: JitHarness) -> None:
    jit.purse.online.clear()
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.HOLDING)
        jit.purse.height += 2
        jit.purse.online.add(PEER)
        await jit.resolved(paid)
    assert paid.fate is Fate.FAILED
    assert not jit.purse.channels


async def test_a_node_that_rejects_the_channel_costs_nothing(jit: JitHarness) -> None:
    jit.purse.refuses = "Channel request rejected"
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await jit.resolved(paid)
        assert paid.fate is Fate.UNKNOWN
        order = await jit.becomes(scid, JitStatus.SOLD)
    assert order.coins == ()
    assert await jit.orders.database.reader.jit_orders.reserved() == set()


async def test_a_node_that_refuses_the_payment_has_a_channel_and_pays_the_next_time(
    jit: JitHarness,
) -> None:
    jit.forwarding.claims = False
    async with jit.serving():
        scid = await jit.bought()
        (probe,) = jit.forwarding.pay(scid, OTHER_HASH, SIZE)
        await jit.becomes(scid, JitStatus.RESUMING)
        await jit.resolved(probe)
        jit.orders.now += timedelta(seconds=10)
        order = await jit.becomes(scid, JitStatus.UNPAID)
        assert (probe.fate, order.earned_msat) == (Fate.REFUSED, 0)
        assert await balance(jit, ledger.CHAIN_FEES) == -COST
        # Nobody sells it another one for a week.
        refused = await jit.buy(await jit.offer())
        assert refused["error"]["code"] == 1
        jit.orders.now += timedelta(days=7)
        assert "result" in await jit.buy(await jit.offer())
        jit.forwarding.claims = True
        jit.forwarding.pay(scid, HASH, SIZE)
        order = await jit.becomes(scid, JitStatus.EARNED)
    assert order.earned_msat == FEE
    assert len(jit.purse.channels) == 1


async def test_a_channel_that_is_not_zero_conf_gets_no_payment(jit: JitHarness) -> None:
    jit.forwarding.zero_conf = False
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await jit.resolved(paid)
        await jit.becomes(scid, JitStatus.UNPAID)
    assert paid.fate is Fate.FAILED
    assert jit.forwarding.aliases == {}


async def test_a_channel_that_never_gets_active_is_accounted_for(
    jit: JitHarness,
) -> None:
    jit.forwarding.active = False
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.OPENED)
        jit.orders.now += timedelta(seconds=90)
        await jit.resolved(paid)
        order = await jit.becomes(scid, JitStatus.UNPAID)
    assert (paid.fate, order.funding_fee) == (Fate.FAILED, COST)


async def test_no_channel_is_opened_for_less_than_it_costs(jit: JitHarness) -> None:
    async with jit.serving():
        scid = await jit.bought()
        jit.purse.fee_sat_per_vb = 15  # 3,600 sat, for 3,400
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await jit.resolved(paid)
        await jit.becomes(scid, JitStatus.SOLD)
    assert paid.fate is Fate.UNKNOWN
    assert not jit.purse.channels


async def test_a_channel_of_many_coins_is_not_opened_for_less_than_it_costs(
    jit: JitHarness,
) -> None:
    async with jit.serving():
        scid = await jit.bought()
        jit.purse.coins.clear()
        jit.purse.fill([65_000] * 5)  # 4,440 sat of fees for five, for 3,400
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await jit.resolved(paid)
        await jit.becomes(scid, JitStatus.SOLD)
    assert paid.fate is Fate.UNKNOWN
    assert not jit.purse.channels


async def test_the_limit_per_hour_holds_across_nodes(jit: JitHarness) -> None:
    jit.rules = replace(jit.rules, most_per_hour=Sats(300_000))
    jit.purse.online.add(OTHER)
    async with jit.serving():
        first, second = await jit.bought(), await jit.bought(OTHER)
        jit.forwarding.pay(first, HASH, SIZE)
        await jit.becomes(first, JitStatus.EARNED)
        (paid,) = jit.forwarding.pay(second, OTHER_HASH, SIZE)
        await jit.resolved(paid)
        assert paid.fate is Fate.UNKNOWN
        jit.orders.now += timedelta(hours=1)
        jit.forwarding.pay(second, OTHER_HASH, SIZE)
        await jit.becomes(second, JitStatus.EARNED)


async def test_two_payments_at_once_never_share_a_coin(jit: JitHarness) -> None:
    jit.purse.online.add(OTHER)
    async with jit.serving():
        first, second = await jit.bought(), await jit.bought(OTHER)
        jit.forwarding.pay(first, HASH, SIZE)
        jit.forwarding.pay(second, OTHER_HASH, SIZE)
        await jit.becomes(first, JitStatus.EARNED)
        await jit.becomes(second, JitStatus.EARNED)
    coins = [each for c in jit.purse.channels.values() for each in c.wanted.coins]
    assert len(set(coins)) == len(coins) == 2


async def test_a_node_that_keeps_its_payment_gets_no_other_channel(
    jit: JitHarness,
) -> None:
    jit.forwarding.answers = False
    jit.rules = replace(jit.rules, most_unpaid=Sats(150_000))
    jit.purse.online.add(OTHER)
    async with jit.serving():
        kept, second, others = [await jit.bought(each) for each in (PEER, PEER, OTHER)]
        jit.forwarding.pay(kept, HASH, SIZE)
        await jit.becomes(kept, JitStatus.RESUMING)
        (paid,) = jit.forwarding.pay(second, OTHER_HASH, SIZE)
        await jit.becomes(second, JitStatus.HOLDING)
        jit.orders.now += timedelta(seconds=90)
        await jit.resolved(paid)
        assert paid.fate is Fate.FAILED
        # After a while, it also counts as one of all that nobody takes.
        jit.orders.now += timedelta(minutes=10)
        (paid,) = jit.forwarding.pay(others, OTHER_HASH, SIZE)
        await jit.resolved(paid)
        assert paid.fate is Fate.UNKNOWN
        assert len(jit.purse.channels) == 1
        jit.forwarding.resolve(HASH, claims=True)
        await jit.becomes(kept, JitStatus.EARNED)
        jit.forwarding.answers = True
        jit.forwarding.pay(others, OTHER_HASH, SIZE)
        await jit.becomes(others, JitStatus.EARNED)


async def test_a_node_that_claims_only_a_cheap_part_counts_as_one_that_did_not_pay(
    jit: JitHarness,
) -> None:
    """The largest part pays the fee, and a node may refuse that one alone."""
    jit.forwarding.answers = False
    async with jit.serving():
        scid = await jit.bought()
        cheap, dear = jit.forwarding.pay(scid, HASH, 49_000_000, 51_000_000)
        await until(lambda: dear.fate is Fate.FORWARDED, within_s=20)
        dear.fate = Fate.REFUSED
        jit.forwarding.resolve(HASH, claims=True)
        order = await jit.becomes(scid, JitStatus.EARNED)
        assert order.earned_msat == 49_000_000 - cheap.out_msat < FEE // 1_000
        refused = await jit.buy(await jit.offer())
        assert refused["error"]["code"] == 1


async def test_a_payment_in_another_channel_of_its_node_is_not_refused(
    jit: JitHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """lnd may forward over any channel that it has with the node."""
    async with jit.serving():
        first = await jit.bought()
        jit.forwarding.pay(first, OTHER_HASH, SIZE)
        earlier = await jit.becomes(first, JitStatus.EARNED)
        listed = jit.forwarding.channels

        async def over_the_first() -> list[JitChannel]:
            found = await listed()
            pending = frozenset[str]().union(*(each.pending for each in found))
            return [
                replace(
                    each,
                    pending=pending
                    if each.point == earlier.channel_point
                    else frozenset(),
                )
                for each in found
            ]

        jit.forwarding.answers = False
        second = await jit.bought()
        (paid,) = jit.forwarding.pay(second, HASH, SIZE)
        await until(lambda: paid.fate is Fate.FORWARDED, within_s=20)
        monkeypatch.setattr(jit.forwarding, "channels", over_the_first)
        jit.orders.now += timedelta(seconds=11)
        looked = jit.forwarding.listed
        await until(lambda: jit.forwarding.listed >= looked + 2, within_s=20)
        assert (await jit.order(second)).status is JitStatus.RESUMING
        jit.forwarding.resolve(HASH, claims=True)
        await jit.becomes(second, JitStatus.EARNED)
        monkeypatch.undo()


async def test_an_opening_that_is_asked_for_again_costs_no_more_than_the_fee(
    jit: JitHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    opens = jit.purse.open

    async def is_away(wanted: WantedOpening) -> NoReturn:
        del wanted
        jit.purse.fee_sat_per_vb = 100
        monkeypatch.setattr(jit.purse, "open", opens)
        raise SellerAway(retry_after_s=1)

    monkeypatch.setattr(jit.purse, "open", is_away)
    async with jit.serving():
        scid = await jit.bought()
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.EARNED)
    (channel,) = jit.purse.channels.values()
    assert channel.wanted.fee_sat_per_vb == FEE // 240_000


# Restarts.


@pytest.mark.parametrize("step", ["alias", "answer"])
async def test_a_process_that_dies_before_it_answers_is_continued_by_the_next(
    jit: JitHarness, step: str
) -> None:
    jit.forwarding.pauses_at = step
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await jit.forwarding.paused.wait()
    stored = JitStatus.RESUMING if step == "answer" else JitStatus.OPENED
    assert (await jit.order(scid)).status is stored
    jit.forwarding.pauses_at = ""
    async with jit.serving():
        order = await jit.becomes(scid, JitStatus.EARNED)
    assert (paid.fate, order.earned_msat) == (Fate.CLAIMED, FEE)
    assert len(jit.purse.channels) == 1


async def test_what_was_claimed_while_lnd_was_away_is_booked_once_it_is_back(
    jit: JitHarness,
) -> None:
    """Until then, the node's next payment waits: it was five seconds each time."""
    jit.forwarding.answers = False
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await until(lambda: paid.fate is Fate.FORWARDED, within_s=20)
        jit.purse.away = True
        jit.forwarding.restart()
        await asyncio.sleep(1)
        jit.forwarding.resolve(HASH, claims=True)
        jit.purse.away, began = False, time.monotonic()
        await jit.becomes(scid, JitStatus.EARNED)
        assert time.monotonic() - began < 3


@pytest.mark.parametrize("step", ["alias", "answer"])
async def test_an_lnd_that_restarts_there_forwards_once(
    jit: JitHarness, step: str
) -> None:
    jit.forwarding.pauses_at = step
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await jit.forwarding.paused.wait()
        jit.forwarding.restart()
        await until(lambda: jit.forwarding.interceptors == 2)
        jit.forwarding.pauses_at = ""
        jit.forwarding.goes_on.set()
        order = await jit.becomes(scid, JitStatus.EARNED)
    assert (paid.fate, order.earned_msat) == (Fate.CLAIMED, FEE)
    assert len(jit.purse.channels) == 1


@pytest.mark.parametrize("is_late", [False, True])
async def test_after_a_restart_of_lnd_its_node_may_connect_again_first(
    jit: JitHarness, *, is_late: bool
) -> None:
    jit.forwarding.pauses_at = "answer"
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await jit.forwarding.paused.wait()
        jit.forwarding.active = False
        jit.forwarding.restart()
        await until(lambda: jit.forwarding.interceptors == 2)
        jit.forwarding.pauses_at = ""
        jit.forwarding.goes_on.set()
        listed = jit.forwarding.listed
        await until(lambda: jit.forwarding.listed >= listed + 3)
        jit.orders.now += timedelta(seconds=10)  # else it would count as refused
        await asyncio.sleep(2)
        await jit.becomes(scid, JitStatus.RESUMING)
        assert paid.fate is Fate.HELD
        if is_late:
            jit.orders.now += HOLD
            await jit.resolved(paid)
        else:
            jit.forwarding.active = True
            await jit.becomes(scid, JitStatus.EARNED)
    assert paid.fate is (Fate.UNKNOWN if is_late else Fate.CLAIMED)


async def test_a_node_that_leaves_before_its_payment_pays_the_next_time(
    jit: JitHarness,
) -> None:
    """lnd fails what it is told to forward over a channel that is not active."""
    jit.forwarding.pauses_at = "answer"
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await jit.forwarding.paused.wait()
        jit.forwarding.active = False
        jit.forwarding.goes_on.set()
        await jit.resolved(paid)
        assert paid.fate is Fate.UNKNOWN
        jit.orders.now += timedelta(seconds=10)
        await jit.becomes(scid, JitStatus.UNPAID)
        jit.forwarding.active = True
        jit.forwarding.pay(scid, OTHER_HASH, SIZE)
        order = await jit.becomes(scid, JitStatus.EARNED)
    assert order.earned_msat == FEE
    assert len(jit.purse.channels) == 1


async def test_many_who_wait_read_the_wallet_once(jit: JitHarness) -> None:
    purse = jit.channels.purse
    assert purse is not None
    recent = RecentWallet(jit.channels, purse)
    await asyncio.gather(*(recent.get(fresh_s=60) for _ in range(100)))
    assert jit.purse.wallets == 1


async def test_parts_by_several_channels_are_one_payment(jit: JitHarness) -> None:
    async with jit.serving():
        scid = await jit.bought()
        parts = jit.forwarding.pay(scid, HASH, 60_000_000)
        parts += jit.forwarding.pay(scid, HASH, 40_000_000, by=OTHERS)
        order = await jit.becomes(scid, JitStatus.EARNED)
        stored = await jit.orders.database.reader.jit_orders.parts(order.id)
    assert {each.htlc.circuit.htlc_id for each in parts} == {"0"}
    assert {each.circuit for each in stored} == {each.htlc.circuit for each in parts}
    assert [each.fate for each in parts] == [Fate.CLAIMED] * 2
    assert order.earned_msat == FEE


async def test_a_channel_that_is_closed_by_force_with_a_payment_is_followed(
    jit: JitHarness,
) -> None:
    """What its node claims on the chain is in the history, too."""
    jit.forwarding.answers = False
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await until(lambda: paid.fate is Fate.FORWARDED)
        order = await jit.order(scid)
        jit.forwarding.closed.add(order.channel_point)
        jit.orders.now += timedelta(seconds=10)
        await jit.becomes(scid, JitStatus.UNPAID)
        jit.orders.now += timedelta(days=2)
        jit.forwarding.resolve(HASH, claims=True)
        order = await jit.becomes(scid, JitStatus.EARNED)
    assert (paid.fate, order.earned_msat) == (Fate.CLAIMED, FEE)


async def test_a_hundred_orders_are_held_at_once_and_others_pass(
    jit: JitHarness,
) -> None:
    peers = [f"02{number:064x}" for number in range(100)]
    jit.purse.fill([2_000_000] * len(peers))
    jit.rules = replace(jit.rules, most_per_hour=Sats(10**9), most_unpaid=Sats(10**9))
    async with jit.serving():
        scids = [await jit.bought(each) for each in peers]
        for number, scid in enumerate(scids):
            jit.forwarding.pay(scid, f"{number:064x}", SIZE)
        for scid in scids:
            await jit.becomes(scid, JitStatus.HOLDING)
        (stranger,) = jit.forwarding.pay(900_000 << 40 | 1, HASH, 5_000)
        await jit.resolved(stranger)
        assert stranger.fate is Fate.PASSED
        jit.purse.online |= set(peers)
        for scid in scids:
            order = await jit.becomes(scid, JitStatus.EARNED)
            assert order.earned_msat == FEE
    coins = [each for c in jit.purse.channels.values() for each in c.wanted.coins]
    assert len(set(coins)) == len(coins) == len(peers)
    assert await balance(jit, ledger.EARNED) == len(peers) * FEE // 1_000


async def test_an_interceptor_that_hangs_is_waited_for(jit: JitHarness) -> None:
    """Connected, it is the only one, and answers nothing."""
    hanging = jit.forwarding.intercept()
    await hanging.__aenter__()
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        jit.orders.now += timedelta(seconds=30)
        assert paid.fate is Fate.HELD
        await hanging.__aexit__(None, None, None)
        await jit.becomes(scid, JitStatus.EARNED)
    assert jit.forwarding.received_msat(HASH) == SIZE - FEE


async def test_a_process_that_dies_while_the_channel_opens_finds_it(
    jit: JitHarness,
) -> None:
    jit.purse.answers_lost = 1
    async with jit.serving():
        scid = await jit.bought()
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.EARNED)
    assert len(jit.purse.channels) == 1


async def test_an_opening_without_an_answer_keeps_its_coins_and_returns_the_payment(
    jit: JitHarness,
) -> None:
    jit.purse.freezes = True
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await until(lambda: jit.purse.channels)
        jit.orders.now += timedelta(seconds=90)
        await jit.resolved(paid)
        assert paid.fate is Fate.FAILED
        order = await jit.order(scid)
        assert (order.status, len(order.coins)) == (JitStatus.OPENING, 1)
        jit.purse.thaw(refuses=False)  # it signs after all
        jit.orders.now += timedelta(seconds=91)
        await jit.becomes(scid, JitStatus.UNPAID)
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.EARNED)


async def test_coins_of_an_opening_that_never_comes_are_free_again(
    jit: JitHarness,
) -> None:
    jit.purse.freezes = True
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await until(lambda: jit.purse.channels)
        jit.orders.now += timedelta(seconds=90)
        await jit.resolved(paid)
        jit.purse.thaw(refuses=True)
        jit.orders.now += timedelta(minutes=36)
        order = await jit.becomes(scid, JitStatus.SOLD)
    assert order.coins == ()


async def test_a_forwarded_payment_is_never_failed_whatever_is_true_by_then(
    jit: JitHarness,
) -> None:
    """lnd restarts while the wallet has it, and asks again as if it were new."""
    jit.forwarding.answers = False
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await until(lambda: paid.fate is Fate.FORWARDED)
        jit.orders.now += timedelta(days=2)
        jit.purse.height += 100
        jit.purse.online.clear()
        answered = len(jit.forwarding.answered)
        jit.forwarding.restart()
        await until(lambda: len(jit.forwarding.answered) > answered)
        first, *again = jit.forwarding.answered
        assert again == [first]
        assert first.out_msat == SIZE - FEE
        jit.forwarding.resolve(HASH, claims=True)
        await jit.becomes(scid, JitStatus.EARNED)
    assert jit.forwarding.received_msat(HASH) == SIZE - FEE


@pytest.mark.parametrize(
    "status", [JitStatus.SOLD, JitStatus.HOLDING, JitStatus.OPENED]
)
async def test_a_payment_that_a_restored_database_does_not_know_is_never_failed(
    jit: JitHarness, status: JitStatus
) -> None:
    jit.forwarding.answers = False
    jit.forwarding.pauses_at = "alias"
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await jit.forwarding.paused.wait()
        before = await jit.order(scid)
        jit.forwarding.goes_on.set()
        await until(lambda: paid.fate is Fate.FORWARDED, within_s=20)
    if status is not JitStatus.OPENED:
        before = replace(before, status=status, coins=(), channel_point="")
    async with jit.orders.database.transaction() as tx:
        await tx.jit_orders.save(await jit.order(scid), before)
        await tx.jit_orders.drop_parts(before.id)
    jit.purse.online.clear()
    jit.forwarding.restart()
    jit.orders.now += HOLD
    async with jit.serving():
        await asyncio.sleep(1)
        jit.orders.now += HOLD  # since it is known of a sold one that it is held
        await asyncio.sleep(2)
        assert paid.fate is Fate.FORWARDED
        jit.forwarding.resolve(HASH, claims=True)
        if status is JitStatus.OPENED:
            assert (await jit.becomes(scid, JitStatus.EARNED)).earned_msat == FEE
    assert jit.forwarding.received_msat(HASH) == SIZE - FEE


async def test_an_answer_that_breaks_the_connection_is_given_again(
    jit: JitHarness,
) -> None:
    async with jit.serving():
        scid = await jit.bought()
        jit.forwarding.drops_answers = 1
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        order = await jit.becomes(scid, JitStatus.EARNED)
    assert (paid.fate, order.earned_msat) == (Fate.CLAIMED, FEE)


async def test_a_claim_that_is_late_is_booked_all_the_same(jit: JitHarness) -> None:
    jit.forwarding.claims = False
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.RESUMING)
        await jit.resolved(paid)
        jit.orders.now += timedelta(seconds=10)
        await jit.becomes(scid, JitStatus.UNPAID)
        paid.fate = Fate.FORWARDED  # on the chain, say
        jit.forwarding.resolve(HASH, claims=True)
        order = await jit.becomes(scid, JitStatus.EARNED)
    assert order.earned_msat == FEE


async def test_an_lnd_that_is_away_is_waited_for(jit: JitHarness) -> None:
    async with jit.serving():
        scid = await jit.bought()
        jit.purse.away = True
        jit.forwarding.break_off()
        await until(lambda: not jit.is_intercepting)
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        assert paid.fate is Fate.HELD
        jit.purse.away = False
        await jit.becomes(scid, JitStatus.EARNED)


@pytest.mark.parametrize("name", ["treasury", "seller"])
async def test_the_treasurys_and_the_sellers_lnd_are_never_intercepted(
    jit: JitHarness, name: str
) -> None:
    rules = jit.orders.rules
    jit.orders.rules = (
        replace(rules, treasury=PURSE)
        if name == "treasury"
        else replace(rules, seller=PURSE)
    )
    with pytest.raises(TimeoutError):
        async with jit.serving(within_s=2):
            pass
    assert jit.forwarding.interceptors == 0


@pytest.mark.parametrize(
    ("forgery", "found"),
    [
        (
            "UPDATE jit_part SET earned_msat = 1",
            "it is earned, and its parts earned 1 msat",
        ),
        (
            "UPDATE jit_order SET earned_msat = 5000",
            "it is earned, and its parts earned 3,400,000 msat",
        ),
        ("UPDATE jit_order SET funding_fee = 7", "1,540 sat are booked, not 7"),
        ("UPDATE jit_order SET coins = ''", "it is earned, but its coins are 0"),
        (
            "UPDATE jit_order SET channel_point = ''",
            "it is earned, but its channel is none",
        ),
        (
            "DELETE FROM jit_part",
            "it is earned, but no part of a payment was forwarded",
        ),
    ],
)
async def test_what_is_forged_is_found(
    harness: OrdersHarness, forgery: str, found: str
) -> None:
    jit = JitHarness(harness)
    async with jit.serving():
        scid = await jit.bought()
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.EARNED)

        async def is_booked() -> bool:
            return (await jit.order(scid)).funding_fee is not None

        await until(is_booked)
    database = harness.database
    with contextlib.suppress(_Undo):
        async with database.transaction() as tx:
            await tx.run(Statement(forgery))
            broken = [each async for each in jit_rules.broken_by(tx)]
            assert f"I14: just-in-time order {jit_id(scid)}: {found}" in map(
                str, broken
            )
            raise _Undo


class _Undo(Exception):
    """Undo what was forged."""


# What operators see.


def counted(event: str) -> float:
    labels = {"event": event}
    return REGISTRY.get_sample_value("leyden_jit_events_total", labels) or 0


async def test_what_happens_is_counted_and_added_up(jit: JitHarness) -> None:
    earned, refused = counted("claimed"), counted("refused")
    jit.purse.online.add(OTHER)
    async with jit.serving():
        scid, other = await jit.bought(), await jit.bought(OTHER)
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.EARNED)
        jit.forwarding.claims = False
        jit.forwarding.pay(other, OTHER_HASH, SIZE)
        await jit.becomes(other, JitStatus.RESUMING)
        jit.orders.now += timedelta(minutes=1)
        await jit.becomes(other, JitStatus.UNPAID)
        coins = sum(each.sats for each in jit.purse.coins.values())
        await until(
            lambda: REGISTRY.get_sample_value("leyden_jit_free_sats") == coins,
            within_s=20,
        )
    assert (counted("claimed"), counted("refused")) == (earned + 1, refused + 1)
    purse = jit.channels.purse
    assert purse is not None
    found = await state.read(jit.channels, purse, jit.rules)
    assert found.missing == ()
    assert (found.free, found.held, found.forwarded) == (coins, 0, 0)
    assert (found.opened, found.earned, found.unpaid) == (2, 1, 1)
    assert (found.earned_sat, found.funding_sat) == (FEE // 1_000, 2 * COST)
    (order,) = await jit.orders.database.reader.jit_orders.unpaid()
    assert (order.scid, order.capacity) == (other, found.unpaid_sat)
