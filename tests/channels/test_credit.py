"""What an organization is given: under a key once, and what it owes us comes first."""

import asyncio
from datetime import timedelta

import pytest

from leyden.base.rules.units import MAX_SATS, Sats
from leyden.channels.money import corrections, credit
from leyden.channels.money.corrections import Correction
from leyden.channels.money.credit import Balance
from leyden.channels.rules import ledger
from leyden.channels.rules.ledger import Entry, Reason
from leyden.channels.rules.orders import OrderStatus
from leyden.errors import Conflict, Malformed, NotFound
from tests.channels.orders_harness import HARBOUR, LIGHTHOUSE, PRICE, OrdersHarness
from tests.lock_waits import until_stuck

ALICE = "operator:alice"
REASON = "the channel closed early"


async def correct(
    harness: OrdersHarness,
    correction: Correction = Correction.CREDIT,
    sats: int = 500,
    *,
    who: str = HARBOUR,
    reason: str = REASON,
) -> Balance:
    return await corrections.correct(
        harness.database,
        who,
        correction,
        sats=sats,
        reason=reason,
        actor=ALICE,
        key="once",
        now=harness.now,
    )


async def open_account(
    harness: OrdersHarness, most_owed: int | None, actor: str = ALICE
) -> None:
    await credit.open_account(
        harness.database, HARBOUR, most_owed=most_owed, actor=actor, now=harness.now
    )


async def in_debt(harness: OrdersHarness) -> None:
    """Have the chain take back what a ticket was made for."""
    order = await harness.create()
    outpoint = harness.payments.send(order.onchain_address, PRICE)
    harness.payments.mine()
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CREATED
    harness.payments.reorganise(1, drop=[outpoint])
    await harness.start_sweeping()
    assert await harness.balance_of(ledger.receivable(HARBOUR)) == -PRICE


@pytest.mark.parametrize("correction", [Correction.CREDIT, Correction.DEBIT])
async def test_a_correction_is_made_once_under_its_key(
    harness: OrdersHarness, correction: Correction
) -> None:
    await harness.give_credit(1_000)
    first = await correct(harness, correction)
    assert await correct(harness, correction) == first
    assert await harness.credit() == (1_500 if correction is Correction.CREDIT else 500)


async def test_another_correction_under_the_same_key_is_refused(
    harness: OrdersHarness,
) -> None:
    await harness.give_credit(1_000)
    await correct(harness)
    for other in (
        correct(harness, sats=501),
        correct(harness, Correction.DEBIT),
        correct(harness, Correction.REFUND),
        correct(harness, who=LIGHTHOUSE),
        correct(harness, reason="something else"),
    ):
        with pytest.raises(Conflict, match="used for a different correction"):
            await other
    assert await harness.credit() == 1_500
    assert await harness.credit(LIGHTHOUSE) == 0


async def test_a_paid_debt_may_be_told_of_twice(harness: OrdersHarness) -> None:
    """The second time it is owed no more, and that is no reason to refuse."""
    await open_account(harness, most_owed=10**6)
    await harness.create()
    await harness.settle_down()
    for _ in range(2):
        paid = await correct(harness, Correction.SETTLED, PRICE)
        assert paid == Balance(credit=Sats(0), owed=Sats(0))


async def test_a_debt_that_falls_in_the_same_moment_is_looked_at_again(
    harness: OrdersHarness,
) -> None:
    """It is no lack of credit, which this correction does not take."""
    await open_account(harness, most_owed=10**6)
    await harness.create()
    await harness.settle_down()
    lowered, go = asyncio.Event(), asyncio.Event()

    async def lower() -> None:
        # Without an organization: what locks none, as payments do not.
        entry = Entry(
            key="lowered",
            what=Reason.CORRECTION,
            source=ledger.CORRECTIONS,
            target=ledger.owed(HARBOUR),
            sats=Sats(1),
        )
        async with harness.database.transaction() as tx:
            await tx.ledger.post([entry], at=harness.now)
            lowered.set()
            await go.wait()

    lowering = asyncio.create_task(lower())
    await lowered.wait()
    settling = asyncio.create_task(correct(harness, Correction.SETTLED, PRICE))
    await until_stuck(harness.database, settling)
    go.set()
    await lowering
    with pytest.raises(Conflict, match="owes less than this"):
        await settling
    await correct(harness, Correction.SETTLED, PRICE - 1)


@pytest.mark.parametrize("correction", [Correction.DEBIT, Correction.REFUND])
async def test_more_credit_than_there_is_cannot_be_taken(
    harness: OrdersHarness, correction: Correction
) -> None:
    await harness.give_credit(499)
    with pytest.raises(Conflict, match="less credit than this"):
        await correct(harness, correction)
    assert await harness.credit() == 499


async def test_credit_from_the_operator_repays_what_the_chain_took_back(
    harness: OrdersHarness,
) -> None:
    await in_debt(harness)
    for _ in range(2):
        given = await correct(harness, sats=PRICE + 500)
        assert given == Balance(credit=Sats(500), owed=Sats(0))
    with pytest.raises(Conflict):
        await correct(harness, sats=PRICE)


async def test_a_coupon_repays_what_the_chain_took_back(harness: OrdersHarness) -> None:
    await in_debt(harness)
    await harness.give_credit(PRICE - 1)
    assert await harness.credit() == 0
    assert await harness.balance_of(ledger.receivable(HARBOUR)) == -1
    await harness.give_credit(700)
    assert await harness.credit() == 699
    assert await harness.balance_of(ledger.receivable(HARBOUR)) == 0


async def test_a_coupon_that_repaid_a_debt_is_answered_again_as_a_whole(
    harness: OrdersHarness,
) -> None:
    await in_debt(harness)
    (coupon,) = await credit.issue_coupons(
        harness.database,
        sats=PRICE + 500,
        count=1,
        organization_id=HARBOUR,
        expires=None,
        note="",
        actor=ALICE,
        now=harness.now,
    )
    for _ in range(2):
        assert await credit.redeem(
            harness.database,
            HARBOUR,
            coupon.id,
            actor="test",
            now=harness.now,
            request_id="one request",
        ) == (500, PRICE + 500)


async def test_what_is_owed_is_taken_off_the_credit(harness: OrdersHarness) -> None:
    """A bill and what the chain took back are one debt."""
    await in_debt(harness)
    await open_account(harness, most_owed=10**6)
    await harness.create()
    await harness.settle_down()
    owing = await credit.balance(harness.database, HARBOUR)
    assert owing == Balance(credit=Sats(0), owed=Sats(2 * PRICE))
    assert owing.balance == -2 * PRICE


async def test_an_account_has_its_limit_until_it_is_closed(
    harness: OrdersHarness,
) -> None:
    accounts, before = harness.database.reader.corporate_accounts, None
    for limit in (0, int(MAX_SATS), None):
        harness.now += timedelta(seconds=1)
        await open_account(harness, limit)
        assert await accounts.limit(HARBOUR) == limit
        (line, *_) = await harness.database.reader.audit.latest(limit=1)
        assert (line.at, line.actor, line.action) == (
            harness.now,
            ALICE,
            "corporate account set",
        )
        assert (line.subject, line.organization_id) == (HARBOUR, HARBOUR)
        assert line.detail["most_owed"] == limit
        assert tuple(line.changes["most_owed"]) == (before, limit)
        before = limit


async def test_a_limit_is_a_sum_and_an_operators(harness: OrdersHarness) -> None:
    for limit in (-1, int(MAX_SATS) + 1):
        with pytest.raises(Malformed, match="limit: must be a number"):
            await open_account(harness, limit)
    with pytest.raises(NotFound):
        await open_account(harness, 1, actor="user:who was removed")
    assert await harness.database.reader.corporate_accounts.limit(HARBOUR) is None


async def test_the_history_is_turned_page_by_page(harness: OrdersHarness) -> None:
    for sats in (1, 2, 3):
        await harness.give_credit(sats)
    await harness.give_credit(4, LIGHTHOUSE)
    newest = await credit.history(harness.database, HARBOUR, limit=2)
    assert [each.sats for each in newest] == [3, 2]
    before = newest[-1].number
    rest = await credit.history(harness.database, HARBOUR, before=before, limit=2)
    assert [each.sats for each in rest] == [1]
