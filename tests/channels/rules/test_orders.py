from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.base.rules.units import Sats
from leyden.channels.rules.leases import Lease
from leyden.channels.rules.orders import (
    ENDED,
    FINAL,
    MOVES,
    TICKETED,
    Order,
    OrderEvent,
    OrderStatus,
    advance,
)
from leyden.channels.rules.pricing import (
    AuctionTerms,
    Channel,
    ChannelKind,
    Terms,
    quote,
)
from leyden.errors import NotAllowed
from leyden.values import replace

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TICKET = Channel(capacity=Sats(1_000_000))
CHANNELS = {
    ChannelKind.TICKET: TICKET,
    ChannelKind.DIRECT: replace(TICKET, node_key="02" * 33),
}


def an_order(
    status: OrderStatus = OrderStatus.WAITING_PAYMENT,
    kind: ChannelKind = ChannelKind.TICKET,
) -> Order:
    channel = CHANNELS[kind]
    return Order(
        id="5b0c3d1e-7a44-4c39-9a0e-0c1f2b7d9e55FO",
        organization_id="harbour",
        status=status,
        created=NOON,
        expires=NOON + timedelta(hours=1),
        quote=quote(channel, Terms(), AuctionTerms()),
    )


@pytest.mark.parametrize(
    ("kind", "status", "event"), list(product(ChannelKind, OrderStatus, OrderEvent))
)
def test_every_move_is_in_the_table_or_refused(
    kind: ChannelKind, status: OrderStatus, event: OrderEvent
) -> None:
    order, moves = an_order(status, kind), MOVES[kind]
    assert order.kind is kind
    assert order.may(event) is ((status, event) in moves)
    if (status, event) in moves:
        assert advance(order, event).status is moves[status, event]
    else:
        with pytest.raises(NotAllowed, match=f"is {status} cannot be {event}"):
            advance(order, event)


@pytest.mark.parametrize(("kind", "status"), list(product(ChannelKind, OrderStatus)))
def test_a_ticket_is_open_from_its_creation_until_it_is_filled(
    kind: ChannelKind, status: OrderStatus
) -> None:
    is_open = kind is ChannelKind.TICKET and status in TICKETED - FINAL
    assert an_order(status, kind).has_open_ticket is is_open


@given(st.lists(st.sampled_from(OrderEvent)))
def test_no_walk_leaves_a_final_state(events: list[OrderEvent]) -> None:
    order = an_order()
    for event in events:
        before = order.status
        try:
            order = advance(order, event)
        except NotAllowed:
            assert order.status is before
        else:
            assert before not in FINAL


@pytest.mark.parametrize(
    ("cost", "unused"), [(64_162, 1), (64_163, 0), (64_164, 0), (50_000, 14_163)]
)
def test_what_the_auction_left_is_the_buyers_unless_the_quote_keeps_it(
    cost: int, unused: int
) -> None:
    channel = Channel(capacity=Sats(1_000_000), self_chan_balance=Sats(50_000))
    priced = quote(channel, Terms(), AuctionTerms())
    lease = Lease(
        channel_point=f"{'ab' * 32}:1",
        premium=Sats(cost - 50_111),
        execution_fee=Sats(11),
        chain_fee=Sats(100),
        self_chan_balance=Sats(50_000),
    )
    order = replace(an_order(OrderStatus.SUBMITTED), quote=priced)
    assert order.unused_fee(lease) == unused
    keeping = replace(order, quote=replace(priced, keeps_unused_fee=True))
    assert keeping.unused_fee(lease) == 0


def test_the_states_are_the_contracts() -> None:
    assert {str(status) for status in OrderStatus} == {
        "waiting_payment",
        "expired",
        "creating",
        "created",
        "submitted",
        "filled",
        "failed",
        "cancelled",
    }


def test_which_states_end_an_order() -> None:
    assert {OrderStatus.EXPIRED, OrderStatus.FILLED, OrderStatus.CANCELLED} == FINAL
    assert FINAL | {OrderStatus.FAILED} == ENDED
    assert {OrderStatus.CREATED, OrderStatus.SUBMITTED, OrderStatus.FILLED} == TICKETED


def test_which_states_can_be_cancelled() -> None:
    cancelled = {
        kind: {status for status, event in moves if event is OrderEvent.CANCELLED}
        for kind, moves in MOVES.items()
    }
    for_both = {OrderStatus.WAITING_PAYMENT, OrderStatus.CREATED, OrderStatus.FAILED}
    assert cancelled == {
        ChannelKind.TICKET: for_both | {OrderStatus.SUBMITTED},
        ChannelKind.DIRECT: for_both,  # the seller may be opening a channel
    }


def test_advancing_changes_nothing_but_the_status() -> None:
    order = an_order()
    paid = advance(order, OrderEvent.PAID)
    assert replace(paid, status=order.status) == order


def test_credit_is_taken_off_what_is_due() -> None:
    order = replace(an_order(), credit_used=Sats(6_163))
    assert order.amount_due == 10_000
    assert order.to_be_paid == 10_000


def test_a_corporate_account_has_it_due_but_need_not_pay() -> None:
    order = replace(an_order(), charged=Sats(16_163))
    assert order.amount_due == 16_163
    assert order.to_be_paid == 0


def test_nothing_is_due_for_a_cancelled_order() -> None:
    assert an_order(OrderStatus.CANCELLED).amount_due == 0


def test_paid_is_a_time_so_it_cannot_disagree() -> None:
    assert not an_order().paid
    assert replace(an_order(), paid_at=NOON).paid
