"""Another lnd in the treasury's place is noticed by its key."""

import pytest

from leyden.channels import treasury_identity
from leyden.channels.books.verify import verify
from leyden.values import replace
from tests.channels.orders_harness import OrdersHarness
from tests.fakes.payments import FakePayments

OURS, THEIRS = f"02{'21' * 32}", f"03{'66' * 32}"


async def test_the_first_one_is_remembered_and_known_again(
    harness: OrdersHarness,
) -> None:
    await harness.start_sweeping()
    known = await harness.database.reader.treasury.find()
    assert known is not None
    assert (known.pubkey, known.stranger) == (OURS, "")
    await harness.start_sweeping()
    assert await treasury_identity.alarm(harness.database) == ""


async def test_another_one_is_told_until_the_first_is_back(
    harness: OrdersHarness, logged: pytest.LogCaptureFixture
) -> None:
    await harness.start_sweeping()
    ours, harness.payments = harness.payments, FakePayments(pubkey=THEIRS)
    await harness.start_sweeping()
    assert "the treasury is a different lnd" in logged.text
    alarm = await treasury_identity.alarm(harness.database)
    assert OURS in alarm
    assert THEIRS in alarm
    (broken,) = await verify(harness.database, harness.payments)
    what = f"the treasury is {THEIRS}, but {OURS} received the payments"
    assert str(broken) == f"I5: {what}"
    harness.payments = ours
    await harness.start_sweeping()
    assert await treasury_identity.alarm(harness.database) == ""


async def test_one_that_does_not_answer_is_not_another(harness: OrdersHarness) -> None:
    await harness.start_sweeping()
    harness.payments.away = True
    await treasury_identity.check_treasury(harness.channels)
    assert await treasury_identity.alarm(harness.database) == ""


async def test_the_one_that_the_operator_names_is_the_right_one(
    harness: OrdersHarness,
) -> None:
    await harness.start_sweeping()
    harness.payments = FakePayments(pubkey=THEIRS)
    await harness.start_sweeping()
    channels = harness.channels
    await treasury_identity.check_treasury(
        replace(channels, rules=replace(channels.rules, treasury=THEIRS))
    )
    assert await treasury_identity.alarm(harness.database) == ""
    known = await harness.database.reader.treasury.find()
    assert known is not None
    assert (known.pubkey, known.stranger) == (THEIRS, "")


async def test_one_that_is_not_the_one_named_is_told_at_first_sight(
    harness: OrdersHarness,
) -> None:
    channels = harness.channels
    await treasury_identity.check_treasury(
        replace(channels, rules=replace(channels.rules, treasury=THEIRS))
    )
    assert OURS in await treasury_identity.alarm(harness.database)
    await treasury_identity.check_treasury(
        replace(channels, rules=replace(channels.rules, treasury=OURS))
    )
    assert await treasury_identity.alarm(harness.database) == ""
