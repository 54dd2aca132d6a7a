"""What is booked when an order is filled, entry by entry."""

from functools import partial

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.holding import fill, undo
from leyden.channels.rules import ledger
from leyden.channels.rules.leases import Lease
from leyden.channels.rules.ledger import Entry, Reason
from leyden.channels.rules.orders import Order, OrderEvent, OrderStatus
from leyden.channels.rules.pricing import ChannelKind
from leyden.values import replace
from tests.channels.stored_order import (
    CREDIT,
    HARBOUR,
    HELD,
    ORDER,
    TO_A_NODE,
    StoredOrder,
    of_the_order,
)

QUOTE = replace(
    ORDER.quote,
    service_fee=Sats(2_000),
    pool_fee=Sats(14_163),
    self_chan_balance_fee=Sats(0),
)
SUBMITTED = replace(ORDER, status=OrderStatus.SUBMITTED, quote=QUOTE)
ASKED = replace(SUBMITTED, quote=replace(QUOTE, channel=TO_A_NODE))  # of the seller
PRICE = 16_163
PAID = {
    ChannelKind.TICKET: (ledger.AUCTION, "auction"),
    ChannelKind.DIRECT: (ledger.SELLER, "channel"),
}
entry = partial(of_the_order, source=HELD)
back = partial(entry, what=Reason.RELEASED)


def a_lease(cost: int) -> Lease:
    return Lease(
        channel_point=f"{'ab' * 32}:0",
        premium=Sats(cost - 3),
        execution_fee=Sats(2),
        chain_fee=Sats(1),
        self_chan_balance=Sats(0),
    )


def spent(to_auction: int, earned: int, seller: str = ledger.AUCTION) -> list[Entry]:
    key = f"matched:{ORDER.id}"
    return [
        entry(
            key=f"{key}:{target}",
            what=what,
            target=target,
            sats=Sats(sats),
        )
        for what, target, sats in (
            (Reason.AUCTION, seller, to_auction),
            (Reason.EARNED, ledger.EARNED, earned),
        )
        if sats
    ]


async def filled(
    stored_order: StoredOrder, order: Order, cost: int, held: int = PRICE, **owes: int
) -> list[Entry]:
    """Fill an order of an organization that owes something; give what is booked."""
    stored = {"owed": ledger.owed(HARBOUR), "receivable": ledger.receivable(HARBOUR)}
    debts = {stored[name]: -sats for name, sats in owes.items()}
    await stored_order.have(order, {HELD: held, **debts})
    async with stored_order.deciding() as (work, found):
        account, payee = PAID[found.kind]
        fill(work, found, a_lease(cost), account=account, payee=payee)
    leases = await stored_order.database.reader.leases.of_orders([ORDER.id])
    assert leases == {ORDER.id: a_lease(cost)}
    assert (await stored_order.order()).status is OrderStatus.FILLED
    return await stored_order.written()


async def test_what_the_auction_left_is_credit(stored_order: StoredOrder) -> None:
    assert await filled(stored_order, SUBMITTED, 10_000) == [
        back(key=f"unused:{ORDER.id}:credit", target=CREDIT, sats=Sats(4_163)),
        *spent(10_000, 2_000),
    ]


async def test_it_lowers_the_charge_then_what_the_chain_took_back(
    stored_order: StoredOrder,
) -> None:
    charged = replace(SUBMITTED, charged=Sats(100))
    assert await filled(stored_order, charged, 10_000, owed=300, receivable=40) == [
        back(
            key=f"unused:{ORDER.id}:owed",
            target=ledger.owed(HARBOUR),
            sats=Sats(100),
        ),
        back(
            key=f"unused:{ORDER.id}:receivable",
            target=ledger.receivable(HARBOUR),
            sats=Sats(40),
        ),
        back(key=f"unused:{ORDER.id}:credit", target=CREDIT, sats=Sats(4_023)),
        *spent(10_000, 2_000),
    ]


async def test_where_it_is_kept_it_is_earned(stored_order: StoredOrder) -> None:
    keeping = replace(SUBMITTED, quote=replace(QUOTE, keeps_unused_fee=True))
    assert await filled(stored_order, keeping, 10_000) == spent(10_000, 6_163)


@pytest.mark.parametrize("cost", [14_163, 14_164, PRICE])
async def test_where_nothing_is_left_nothing_comes_back(
    stored_order: StoredOrder, cost: int
) -> None:
    assert await filled(stored_order, SUBMITTED, cost) == spent(cost, PRICE - cost)


async def test_of_what_is_not_held_nothing_comes_back(
    stored_order: StoredOrder,
) -> None:
    """A payment went back while its channel was opened: it is given away."""
    held = 10_500
    assert await filled(stored_order, ASKED, 10_000, held=held) == [
        back(key=f"unused:{ORDER.id}:credit", target=CREDIT, sats=Sats(500)),
        *spent(10_000, 0, ledger.SELLER),
    ]


async def test_what_a_direct_channel_cost_is_the_sellers(
    stored_order: StoredOrder,
) -> None:
    assert await filled(stored_order, ASKED, 10_000) == [
        back(key=f"unused:{ORDER.id}:credit", target=CREDIT, sats=Sats(4_163)),
        *spent(10_000, 2_000, ledger.SELLER),
    ]


@pytest.mark.parametrize(
    ("order", "seller", "who"),
    [
        (SUBMITTED, ledger.AUCTION, "auction"),
        (ASKED, ledger.SELLER, "channel"),
    ],
)
async def test_what_it_took_beyond_the_price_is_our_loss(
    stored_order: StoredOrder, order: Order, seller: str, who: str
) -> None:
    assert await filled(stored_order, order, PRICE + 1) == [
        *spent(PRICE, 0, seller),
        of_the_order(
            key=f"matched:{ORDER.id}:loss",
            what=Reason.AUCTION,
            source=ledger.CORRECTIONS,
            target=seller,
            sats=Sats(1),
            note=f"the {who} took more than was charged for it",
        ),
    ]


# A channel that can never come: its funding transaction is lost.


async def undone(
    stored_order: StoredOrder, order: Order, cost: int = 10_000, **owes: int
) -> list[Entry]:
    """Fill a direct order and undo that; give what the latter booked."""
    before = await filled(stored_order, order, cost, **owes)
    async with stored_order.deciding() as (work, found):
        failed = undo(work, found, iter(before))
        assert work.holds(found) == 0
    assert await stored_order.order() == failed
    moves = await stored_order.database.reader.moves.of_order(ORDER.id)
    assert moves[-1] == (OrderStatus.FILLED, OrderStatus.FAILED)
    return (await stored_order.written())[len(before) :]


def taken_back(sats: int, earned: int) -> list[Entry]:
    return [
        of_the_order(
            key=f"undone:matched:{ORDER.id}:{account}",
            what=what,
            source=account,
            target=HELD,
            sats=Sats(each),
            note="the channel can never come",
        )
        for what, account, each in (
            (Reason.AUCTION, ledger.SELLER, sats),
            (Reason.EARNED, ledger.EARNED, earned),
        )
    ]


async def test_what_a_lost_channel_cost_is_credit(stored_order: StoredOrder) -> None:
    """Beside what was credited already."""
    given = replace(ASKED, credit_refund=Sats(5))
    assert await undone(stored_order, given) == [
        *taken_back(10_000, 2_000),
        back(
            key=f"{OrderEvent.LOST}:{ORDER.id}:credit", target=CREDIT, sats=Sats(12_000)
        ),
    ]
    assert (await stored_order.order()).credit_refund == 12_005


async def test_what_a_lost_channel_cost_lowers_its_charge_then_other_debts(
    stored_order: StoredOrder,
) -> None:
    """Of 5,000 that were charged 4,163 were lowered when it was filled."""
    given = replace(ASKED, charged=Sats(5_000))
    assert await undone(stored_order, given, owed=9_000, receivable=40) == [
        *taken_back(10_000, 2_000),
        back(key=f"lost:{ORDER.id}:owed", target=ledger.owed(HARBOUR), sats=Sats(837)),
        back(
            key=f"lost:{ORDER.id}:receivable",
            target=ledger.receivable(HARBOUR),
            sats=Sats(40),
        ),
        back(key=f"lost:{ORDER.id}:credit", target=CREDIT, sats=Sats(11_123)),
    ]
    assert (await stored_order.order()).credit_refund == 11_123


async def test_a_charge_that_was_lowered_to_nothing_is_not_lowered_again(
    stored_order: StoredOrder,
) -> None:
    """What else is owed is of other orders."""
    given = replace(ASKED, charged=Sats(100))
    assert await undone(stored_order, given, owed=9_000) == [
        *taken_back(10_000, 2_000),
        back(key=f"lost:{ORDER.id}:credit", target=CREDIT, sats=Sats(12_000)),
    ]


async def test_a_bill_that_was_paid_meanwhile_was_paid_with_the_buyers_money(
    stored_order: StoredOrder,
) -> None:
    """5,000 were charged, and 300 of them are still owed; all of these were lowered."""
    given = replace(ASKED, charged=Sats(5_000))
    assert await undone(stored_order, given, owed=300) == [
        *taken_back(10_000, 2_000),
        back(key=f"lost:{ORDER.id}:credit", target=CREDIT, sats=Sats(12_000)),
    ]
