"""What an organization is given: under a key once, and what it owes us comes first."""

import asyncio
from datetime import timedelta

import pytest

from leyden.domain import ledger
from leyden.domain.ledger import Entry, Reason
from leyden.domain.orders import Status
from leyden.domain.units import EVERY_SAT, Sats
from leyden.errors import Conflict, Malformed, NotFound
from leyden.services.channels import corrections, credit
from leyden.services.channels.corrections import Correction
from leyden.services.channels.credit import Balance
from tests.lock_waits import until_stuck
from tests.services.till import HARBOUR, LIGHTHOUSE, PRICE, Till

ALICE = "operator:alice"
REASON = "the channel closed early"


async def correct(
    till: Till,
    correction: Correction = Correction.CREDIT,
    sats: int = 500,
    *,
    who: str = HARBOUR,
    reason: str = REASON,
) -> Balance:
    return await corrections.correct(
        till.database,
        who,
        correction,
        sats=sats,
        reason=reason,
        actor=ALICE,
        key="once",
        now=till.now,
    )


async def open_account(till: Till, most_owed: int | None, actor: str = ALICE) -> None:
    await credit.open_account(
        till.database, HARBOUR, most_owed=most_owed, actor=actor, now=till.now
    )


async def in_debt(till: Till) -> None:
    """Have the chain take back what a ticket was made for."""
    order = await till.create()
    outpoint = till.payments.send(order.onchain_address, PRICE)
    till.payments.mine()
    await till.settle_down()
    assert await till.status(order) is Status.CREATED
    till.payments.reorganise(1, drop=[outpoint])
    await till.start_sweeping()
    assert await till.place(ledger.receivable(HARBOUR)) == -PRICE


@pytest.mark.parametrize("correction", [Correction.CREDIT, Correction.DEBIT])
async def test_a_correction_is_made_once_under_its_key(
    till: Till, correction: Correction
) -> None:
    await till.give_credit(1_000)
    first = await correct(till, correction)
    assert await correct(till, correction) == first
    assert await till.credit() == (1_500 if correction is Correction.CREDIT else 500)


async def test_another_correction_under_the_same_key_is_refused(till: Till) -> None:
    await till.give_credit(1_000)
    await correct(till)
    for other in (
        correct(till, sats=501),
        correct(till, Correction.DEBIT),
        correct(till, Correction.REFUND),
        correct(till, who=LIGHTHOUSE),
        correct(till, reason="something else"),
    ):
        with pytest.raises(Conflict, match="used for another correction"):
            await other
    assert await till.credit() == 1_500
    assert await till.credit(LIGHTHOUSE) == 0


async def test_a_paid_debt_may_be_told_of_twice(till: Till) -> None:
    """The second time it is owed no more, and that is no reason to refuse."""
    await open_account(till, most_owed=10**6)
    await till.create()
    await till.settle_down()
    for _ in range(2):
        paid = await correct(till, Correction.SETTLED, PRICE)
        assert paid == Balance(credit=Sats(0), owed=Sats(0))


async def test_a_debt_that_falls_in_the_same_moment_is_looked_at_again(
    till: Till,
) -> None:
    """It is no lack of credit, which this correction does not take."""
    await open_account(till, most_owed=10**6)
    await till.create()
    await till.settle_down()
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
        async with till.database.transaction() as tx:
            await tx.ledger.post([entry], at=till.now)
            lowered.set()
            await go.wait()

    lowering = asyncio.create_task(lower())
    await lowered.wait()
    settling = asyncio.create_task(correct(till, Correction.SETTLED, PRICE))
    await until_stuck(till.database, settling)
    go.set()
    await lowering
    with pytest.raises(Conflict, match="owes less than this"):
        await settling
    await correct(till, Correction.SETTLED, PRICE - 1)


@pytest.mark.parametrize("correction", [Correction.DEBIT, Correction.REFUND])
async def test_more_credit_than_there_is_cannot_be_taken(
    till: Till, correction: Correction
) -> None:
    await till.give_credit(499)
    with pytest.raises(Conflict, match="less credit than this"):
        await correct(till, correction)
    assert await till.credit() == 499


async def test_credit_from_the_operator_repays_what_the_chain_took_back(
    till: Till,
) -> None:
    await in_debt(till)
    for _ in range(2):
        given = await correct(till, sats=PRICE + 500)
        assert given == Balance(credit=Sats(500), owed=Sats(0))
    with pytest.raises(Conflict):
        await correct(till, sats=PRICE)


async def test_a_coupon_repays_what_the_chain_took_back(till: Till) -> None:
    await in_debt(till)
    await till.give_credit(PRICE - 1)
    assert await till.credit() == 0
    assert await till.place(ledger.receivable(HARBOUR)) == -1
    await till.give_credit(700)
    assert await till.credit() == 699
    assert await till.place(ledger.receivable(HARBOUR)) == 0


async def test_what_is_owed_is_taken_off_the_credit(till: Till) -> None:
    """A bill and what the chain took back are one debt."""
    await in_debt(till)
    await open_account(till, most_owed=10**6)
    await till.create()
    await till.settle_down()
    owing = await credit.balance(till.database, HARBOUR)
    assert owing == Balance(credit=Sats(0), owed=Sats(2 * PRICE))
    assert owing.balance == -2 * PRICE


async def test_an_account_has_its_limit_until_it_is_closed(till: Till) -> None:
    accounts = till.database.reader.corporate_accounts
    for most in (0, int(EVERY_SAT), None):
        till.now += timedelta(seconds=1)
        await open_account(till, most)
        assert await accounts.limit(HARBOUR) == most
        (line, *_) = await till.database.reader.audit.latest(most=1)
        assert (line.at, line.actor, line.action) == (
            till.now,
            ALICE,
            "corporate account set",
        )
        assert (line.subject, line.organization_id) == (HARBOUR, HARBOUR)
        assert line.detail["most_owed"] == most


async def test_a_limit_is_a_sum_and_an_operators(till: Till) -> None:
    for most in (-1, int(EVERY_SAT) + 1):
        with pytest.raises(Malformed, match="limit: must be a number"):
            await open_account(till, most)
    with pytest.raises(NotFound):
        await open_account(till, 1, actor="user:who was removed")
    assert await till.database.reader.corporate_accounts.limit(HARBOUR) is None


async def test_the_history_is_turned_page_by_page(till: Till) -> None:
    for sats in (1, 2, 3):
        await till.give_credit(sats)
    await till.give_credit(4, LIGHTHOUSE)
    newest = await credit.history(till.database, HARBOUR, most=2)
    assert [each.sats for each in newest] == [3, 2]
    before = newest[-1].number
    rest = await credit.history(till.database, HARBOUR, before=before, most=2)
    assert [each.sats for each in rest] == [1]
