"""The purse's channels are compared with lnd's history, and that with the books."""

from datetime import timedelta

import pytest

from leyden.base.rules.times import utc_now
from leyden.base.tasks.work import Work
from leyden.channels.books import purse_check, purse_rules
from leyden.channels.books.purse_check import PURSE_CHECK
from leyden.channels.direct.rules.jit import HtlcAnswer, JitStatus
from leyden.channels.direct.rules.jit import scid_text as jit_id
from leyden.channels.services import EVERYTHING
from leyden.values import replace
from tests.base.due_tasks import claim_due
from tests.channels.jit_harness import FEE, HASH, SIZE, JitHarness
from tests.channels.orders_harness import OrdersHarness
from tests.fakes.forwarding import Fate
from tests.waiting import until

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
PAID = (SIZE - FEE) // 1_000


@pytest.fixture
async def jit(harness: OrdersHarness) -> JitHarness:
    made = JitHarness(harness)
    async with harness.database.transaction() as tx:
        await tx.tasks.put(PURSE_CHECK, EVERYTHING, due=harness.now)
    return made


async def broken(jit: JitHarness) -> list[str]:
    purse = jit.channels.purse
    assert purse is not None
    rows = jit.orders.database.reader
    return [
        each.where async for each in purse_rules.broken_by(rows, purse, now=utc_now())
    ]


async def earned(jit: JitHarness) -> str:
    """Let an order earn its fee; return its id."""
    async with jit.serving():
        scid = await jit.bought()
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.EARNED)
    return jit_id(scid)


async def compare(jit: JitHarness) -> bool:
    """Run the task if it is due, and return whether it was."""
    database = jit.orders.database
    claims = await claim_due(database, PURSE_CHECK, now=jit.orders.now, claim_for=HOUR)
    for claim in claims:
        await purse_check.compare(jit.channels, Work(database, claim))
    return bool(claims)


async def alarms(jit: JitHarness) -> list[tuple[str, str, str]]:
    return await jit.orders.database.reader.findings.list_(now=jit.orders.now)


async def test_a_channel_that_was_paid_has_what_the_history_says(
    jit: JitHarness,
) -> None:
    await earned(jit)
    assert await broken(jit) == []


async def test_a_payment_that_was_failed_although_it_was_forwarded_is_found(
    jit: JitHarness,
) -> None:
    """Another program answers lnd about it: nothing is in its history."""
    jit.forwarding.answers = False
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await until(lambda: paid.fate is Fate.FORWARDED)
    assert await broken(jit) == [], "it is under way"
    jit.forwarding.restart()
    async with jit.forwarding.intercept() as connection:
        await connection.answer(HtlcAnswer(paid.htlc.circuit, fails=True))
    (channel,) = jit.purse.channels
    (what,) = await broken(jit)
    assert what == (
        f"just-in-time order {jit_id(scid)}: its node has {PAID:,} sat in channel "
        f"{channel}, but by lnd's history 0"
    )


async def test_a_history_that_claims_more_than_arrived_is_found(
    jit: JitHarness,
) -> None:
    await earned(jit)
    (forward,) = jit.forwarding.history
    more = forward.in_msat + 5_000_000
    jit.forwarding.history = [replace(forward, in_msat=more)]
    (what,) = await broken(jit)
    assert what.endswith(
        "by lnd's history 105,000 sat arrived, but the channel received 100,000"
    )


async def test_a_fee_that_is_not_the_historys_is_found(jit: JitHarness) -> None:
    order_id = await earned(jit)
    (forward,) = jit.forwarding.history
    jit.forwarding.history = [replace(forward, fee_msat=7)]
    (what,) = await broken(jit)
    assert what == (
        f"just-in-time order {order_id}: by lnd's history it earned 7 msat, but "
        f"{FEE:,} are booked"
    )


async def test_a_claim_that_lnd_did_not_write_down_is_found(jit: JitHarness) -> None:
    jit.forwarding.silent = True
    async with jit.serving():
        scid = await jit.bought()
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.RESUMING)
        jit.orders.now += timedelta(seconds=10)
        await jit.becomes(scid, JitStatus.UNPAID)
    (what,) = await broken(jit)
    assert what.startswith(f"just-in-time order {jit_id(scid)}: its node has {PAID:,}")


async def test_a_claim_that_nobody_booked_in_time_is_found(jit: JitHarness) -> None:
    jit.forwarding.claims = False
    async with jit.serving():
        scid = await jit.bought()
        (paid,) = jit.forwarding.pay(scid, HASH, SIZE)
        await jit.resolved(paid)
        jit.orders.now += timedelta(seconds=10)
        await jit.becomes(scid, JitStatus.UNPAID)
    paid.fate = Fate.FORWARDED
    jit.forwarding.resolve(HASH, claims=True)
    purse, rows = jit.channels.purse, jit.orders.database.reader
    assert purse is not None
    for later, number in ((DAY, 0), (4 * DAY, 1)):
        now = jit.orders.now + later
        found = [each async for each in purse_rules.broken_by(rows, purse, now=now)]
        assert len(found) == number, found


async def test_a_channel_that_changes_meanwhile_is_not_compared(
    jit: JitHarness,
) -> None:
    async with jit.serving():
        scid = await jit.bought()
        jit.forwarding.pay(scid, HASH, SIZE)
        await jit.becomes(scid, JitStatus.EARNED)
        (paid,) = jit.forwarding.pay(scid, "cd" * 32, 9_000)
        paid.fate, paid.out_msat = Fate.CLAIMED, 9_000

    def claim() -> None:
        paid.fate = Fate.FORWARDED
        jit.forwarding.resolve("cd" * 32, claims=True)

    assert await broken(jit), "it is not in the history"
    paid.fate, paid.out_msat = Fate.REFUSED, 9_000
    jit.forwarding.meanwhile = claim
    assert await broken(jit) == []
    jit.forwarding.meanwhile = lambda: None
    assert await broken(jit) == []


async def test_orders_of_another_purse_are_not_compared(jit: JitHarness) -> None:
    await earned(jit)
    jit.forwarding.history = []
    assert await broken(jit)
    jit.purse.pubkey = f"03{'f9308a01' * 8}"
    assert await broken(jit) == []


async def test_the_purse_is_compared_once_a_day_and_a_difference_is_an_alarm(
    jit: JitHarness,
) -> None:
    order_id = await earned(jit)
    history, jit.forwarding.history = jit.forwarding.history, []
    assert await compare(jit)
    assert not await compare(jit)
    ((kind, subject, what),) = await alarms(jit)
    assert (kind, subject) == ("purse.differs", order_id)
    assert what.endswith(
        ": take jit out of market until you know why, see "
        "docs/operators/just-in-time.md"
    )
    jit.forwarding.history = history
    jit.orders.now += DAY
    assert await compare(jit)
    assert await alarms(jit) == []


async def test_a_purse_that_is_away_is_compared_an_hour_later(jit: JitHarness) -> None:
    await earned(jit)
    jit.purse.away = True
    assert await compare(jit)
    jit.purse.away = False
    assert not await compare(jit)
    jit.orders.now += HOUR
    assert await compare(jit)
