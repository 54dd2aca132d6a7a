"""Just-in-time channels by the rules alone: prices, ids, and each decision."""

import json
from datetime import timedelta
from typing import Any

import pytest

from leyden.base.rules.times import from_us
from leyden.base.rules.units import Sats
from leyden.channels.direct.rules import jit
from leyden.channels.direct.rules.jit import (
    JIT_MOVES,
    CircuitKey,
    Forward,
    JitChannel,
    JitEvent,
    JitOffer,
    JitOrder,
    JitPart,
    JitStatus,
    Payment,
    Publication,
    Step,
)
from leyden.channels.direct.rules.lsps1 import Fault
from leyden.values import replace
from tests.conftest import NOW

SIZE, FEE = 100_000_000, 3_400_000
ORDER = JitOrder(
    id="16100001x2x3",
    purse="02aa",
    peer="03bb",
    status=JitStatus.SOLD,
    created=NOW,
    valid_until=NOW + timedelta(hours=2),
    size_msat=SIZE,
    fee_msat=FEE,
    capacity=Sats(201_000),
    held_at=from_us(0),
    resumed_at=from_us(0),
)
PAYMENT = Payment(payment_hash="ab", amount_msat=SIZE, since=NOW, height=100)
OFFER = JitOffer(
    min_fee_msat=1_000_000,
    ppm=10_000,
    valid_until=NOW,
    least_msat=2_000_000,
    most_msat=4_000_000_000,
).as_json()


def decided(order: JitOrder, payment: Payment = PAYMENT, **more: Any) -> Step:
    given: dict[str, Any] = {"online": True, "now": NOW, "height": 100} | more
    return jit.decide(order, payment, **given)


def held(status: JitStatus) -> JitOrder:
    return replace(
        ORDER, status=status, payment_hash="ab", held_at=NOW, held_height=100
    )


@pytest.mark.parametrize(
    ("size", "least", "ppm", "fee"),
    [
        (100_000_000, 1_000, 10_000, 1_000_000),
        (100_000_001, 1_000, 10_000, 1_000_001),
        (1, 0, 1, 1),
        (50_000, 1_000_000, 10_000, 1_000_000),
        (2**64 - 1, 0, 1, None if 2**64 - 1 + 999_999 >= 2**64 else 0),
        (2**64, 0, 0, None),
        (2**63, 0, 2, None),
        (2**44, 0, 2**20, None),
        (2**44 - 1, 0, 2**19, -(-(2**44 - 1) * 2**19 // 1_000_000)),
    ],
)
def test_fee_is_rounded_up_and_each_step_fits_64_bits(
    size: int, least: int, ppm: int, fee: int | None
) -> None:
    assert jit.opening_fee(size, least, ppm) == fee


@pytest.mark.parametrize("random", [0, 1, 2**57 - 1, 123_456_789_123_456_789 % 2**57])
def test_channel_ids_are_in_lnds_range_of_aliases(random: int) -> None:
    text = jit.scid_from(random)
    scid = jit.scid_of(text)
    assert jit.scid_text(scid) == text
    assert jit.may_be_ours(scid)
    assert 16_000_000 < scid >> 40 < 16_250_000


@pytest.mark.parametrize("block", [1, 900_000, 16_000_000, 16_099_999, 16_240_000])
def test_other_channel_ids_are_not_ours(block: int) -> None:
    assert not jit.may_be_ours(block << 40 | 7 << 16 | 1)


def test_capacity_has_room_for_the_reserve() -> None:
    assert jit.capacity_for(100_000_001, Sats(20_000)) == 100_001 + 1_001 + 20_000


@pytest.mark.parametrize(
    ("amounts", "fee"),
    [
        ([100_000_000], 1_000_000),
        ([97_000_000, 1_000_000, 1_000_000, 1_000_000], 1_000_000),
        ([600_000] * 5, 1_500_000),
        ([2_500_000, 2_500_000], 1_000_000),
    ],
)
def test_each_part_pays_lnds_own_fee_and_all_together_the_orders(
    amounts: list[int], fee: int
) -> None:
    takes = jit.divide(amounts, fee)
    assert takes is not None
    assert sum(takes) == fee
    for amount, take in zip(amounts, takes, strict=True):
        assert take >= 1_000 + amount // 1_000_000
        assert amount - take >= 1_000


@pytest.mark.parametrize(
    ("amounts", "fee"),
    [([1_000] * 5, 4_000), ([500_000] * 2, 999_000), ([3_000] * 400, 400_000)],
)
def test_parts_that_are_too_small_for_the_fee_are_refused(
    amounts: list[int], fee: int
) -> None:
    assert jit.divide(amounts, fee) is None


def test_a_complete_payment_goes_step_by_step() -> None:
    assert decided(ORDER) is Step.HOLD
    assert decided(held(JitStatus.HOLDING)) is Step.OPEN
    assert decided(held(JitStatus.OPENING)) is Step.FIND
    assert decided(held(JitStatus.OPENED)) is Step.FORWARD
    assert decided(held(JitStatus.UNPAID)) is Step.FORWARD
    assert decided(held(JitStatus.RESUMING)) is Step.WAIT
    assert decided(held(JitStatus.EARNED)) is Step.PASS


@pytest.mark.parametrize("status", [JitStatus.HOLDING, JitStatus.OPENING])
def test_it_waits_for_all_parts_and_for_the_node(status: JitStatus) -> None:
    order = held(status)
    assert decided(order, replace(PAYMENT, amount_msat=SIZE - 1)) is Step.WAIT
    assert decided(order, online=False) is Step.WAIT


@pytest.mark.parametrize(
    "status", sorted({*JitStatus} - {JitStatus.EARNED, JitStatus.EXPIRED})
)
def test_the_payer_gets_it_back_after_90_seconds_or_two_blocks(
    status: JitStatus,
) -> None:
    order = held(status)
    later = NOW + timedelta(seconds=89)
    assert decided(order, now=later, height=101) is not Step.RETURN
    assert decided(order, now=later + timedelta(seconds=1)) is Step.RETURN
    assert decided(order, height=102) is Step.RETURN


def test_what_was_stored_counts_when_lnd_asks_again() -> None:
    again = replace(PAYMENT, since=NOW + timedelta(seconds=80), height=101)
    at = {"now": NOW + timedelta(seconds=91), "height": 101}
    assert decided(held(JitStatus.OPENED), again, **at) is Step.RETURN
    other = replace(again, payment_hash="cd")
    assert decided(held(JitStatus.OPENED), other, **at) is Step.FORWARD


def test_an_order_that_lapsed_is_passed_on_and_lnd_knows_no_such_channel() -> None:
    assert decided(ORDER, now=ORDER.valid_until) is Step.PASS
    expired = replace(ORDER, status=JitStatus.EXPIRED)
    assert decided(expired, now=ORDER.valid_until) is Step.PASS


def part(number: int, payment_hash: str = "ab") -> JitPart:
    return JitPart(
        circuit=CircuitKey("7", str(number)),
        payment_hash=payment_hash,
        amount_msat=1_000_000,
        take_msat=10_000,
    )


def test_the_history_says_what_became_of_a_forwarded_payment() -> None:
    parts, long = [part(1), part(2)], timedelta(minutes=1)
    first = {part(1).circuit: Forward(part(1).circuit, 10_000, 7, 60_000, 50_000)}
    assert jit.outcome(parts, {}, {"ab"}, waited=long) is None
    assert jit.outcome(parts, first, {"ab"}, waited=long) is None
    assert jit.outcome(parts, first, {"cd"}, waited=timedelta(0)) is JitEvent.CLAIMED
    assert jit.outcome(parts, {}, (), waited=timedelta(seconds=9)) is None
    assert jit.outcome(parts, {}, (), waited=long) is JitEvent.REFUSED


def test_the_answer_for_a_stored_part_is_the_same_each_time() -> None:
    answer = jit.answer_for(part(1))
    assert answer == jit.answer_for(replace(part(1), earned_msat=10_000))
    assert (answer.fails, answer.out_msat, answer.take_msat) == (False, 990_000, 10_000)


def test_no_move_leads_from_forwarded_to_returned() -> None:
    after_resuming = {
        event for (status, event) in JIT_MOVES if status is JitStatus.RESUMING
    }
    assert after_resuming == {JitEvent.CLAIMED, JitEvent.REFUSED}
    assert not [key for key in JIT_MOVES if key[0] is JitStatus.EARNED]


def buy(**changes: Any) -> dict[str, Any]:
    offer = OFFER | {"promise": "aa"} | changes
    return {"opening_fee_params": offer, "payment_size_msat": "100000000"}


def test_a_request_to_buy_is_read_as_it_was_offered() -> None:
    offer, size = jit.parse_buy(json.loads(json.dumps(buy())))
    assert size == 100_000_000
    assert jit.price(offer, size) == 1_000_000


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"proportional": True}, jit.PARAMS),
        ({"proportional": "10000"}, jit.PARAMS),
        ({"min_fee_msat": 1_000_000}, jit.PARAMS),
        ({"promise": None}, jit.PARAMS),
        ({"more": 1}, jit.PARAMS),
    ],
)
def test_parameters_that_were_not_offered_are_refused(
    changes: dict[str, Any], code: int
) -> None:
    with pytest.raises(Fault) as refused:
        jit.parse_buy(buy(**changes))
    assert refused.value.code == code


@pytest.mark.parametrize(
    "size", [None, 100, "", "-1", "1.5", "0x10", "1e9", "01", "1" * 21, "\u0661"]
)
def test_sizes_that_are_no_millisatoshis_are_refused(size: object) -> None:
    with pytest.raises(Fault) as refused:
        jit.parse_buy(buy() | {"payment_size_msat": size})
    assert refused.value.code == -32602


@pytest.mark.parametrize(
    ("size", "code"),
    [
        (1_999_999, jit.SMALL),
        (0, jit.SMALL),
        (4_000_000_001, jit.LARGE),
        (2**64 - 1, jit.LARGE),
        (2**64, jit.LARGE),
        (10**20 - 1, jit.LARGE),
    ],
)
def test_sizes_beyond_the_offer_have_codes_of_their_own(size: int, code: int) -> None:
    with pytest.raises(Fault) as refused:
        jit.price(OFFER, size)
    assert refused.value.code == code


def test_a_fee_as_large_as_the_payment_is_refused() -> None:
    with pytest.raises(Fault) as refused:
        jit.price(OFFER | {"min_fee_msat": "3000000"}, 3_000_000)
    assert refused.value.code == jit.SMALL


UNPUBLISHED = replace(ORDER, status=JitStatus.UNPAID, trusts=True, channel_point="c:0")
OPEN = JitChannel(
    order_id=ORDER.id, point="c:0", scid=1, active=True, zero_conf=True, settled=True
)


def published(
    order: JitOrder = UNPUBLISHED, channel: JitChannel | None = OPEN, **more: Any
) -> Publication:
    given: dict[str, Any] = {
        "is_closing": False,
        "is_held": False,
        "waited": timedelta(minutes=10),
    }
    return jit.publication(order, channel, **given | more)


def test_what_a_node_claimed_is_published_by_its_balance_or_by_the_history() -> None:
    paid = replace(OPEN, remote=Sats(1))
    earned = replace(UNPUBLISHED, status=JitStatus.EARNED)
    for status in (JitStatus.RESUMING, JitStatus.UNPAID, JitStatus.EARNED):
        order = replace(UNPUBLISHED, status=status)
        assert published(order, paid) is Publication.PUBLISH
    for channel in (OPEN, None):
        assert published(earned, channel, is_held=True) is Publication.PUBLISH


def test_what_lnd_closes_is_published_and_what_it_forgot_is_given_up() -> None:
    resuming = replace(UNPUBLISHED, status=JitStatus.RESUMING)
    assert published(resuming, None, is_closing=True) is Publication.PUBLISH
    assert published(UNPUBLISHED, None, is_closing=True) is Publication.PUBLISH
    assert published(resuming, None) is Publication.WAIT
    assert published(UNPUBLISHED, None) is Publication.GIVE_UP


def test_nothing_is_given_up_in_which_a_payment_may_be() -> None:
    early = timedelta(minutes=9)
    assert published() is Publication.GIVE_UP
    assert published(is_held=True) is Publication.WAIT
    assert published(waited=early) is Publication.WAIT
    assert published(channel=replace(OPEN, settled=False)) is Publication.WAIT
    resuming = replace(UNPUBLISHED, status=JitStatus.RESUMING)
    assert published(resuming) is Publication.WAIT


def test_only_ids_of_lnds_own_may_be_lnds() -> None:
    first = 16_000_000 << 40
    assert jit.may_be_lnds(first)
    assert not jit.may_be_lnds(first - 1)
    assert not jit.may_be_lnds(jit.scid_of(ORDER.id))
