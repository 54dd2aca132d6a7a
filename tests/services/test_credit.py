"""What an organization is given: under a key once, and what it owes us comes first."""

import pytest

from leyden.domain import ledger
from leyden.domain.orders import Status
from leyden.domain.units import Sats
from leyden.errors import Conflict
from leyden.services import corrections, credit
from leyden.services.corrections import Correction
from leyden.services.credit import Balance
from tests.services.till import HARBOUR, LIGHTHOUSE, PRICE, Till

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
        actor="operator:alice",
        key="once",
        now=till.now,
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
    await credit.open_account(
        till.database,
        HARBOUR,
        most_owed=10**6,
        actor="operator:alice",
        now=till.now,
    )
    await till.create()
    await till.settle_down()
    for _ in range(2):
        paid = await correct(till, Correction.SETTLED, PRICE)
        assert paid == Balance(credit=Sats(0), owed=Sats(0))


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
