"""Wrapped invoices: each decision, and what wallets send."""

from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.direct.rules import wrapped
from leyden.channels.direct.rules.jit import (
    HOLD,
    JitOrder,
    JitStatus,
    may_be_ours,
    scid_from,
    scid_of,
)
from leyden.channels.direct.rules.wrapped import (
    FeeQuote,
    HoldInvoice,
    InnerInvoice,
    WrapStep,
)
from leyden.channels.rules.payments import InvoiceState
from leyden.errors import Malformed
from leyden.values import replace
from tests.conftest import NOW

PEER, PURSE = f"02{'ab' * 32}", f"03{'cd' * 32}"
ORDER = JitOrder(
    id=scid_from(7),
    purse=PURSE,
    peer=PEER,
    status=JitStatus.SOLD,
    created=NOW,
    valid_until=NOW + timedelta(hours=1),
    size_msat=100_000_000,
    fee_msat=3_400_000,
    capacity=Sats(201_000),
    payment_hash="ef" * 32,
    held_at=NOW,
    held_height=1_000,
    resumed_at=NOW,
)
HEIGHT = 1_001
LOCK = HEIGHT + 80 + 3 + wrapped.LOCK_LEFT
INNER = InnerInvoice(
    request="lnbcrt1",
    payment_hash="ef" * 32,
    payee=PEER,
    msat=96_600_000,
    expires=NOW + timedelta(hours=1),
    delta=80,
)


def step(
    status: JitStatus,
    state: InvoiceState,
    *,
    online: bool = True,
    after: timedelta = timedelta(0),
    height: int = HEIGHT,
    expires: int = LOCK,
    payment_hash: str = "ef" * 32,
) -> WrapStep:
    return wrapped.decide(
        replace(ORDER, status=status, payment_hash=payment_hash),
        HoldInvoice(state=state, msat=100_000_000, expires=expires),
        delta=80,
        online=online,
        now=NOW + after,
        height=height,
    )


@pytest.mark.parametrize(("status", "state"), list(product(JitStatus, InvoiceState)))
def test_only_what_certainly_is_not_paid_on_is_cancelled_or_returned(
    status: JitStatus, state: InvoiceState
) -> None:
    """While it is resuming, whatever else is true."""
    for online, after, height, expires in product(
        (True, False), (timedelta(0), timedelta(days=9)), (HEIGHT, 9_999), (LOCK, 0)
    ):
        found = step(
            status, state, online=online, after=after, height=height, expires=expires
        )
        if status is JitStatus.RESUMING:
            assert found is WrapStep.FOLLOW
        if found is WrapStep.CANCEL:
            assert status not in {JitStatus.OPENED, JitStatus.EARNED}
        if found is WrapStep.PAY:
            assert state is InvoiceState.ACCEPTED
            assert status is JitStatus.OPENED
        if found is WrapStep.CLOSE:
            assert state not in {InvoiceState.OPEN, InvoiceState.ACCEPTED} or (
                status is JitStatus.EARNED
            )


@pytest.mark.parametrize(
    ("status", "held", "gone"),
    [
        (JitStatus.HOLDING, WrapStep.OPEN, WrapStep.RETURN),
        (JitStatus.OPENING, WrapStep.FIND, WrapStep.LOOK),
        (JitStatus.OPENED, WrapStep.PAY, WrapStep.RETURN),
        (JitStatus.UNPAID, WrapStep.CANCEL, WrapStep.CLOSE),
        (JitStatus.EARNED, WrapStep.CLOSE, WrapStep.CLOSE),
    ],
)
def test_a_held_payment_goes_on_and_one_that_is_gone_does_not(
    status: JitStatus, held: WrapStep, gone: WrapStep
) -> None:
    assert step(status, InvoiceState.ACCEPTED) is held
    assert step(status, InvoiceState.CANCELLED) is gone


@pytest.mark.parametrize(
    ("status", "over"),
    [
        (JitStatus.HOLDING, WrapStep.RETURN),
        (JitStatus.OPENING, WrapStep.CANCEL),
        (JitStatus.OPENED, WrapStep.RETURN),
    ],
)
def test_a_payment_is_held_for_so_long_and_no_longer(
    status: JitStatus, over: WrapStep
) -> None:
    held = InvoiceState.ACCEPTED
    soon = HOLD - timedelta(microseconds=1)
    assert step(status, held, online=False, after=soon) is WrapStep.WAIT
    assert step(status, held, after=HOLD) is over
    assert step(status, held, height=1_002, expires=9_999) is over


def test_an_inner_payment_is_outlasted() -> None:
    for status in (JitStatus.HOLDING, JitStatus.OPENED):
        assert step(status, InvoiceState.ACCEPTED, expires=LOCK - 1) is WrapStep.RETURN


def test_an_invoice_that_nobody_paid_ends() -> None:
    end = ORDER.valid_until - NOW
    sold = JitStatus.SOLD
    assert step(sold, InvoiceState.OPEN) is WrapStep.WAIT
    assert step(sold, InvoiceState.OPEN, after=end) is WrapStep.CANCEL
    assert step(sold, InvoiceState.CANCELLED) is WrapStep.LAPSE
    assert step(sold, InvoiceState.MISSING, after=end) is WrapStep.WAIT
    gone = end + wrapped.MISSING_FOR
    assert step(sold, InvoiceState.MISSING, after=gone) is WrapStep.LAPSE
    expired = JitStatus.EXPIRED
    assert step(expired, InvoiceState.CANCELLED) is WrapStep.CLOSE
    assert step(expired, InvoiceState.OPEN, after=end) is WrapStep.CANCEL
    assert step(expired, InvoiceState.MISSING, after=gone) is WrapStep.CLOSE


def test_a_payment_is_held_once_and_not_when_it_is_noticed_too_late() -> None:
    sold, held = JitStatus.SOLD, InvoiceState.ACCEPTED
    end = ORDER.valid_until - NOW
    assert step(sold, held, payment_hash="") is WrapStep.HOLD
    assert step(sold, held, payment_hash="", after=end) is WrapStep.HOLD
    late = end + timedelta(seconds=30)
    assert step(sold, held, payment_hash="", after=late) is WrapStep.CANCEL
    assert step(sold, held) is WrapStep.CANCEL


def test_a_fee_is_kept_by_its_text_alone() -> None:
    quote = FeeQuote(peer=PEER, valid_until=NOW, amount_msat=7, fee_msat=3)
    text = quote.id(b"\x01" * 32)
    assert wrapped.parse_fee_id(text, PEER) == (quote, b"\x01" * 32)
    other = replace(quote, peer=PURSE)
    assert other.promised != quote.promised


@pytest.mark.parametrize(
    "text", [None, 7, "", "x", "1-2-3", "1-2-3-zz", f"{'9' * 18}-1-1-{'0' * 64}"]
)
def test_a_text_that_is_no_fee_is_refused(text: object) -> None:
    with pytest.raises(Malformed, match="fee_id"):
        wrapped.parse_fee_id(text, PEER)


@pytest.mark.parametrize("amount", [None, 0, -1, "7", 1.5, True, 2**63])
def test_an_amount_is_a_whole_number(amount: object) -> None:
    with pytest.raises(Malformed, match="amount_msat"):
        wrapped.parse_amount({"amount_msat": amount})


@pytest.mark.parametrize("key", [None, 7, "", "02", "04" + "ab" * 32, "02" + "g" * 64])
def test_a_key_is_a_nodes(key: object) -> None:
    with pytest.raises(Malformed, match="pubkey"):
        wrapped.parse_key({"pubkey": key})
    assert wrapped.parse_key({"pubkey": PEER.upper()}) == PEER


@pytest.mark.parametrize(
    "request_", [None, 7, "", "lnbc1/../x", "bc1qq", "lnbc1?x=1", "ln" + "a" * 5_000]
)
def test_an_invoice_looks_like_one(request_: object) -> None:
    with pytest.raises(Malformed, match="bolt11"):
        wrapped.parse_request({"bolt11": request_})
    assert wrapped.parse_request({"bolt11": "LNBC1X"}) == "lnbc1x"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"msat": 0}, "has no amount"),
        ({"payee": PURSE}, "of the node that wraps it"),
        ({"delta": 161}, "its time lock is 161 blocks"),
        ({"expires": NOW + timedelta(seconds=239)}, "has expired, or will"),
        ({"expires": NOW - timedelta(days=1)}, "has expired, or will"),
    ],
)
def test_an_invoice_that_cant_be_wrapped_is_refused(
    wrong: dict[str, Any], why: str
) -> None:
    wrapped.check_inner(INNER, now=NOW, purse=PURSE)
    with pytest.raises(Malformed, match=f"bolt11: .*{why}"):
        wrapped.check_inner(replace(INNER, **wrong), now=NOW, purse=PURSE)


def test_a_hold_invoice_asks_for_more_time_than_it_must_have_left() -> None:
    blocks = wrapped.delta_of(80)
    assert blocks - 2 >= LOCK - HEIGHT, "also after the two blocks that it is held"


def test_msat_are_rounded_up() -> None:
    assert [wrapped.whole(each) for each in (0, 1, 1_000, 1_001)] == [
        0,
        1_000,
        1_000,
        2_000,
    ]


def test_an_orders_id_is_no_channel_id_that_is_sold() -> None:
    for random in (0, 2**53 - 1):
        found = scid_of(wrapped.id_from(random))
        assert 16_000_000 <= found >> 40 < 16_250_000, "of lnd's aliases"
        assert not may_be_ours(found)
