"""Another lnd in the treasury's place is noticed by its key."""

import pytest

from leyden.payments.fake import FakePayments
from leyden.services.channels import treasury_identity
from leyden.services.operators.verify import verify
from leyden.values import replace
from tests.services.till import Till

OURS, THEIRS = f"02{'21' * 32}", f"03{'66' * 32}"


async def test_the_first_one_is_remembered_and_known_again(till: Till) -> None:
    await till.start_sweeping()
    known = await till.database.reader.treasury.find()
    assert known is not None
    assert (known.pubkey, known.stranger) == (OURS, "")
    await till.start_sweeping()
    assert await treasury_identity.alarm(till.database) == ""


async def test_another_one_is_told_until_the_first_is_back(
    till: Till, logged: pytest.LogCaptureFixture
) -> None:
    await till.start_sweeping()
    ours, till.payments = till.payments, FakePayments(pubkey=THEIRS)
    await till.start_sweeping()
    assert "the treasury is another lnd" in logged.text
    alarm = await treasury_identity.alarm(till.database)
    assert OURS in alarm
    assert THEIRS in alarm
    (broken,) = await verify(till.database, till.payments)
    assert str(broken) == f"I5: the treasury is {THEIRS}, and {OURS} took payments"
    till.payments = ours
    await till.start_sweeping()
    assert await treasury_identity.alarm(till.database) == ""


async def test_one_that_does_not_answer_is_not_another(till: Till) -> None:
    await till.start_sweeping()
    till.payments.away = True
    await treasury_identity.check_treasury(till.shop)
    assert await treasury_identity.alarm(till.database) == ""


async def test_the_one_that_the_operator_names_is_the_right_one(till: Till) -> None:
    await till.start_sweeping()
    till.payments = FakePayments(pubkey=THEIRS)
    await till.start_sweeping()
    shop = till.shop
    await treasury_identity.check_treasury(
        replace(shop, rules=replace(shop.rules, treasury=THEIRS))
    )
    assert await treasury_identity.alarm(till.database) == ""
    known = await till.database.reader.treasury.find()
    assert known is not None
    assert (known.pubkey, known.stranger) == (THEIRS, "")


async def test_one_that_is_not_the_one_named_is_told_at_first_sight(till: Till) -> None:
    shop = till.shop
    await treasury_identity.check_treasury(
        replace(shop, rules=replace(shop.rules, treasury=THEIRS))
    )
    assert OURS in await treasury_identity.alarm(till.database)
    await treasury_identity.check_treasury(
        replace(shop, rules=replace(shop.rules, treasury=OURS))
    )
    assert await treasury_identity.alarm(till.database) == ""
