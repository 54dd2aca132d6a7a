"""Leases that go on: extended by their buyers, and by themselves."""

import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from leyden.channels import leased_channels
from leyden.channels.books.verify import verify
from leyden.channels.direct import extensions, lease_watch, seller_watch
from leyden.channels.direct.rules.extensions import (
    AUTO_BLOCKS_LEFT,
    LONGEST_BLOCKS,
    SUFFIX,
    Extension,
    ExtensionStatus,
)
from leyden.channels.money import corrections, credit
from leyden.channels.rules import ledger
from leyden.channels.rules.customer_ledger import EntryKind
from leyden.channels.rules.leases import ENDED
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.payments import InvoiceState
from leyden.channels.rules.sources import Source
from leyden.errors import (
    Conflict,
    Malformed,
    NotAllowed,
    NotFound,
    OverLimit,
    SellerAway,
    Stale,
)
from leyden.operators import treasury_balance
from leyden.values import replace
from tests.channels.orders_harness import (
    HARBOUR,
    LIGHTHOUSE,
    OrdersHarness,
    at_once,
    request_of,
)
from tests.channels.test_credit import in_debt
from tests.channels.test_direct_channels import OTHER, PEER, channel
from tests.events.stored_events import stored_events

BLOCKS = 2_016
PRICE = 6_999  # a premium of 4,999 and a service fee of 2,000, for a million sat


@pytest.fixture
async def direct(harness: OrdersHarness) -> AsyncIterator[OrdersHarness]:
    harness.seller.fill([3_000_000, 3_000_000])
    harness.seller.online.add(PEER)
    yield harness
    await harness.prove()


@pytest.fixture
async def order(direct: OrdersHarness) -> Order:
    """A channel that was bought, and left its buyer no credit."""
    made = await direct.create(channel())
    direct.payments.pay(request_of(made))
    await direct.settle_down()
    found = await direct.get(made)
    assert found.status is OrderStatus.FILLED
    await take_credit(direct)
    return found


async def take_credit(harness: OrdersHarness) -> None:
    if has := await harness.credit():
        await corrections.correct(
            harness.database,
            HARBOUR,
            corrections.Correction.REFUND,
            sats=has,
            reason="paid out",
            actor="operator:alice",
            key=str(uuid.uuid4()),
            now=harness.now,
        )


async def extend(
    harness: OrdersHarness,
    order: Order,
    *,
    blocks: int = BLOCKS,
    id_: str = "",
    most: int | None = None,
    who: str = HARBOUR,
) -> Extension:
    return await extensions.extend(
        harness.channels,
        who,
        order.id,
        id_ or f"{uuid.uuid4()}{SUFFIX}",
        blocks,
        most=most,
        actor="test",
        now=harness.now,
    )


async def ends(harness: OrdersHarness, order: Order) -> int:
    found = await leased_channels.find(
        harness.database.reader, [await harness.get(order)]
    )
    return found[order.id].ends_at


async def told(harness: OrdersHarness) -> list[tuple[str, Mapping[str, Any]]]:
    """Return what was told about leases."""
    return [
        (kind, data)
        for kind, data in await stored_events(harness.database, HARBOUR)
        if kind.startswith("channel.")
    ]


async def kinds(harness: OrdersHarness) -> list[str]:
    await seller_watch.check(harness.channels)
    return [kind for kind, _ in await told(harness)]


def pay(harness: OrdersHarness, extension: Extension, sats: int | None = None) -> None:
    harness.payments.pay(extension.payment_request, sats)


async def found(harness: OrdersHarness, extension: Extension) -> Extension:
    stored = await harness.database.reader.extensions.find(extension.id)
    assert stored is not None
    return stored


def invoice_of(harness: OrdersHarness, extension: Extension) -> InvoiceState:
    return harness.payments.invoices[extension.payment_hash].state


async def close(harness: OrdersHarness, order: Order) -> None:
    harness.seller.close_channel(order.channel_point)


# Paid at once.


async def test_credit_extends_a_lease_at_once(
    direct: OrdersHarness, order: Order
) -> None:
    before, earned = await ends(direct, order), await direct.balance_of(ledger.EARNED)
    await direct.give_credit(10_000)
    offer = await extensions.quote(direct.channels, HARBOUR, order.id, BLOCKS)
    assert (offer.total_fee, offer.ends) == (PRICE, before + BLOCKS)
    made = await extend(direct, order)
    assert made.status is ExtensionStatus.EXTENDED
    assert (made.total_fee, made.amount_due, made.ends) == (PRICE, 0, before + BLOCKS)
    assert await ends(direct, order) == before + BLOCKS
    assert await direct.credit() == 10_000 - PRICE
    assert await direct.balance_of(ledger.EARNED) == earned + PRICE
    kind, data = (await told(direct))[-1]
    assert kind == "channel.lease_extended"
    assert data == {
        "order_id": order.id,
        "channel_point": order.channel_point,
        "lease_ends_block": before + BLOCKS,
        "lease_duration_blocks": BLOCKS,
        "amount": PRICE,
    }
    newest, *_ = await credit.history(direct.database, HARBOUR, limit=5)
    assert (newest.kind, newest.sats, newest.order_id) == (
        EntryKind.EXTENDED,
        PRICE,
        order.id,
    )


async def test_one_key_extends_once(direct: OrdersHarness, order: Order) -> None:
    await direct.give_credit(3 * PRICE)
    before, id_ = await ends(direct, order), f"{uuid.uuid4()}{SUFFIX}"
    first = await extend(direct, order, id_=id_)
    assert await extend(direct, order, id_=id_) == first
    results = await at_once(*(extend(direct, order, id_=id_) for _ in range(3)))
    assert all(each == first or isinstance(each, Stale) for each in results)
    assert await ends(direct, order) == before + BLOCKS
    assert await direct.credit() == 2 * PRICE


async def test_two_at_the_same_moment_are_both_paid_and_both_extend(
    direct: OrdersHarness, order: Order
) -> None:
    await direct.give_credit(2 * PRICE)
    before = await ends(direct, order)
    results = await at_once(extend(direct, order), extend(direct, order))
    for each in results:
        if isinstance(each, Stale):
            await extend(direct, order)
    assert await ends(direct, order) == before + 2 * BLOCKS
    assert await direct.credit() == 0


async def test_a_corporate_account_pays_what_credit_does_not(
    direct: OrdersHarness, order: Order
) -> None:
    await direct.give_credit(1_000)
    await credit.open_account(
        direct.database,
        HARBOUR,
        most_owed=6_000,
        actor="operator:alice",
        now=direct.now,
    )
    made = await extend(direct, order)
    assert (made.credit_used, made.charged) == (1_000, PRICE - 1_000)
    assert await direct.balance_of(ledger.owed(HARBOUR)) == 1_000 - PRICE
    with pytest.raises(OverLimit):
        await extend(direct, order)


async def test_two_at_the_same_moment_owe_no_more_than_the_limit(
    direct: OrdersHarness, order: Order
) -> None:
    """Each lease is locked by itself; what is owed is not theirs alone."""
    direct.seller.online.add(OTHER)
    another = await direct.create(channel(OTHER))
    direct.payments.pay(request_of(another))
    await direct.settle_down()
    await take_credit(direct)
    await credit.open_account(
        direct.database, HARBOUR, most_owed=PRICE, actor="operator:a", now=direct.now
    )
    results = await at_once(extend(direct, order), extend(direct, another))
    assert len([each for each in results if isinstance(each, Extension)]) == 1
    assert await direct.balance_of(ledger.owed(HARBOUR)) == -PRICE


async def test_a_longer_lease_costs_proportionally_more(
    direct: OrdersHarness, order: Order
) -> None:
    offer = await extensions.quote(direct.channels, HARBOUR, order.id, 52_416)
    assert offer.premium == pytest.approx(26 * 4_999, abs=100)
    assert offer.service_fee == 2_000


# What can't be extended.


async def test_a_price_above_the_limit_is_refused(
    direct: OrdersHarness, order: Order
) -> None:
    await direct.give_credit(PRICE)
    with pytest.raises(Conflict, match=f"max_fee: the price is {PRICE:,} sat"):
        await extend(direct, order, most=PRICE - 1)
    assert (await extend(direct, order, most=PRICE)).status is ExtensionStatus.EXTENDED


async def test_another_ones_order_is_not_found(
    direct: OrdersHarness, order: Order
) -> None:
    with pytest.raises(NotFound):
        await extend(direct, order, who=LIGHTHOUSE)


async def test_a_ticket_and_an_unfilled_order_have_no_lease(
    direct: OrdersHarness,
) -> None:
    with pytest.raises(NotAllowed, match="from the auction"):
        await extend(direct, await direct.create())
    with pytest.raises(NotAllowed, match="waiting_payment has no lease"):
        await extend(direct, await direct.create(channel()))


async def test_a_channel_that_closes_is_not_extended(
    direct: OrdersHarness, order: Order
) -> None:
    await direct.give_credit(PRICE)
    await close(direct, order)
    with pytest.raises(NotAllowed, match="is closing"):
        await extend(direct, order)
    await seller_watch.check(direct.channels)
    with pytest.raises(NotAllowed, match="is closed"):
        await extend(direct, order)
    assert await direct.credit() == PRICE


async def test_a_lease_that_is_over_is_not_extended(
    direct: OrdersHarness, order: Order
) -> None:
    await direct.give_credit(PRICE)
    direct.seller.height = await ends(direct, order)
    with pytest.raises(NotAllowed, match="the lease ended at block"):
        await extend(direct, order)
    direct.seller.height -= 1
    assert (await extend(direct, order)).status is ExtensionStatus.EXTENDED


async def test_another_seller_extends_nothing(
    direct: OrdersHarness, order: Order
) -> None:
    direct.seller.pubkey = f"03{'ab' * 32}"
    direct.rules = replace(direct.rules, seller=direct.seller.pubkey)
    with pytest.raises(NotAllowed, match="another lnd"):
        await extend(direct, order)


async def test_a_seller_that_is_away_is_unknown(
    direct: OrdersHarness, order: Order
) -> None:
    await direct.give_credit(PRICE)
    direct.seller.away = True
    with pytest.raises(SellerAway):
        await extend(direct, order)
    direct.seller.away = False


async def test_who_sells_no_more_channels_extends_none(
    direct: OrdersHarness, order: Order
) -> None:
    """Its operator wants the coins back, some time."""
    await direct.give_credit(PRICE)
    await automatic(direct, order)
    direct.rules = replace(direct.rules, sources=(Source.POOL,))
    with pytest.raises(NotAllowed, match="sells no more channels"):
        await extend(direct, order)
    direct.seller.height = await ends(direct, order) - 100
    for _ in range(2):
        await kinds(direct)
    assert (await told(direct))[-1][1]["reason"] == "not_possible"
    assert await direct.credit() == PRICE


async def test_a_lease_gets_no_longer_than_this(
    direct: OrdersHarness, order: Order
) -> None:
    await direct.give_credit(10**7)
    with pytest.raises(Malformed, match="lease_duration_blocks: must be one of 2016"):
        await extend(direct, order, blocks=144)
    await extend(direct, order, blocks=52_416)
    with pytest.raises(Malformed, match="lease_duration_blocks: must be at most 2,016"):
        await extend(direct, order, blocks=4_032)
    assert await ends(direct, order) <= direct.seller.height + LONGEST_BLOCKS


# Paid over Lightning.


async def test_without_credit_an_invoice_extends_a_lease(
    direct: OrdersHarness, order: Order
) -> None:
    before = await ends(direct, order)
    await direct.give_credit(PRICE - 1)
    made = await extend(direct, order)
    assert made.status is ExtensionStatus.WAITING_PAYMENT
    assert (made.amount_due, made.credit_used) == (PRICE, 0)
    assert made.lightning_invoice
    await direct.settle_down()
    assert await ends(direct, order) == before
    with pytest.raises(NotAllowed, match="waits for its payment"):
        await extend(direct, order)
    pay(direct, made, PRICE + 21)
    await direct.settle_down()
    assert (await found(direct, made)).status is ExtensionStatus.EXTENDED
    assert await ends(direct, order) == before + BLOCKS
    assert invoice_of(direct, made) is InvoiceState.SETTLED
    assert await direct.credit() == PRICE - 1 + 21
    assert (
        await treasury_balance.unknown_payments(
            replace(direct.channels, treasury=direct.payments)
        )
        == []
    )


async def test_what_is_paid_too_much_repays_a_reversed_payment_first(
    direct: OrdersHarness, order: Order
) -> None:
    made = await extend(direct, order)
    await in_debt(direct)
    owed = await direct.balance_of(ledger.receivable(HARBOUR))
    pay(direct, made, PRICE + 21)
    await direct.settle_down()
    assert (await found(direct, made)).status is ExtensionStatus.EXTENDED
    assert await direct.balance_of(ledger.receivable(HARBOUR)) == owed + 21
    assert await direct.credit() == 0


async def test_a_form_that_is_sent_twice_at_once_has_one_invoice(
    direct: OrdersHarness, order: Order
) -> None:
    id_ = f"{uuid.uuid4()}{SUFFIX}"
    results = await at_once(*(extend(direct, order, id_=id_) for _ in range(3)))
    made = await extend(direct, order, id_=id_)
    assert made.status is ExtensionStatus.WAITING_PAYMENT
    assert all(each == made or isinstance(each, Stale) for each in results)


async def test_credit_that_was_spent_since_the_quote_is_not_said_to_pay(
    direct: OrdersHarness, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    await direct.give_credit(PRICE)
    quote = extensions.quote

    async def quote_then_spend(*asked: Any) -> extensions.ExtensionOffer:
        offered = await quote(*asked)
        await take_credit(direct)
        return offered

    monkeypatch.setattr(extensions, "quote", quote_then_spend)
    made = await extend(direct, order)
    assert made.status is ExtensionStatus.WAITING_PAYMENT
    assert (made.credit_used, made.amount_due) == (0, PRICE)


async def test_a_payment_that_nobody_heard_of_is_found(
    direct: OrdersHarness, order: Order
) -> None:
    before, made = await ends(direct, order), await extend(direct, order)
    await direct.settle_down()
    pay(direct, made)
    direct.deafen()
    await direct.work()
    assert await ends(direct, order) == before
    await direct.pass_time(minutes=2)
    assert await ends(direct, order) == before + BLOCKS


async def test_an_invoice_that_nobody_pays_expires(
    direct: OrdersHarness, order: Order
) -> None:
    before, made = await ends(direct, order), await extend(direct, order)
    await direct.pass_time(minutes=61)
    assert (await found(direct, made)).status is ExtensionStatus.EXPIRED
    assert invoice_of(direct, made) is InvoiceState.CANCELLED
    assert await ends(direct, order) == before
    again = await extend(direct, order)
    assert (await found(direct, made)).id == made.id
    await direct.pass_time(days=8)
    await extend(direct, order)
    left = await direct.database.reader.extensions.of_orders([order.id])
    assert made.id not in [each.id for each in left], "it is forgotten after a week"
    assert again.id not in [each.id for each in left]


async def test_a_channel_that_closes_meanwhile_sends_the_payment_back(
    direct: OrdersHarness, order: Order
) -> None:
    made = await extend(direct, order)
    await direct.settle_down()
    await close(direct, order)
    pay(direct, made)
    await direct.settle_down()
    assert (await found(direct, made)).status is ExtensionStatus.FAILED
    assert invoice_of(direct, made) is InvoiceState.CANCELLED
    assert await direct.credit() == 0


async def test_a_seller_that_is_away_keeps_a_payment_waiting_not_for_ever(
    direct: OrdersHarness, order: Order
) -> None:
    made = await extend(direct, order)
    await direct.settle_down()
    direct.seller.away = True
    pay(direct, made)
    await direct.settle_down()
    assert invoice_of(direct, made) is InvoiceState.ACCEPTED
    await direct.pass_time(minutes=61)
    assert (await found(direct, made)).status is ExtensionStatus.FAILED
    assert invoice_of(direct, made) is InvoiceState.CANCELLED
    direct.seller.away = False


async def test_a_seller_that_comes_back_is_asked_again(
    direct: OrdersHarness, order: Order
) -> None:
    made = await extend(direct, order)
    await direct.settle_down()
    direct.seller.away = True
    pay(direct, made)
    await direct.settle_down()
    direct.seller.away = False
    await direct.pass_time(seconds=6)
    assert (await found(direct, made)).status is ExtensionStatus.EXTENDED


@pytest.mark.parametrize("lost", [1, 2])
async def test_an_answer_that_was_lost_books_nothing_twice(
    direct: OrdersHarness, order: Order, lost: int
) -> None:
    before, made = await ends(direct, order), await extend(direct, order)
    await direct.settle_down()
    pay(direct, made)
    direct.payments.answers_lost = lost
    for _ in range(3):
        await direct.pass_time(minutes=1)
    await direct.hear_again()
    await direct.settle_down()
    assert await ends(direct, order) == before + BLOCKS
    assert await direct.balance_of(ledger.RECEIVED) < 0
    assert await direct.credit() == 0


async def test_what_died_after_the_settlement_goes_on(
    direct: OrdersHarness, order: Order
) -> None:
    """The payment was settled, and nothing of it was booked."""
    before, made = await ends(direct, order), await extend(direct, order)
    await direct.settle_down()
    pay(direct, made)
    direct.deafen()
    async with direct.database.transaction() as tx:
        settling = replace(made, status=ExtensionStatus.SETTLING)
        assert await tx.extensions.move(made, settling)
    assert await direct.payments.settle(made.payment_request)
    await direct.pass_time(minutes=2)
    assert (await found(direct, made)).status is ExtensionStatus.EXTENDED
    assert await ends(direct, order) == before + BLOCKS


async def test_a_payment_that_was_gone_before_it_was_settled_extends_nothing(
    direct: OrdersHarness, order: Order
) -> None:
    before, made = await ends(direct, order), await extend(direct, order)
    await direct.settle_down()
    pay(direct, made)
    async with direct.database.transaction() as tx:
        settling = replace(made, status=ExtensionStatus.SETTLING)
        assert await tx.extensions.move(made, settling)
    direct.payments.time_out(made.payment_request)
    direct.deafen()
    await direct.pass_time(minutes=2)
    assert (await found(direct, made)).status is ExtensionStatus.FAILED
    assert await ends(direct, order) == before


async def test_a_settled_payment_for_a_closed_channel_is_credit(
    direct: OrdersHarness, order: Order
) -> None:
    """It closed in the moment in which its extension was paid."""
    made = await extend(direct, order)
    await direct.settle_down()
    pay(direct, made)
    direct.deafen()
    async with direct.database.transaction() as tx:
        settling = replace(made, status=ExtensionStatus.SETTLING)
        assert await tx.extensions.move(made, settling)
    await close(direct, order)
    await seller_watch.check(direct.channels)
    await direct.pass_time(minutes=2)
    assert (await found(direct, made)).status is ExtensionStatus.FAILED
    assert await direct.credit() == PRICE


async def test_a_channel_that_never_comes_returns_its_extension_too(
    direct: OrdersHarness, order: Order
) -> None:
    await direct.give_credit(PRICE)
    await extend(direct, order)
    assert await direct.credit() == 0
    direct.seller.take_coin(order.channel_point)
    direct.seller.height += 5
    await seller_watch.check(direct.channels)
    assert await direct.status(order) is OrderStatus.FAILED
    left = 240 * 50 - 154 * 10  # was credit before, and paid out
    assert await direct.credit() == order.total_fee - left + PRICE


async def test_a_charge_that_was_paid_since_is_credit_if_the_channel_never_comes(
    direct: OrdersHarness, order: Order
) -> None:
    await credit.open_account(
        direct.database, HARBOUR, most_owed=9_000, actor="operator:a", now=direct.now
    )
    await extend(direct, order)
    assert await direct.balance_of(ledger.owed(HARBOUR)) == -PRICE
    await corrections.correct(
        direct.database,
        HARBOUR,
        corrections.Correction.SETTLED,
        sats=PRICE - 100,
        reason="by bank",
        actor="operator:alice",
        key="by bank",
        now=direct.now,
    )
    direct.seller.take_coin(order.channel_point)
    direct.seller.height += 5
    await seller_watch.check(direct.channels)
    assert await direct.status(order) is OrderStatus.FAILED
    assert await direct.balance_of(ledger.owed(HARBOUR)) == 0
    left = 240 * 50 - 154 * 10
    assert await direct.credit() == order.total_fee - left + PRICE - 100


# Told of their end, and extended by themselves.


async def test_a_lease_that_was_extended_is_told_of_at_its_new_end(
    direct: OrdersHarness, order: Order
) -> None:
    await direct.give_credit(PRICE)
    direct.seller.height = await ends(direct, order) - 1_000
    assert await kinds(direct) == ["channel.lease_ending"]
    await extend(direct, order)
    expected = ["channel.lease_ending", "channel.lease_extended"]
    assert await kinds(direct) == expected
    direct.seller.height += 1_000
    assert await kinds(direct) == expected
    direct.seller.height = await ends(direct, order) - 1_008
    assert await kinds(direct) == [*expected, "channel.lease_ending"]
    direct.seller.height += 1_008
    assert (await kinds(direct))[-1] == "channel.lease_ended"


async def test_a_lease_that_an_older_program_called_ended_goes_on(
    direct: OrdersHarness, order: Order
) -> None:
    """It ran beside this one, or after it, and knew of no extensions."""
    await direct.give_credit(PRICE)
    await extend(direct, order)
    (lease,) = await direct.database.reader.leases.running(limit=9)
    async with direct.database.transaction() as tx:
        assert await tx.leases.change(lease, replace(lease, announced=ENDED))
    await kinds(direct)
    assert await lease_watch.ended(direct.channels) == []
    direct.seller.height = await ends(direct, order) - 1_008
    assert await kinds(direct) == ["channel.lease_extended", "channel.lease_ending"]


async def automatic(
    harness: OrdersHarness, order: Order, *, most: int = PRICE, blocks: int = BLOCKS
) -> None:
    await extensions.set_automatic(
        harness.channels,
        HARBOUR,
        order.id,
        blocks=blocks,
        most=most,
        actor="test",
        now=harness.now,
    )


async def test_a_lease_goes_on_by_itself(direct: OrdersHarness, order: Order) -> None:
    await automatic(direct, order)
    await direct.give_credit(2 * PRICE)
    before = await ends(direct, order)
    direct.seller.height = before - 1_008
    assert await kinds(direct) == ["channel.lease_extending"]
    _, data = (await told(direct))[-1]
    assert (data["amount"], data["lease_duration_blocks"]) == (PRICE, BLOCKS)
    direct.seller.height = before - AUTO_BLOCKS_LEFT - 1
    assert await kinds(direct) == ["channel.lease_extending"]
    direct.seller.height += 1
    for _ in range(3):
        assert (await kinds(direct))[1:] == ["channel.lease_extended"]
    assert await ends(direct, order) == before + BLOCKS
    assert await direct.credit() == PRICE
    direct.seller.height = before + BLOCKS - 1_000
    await kinds(direct)
    direct.seller.height = before + BLOCKS - 1
    assert (await kinds(direct))[2:] == [
        "channel.lease_extending",
        "channel.lease_extended",
    ]
    assert await direct.credit() == 0


async def test_nobody_takes_the_id_of_an_automatic_extension(
    direct: OrdersHarness, order: Order
) -> None:
    """A former member knows the order, and a form's id is its sender's choice."""
    await automatic(direct, order)
    before = await ends(direct, order)
    guessed = uuid.uuid5(uuid.NAMESPACE_OID, f"{order.id} {before}")
    direct.seller.online.add(OTHER)
    another = await direct.create(channel(OTHER), who=LIGHTHOUSE)
    direct.payments.pay(request_of(another))
    await direct.settle_down()
    await extend(
        direct, another, id_=f"{guessed}{SUFFIX}", blocks=8_064, who=LIGHTHOUSE
    )
    await direct.give_credit(PRICE)
    direct.seller.height = before - AUTO_BLOCKS_LEFT
    for _ in range(2):
        await kinds(direct)
    assert await ends(direct, order) == before + BLOCKS


async def test_a_lease_that_cannot_go_on_is_told_once_and_tried_again(
    direct: OrdersHarness, order: Order
) -> None:
    await automatic(direct, order)
    before = await ends(direct, order)
    direct.seller.height = before - 1_008
    await kinds(direct)
    direct.seller.height = before - AUTO_BLOCKS_LEFT
    for _ in range(3):
        assert (await kinds(direct))[1:] == ["channel.lease_not_extended"]
    _, data = (await told(direct))[-1]
    assert (data["reason"], data["amount"]) == ("credit_missing", PRICE)
    await direct.give_credit(PRICE)
    assert (await kinds(direct))[2:] == ["channel.lease_extended"]
    assert await ends(direct, order) == before + BLOCKS


async def test_no_lease_goes_on_above_its_limit(
    direct: OrdersHarness, order: Order
) -> None:
    await automatic(direct, order, most=PRICE - 1)
    await direct.give_credit(PRICE)
    before = await ends(direct, order)
    direct.seller.height = before - 100
    await kinds(direct)
    assert (await kinds(direct))[-1] == "channel.lease_not_extended"
    assert (await told(direct))[-1][1]["reason"] == "price_above_limit"
    assert (await ends(direct, order), await direct.credit()) == (before, PRICE)
    await automatic(direct, order, most=PRICE)
    assert (await kinds(direct))[-1] == "channel.lease_extended"


async def test_an_account_at_its_limit_extends_nothing(
    direct: OrdersHarness, order: Order
) -> None:
    await automatic(direct, order)
    await credit.open_account(
        direct.database,
        HARBOUR,
        most_owed=PRICE - 1,
        actor="operator:a",
        now=direct.now,
    )
    direct.seller.height = await ends(direct, order) - 100
    await kinds(direct)
    assert (await kinds(direct))[-1] == "channel.lease_not_extended"
    assert (await told(direct))[-1][1]["reason"] == "credit_limit_reached"


async def test_a_lease_that_ended_unseen_is_told_why_it_did_not_go_on(
    direct: OrdersHarness, order: Order
) -> None:
    """The seller was away in its last days."""
    await automatic(direct, order)
    await direct.give_credit(PRICE)
    direct.seller.height = await ends(direct, order)
    for _ in range(3):
        events = await kinds(direct)
    assert events == ["channel.lease_ended", "channel.lease_not_extended"]
    assert (await told(direct))[-1][1]["reason"] == "not_possible"
    assert await direct.credit() == PRICE


async def test_what_shall_not_go_on_any_more_ends(
    direct: OrdersHarness, order: Order
) -> None:
    await direct.give_credit(PRICE)
    await automatic(direct, order)
    await automatic(direct, order, blocks=0, most=0)
    direct.seller.height = await ends(direct, order) - 100
    for _ in range(2):
        assert await kinds(direct) == ["channel.lease_ending"]
    assert await direct.credit() == PRICE


async def test_a_longest_lease_can_go_on_by_itself(
    direct: OrdersHarness, order: Order
) -> None:
    await automatic(direct, order, blocks=52_416, most=10**6)
    await direct.give_credit(10**6)
    before = await ends(direct, order)
    direct.seller.height = before - AUTO_BLOCKS_LEFT
    await kinds(direct)
    await kinds(direct)
    assert await ends(direct, order) == before + 52_416


async def test_only_usual_leases_go_on_by_themselves(
    direct: OrdersHarness, order: Order
) -> None:
    with pytest.raises(Malformed, match="lease_duration_blocks"):
        await automatic(direct, order, blocks=7)
    with pytest.raises(NotAllowed, match="from the auction"):
        await automatic(direct, await direct.create())


async def test_a_watch_that_lags_behind_changes_nothing(
    direct: OrdersHarness, order: Order
) -> None:
    """What it read before the lease was extended is not true any more."""
    await direct.give_credit(PRICE)
    (lease,) = await direct.database.reader.leases.running(limit=9)
    await extend(direct, order)
    async with direct.database.transaction() as tx:
        assert not await tx.leases.change(lease, replace(lease, announced=1))


async def test_every_extension_is_verified(direct: OrdersHarness, order: Order) -> None:
    await direct.give_credit(PRICE)
    made = await extend(direct, order)
    async with direct.database.transaction() as tx:
        await tx.extensions.move(made, replace(made, status=ExtensionStatus.FAILED))
    broken = [str(each) for each in await verify(direct.database)]
    assert len(broken) == 2
    assert broken[0] == f"I16: extension {made.id}: {PRICE:,} sat are booked, not 0"
    assert broken[1].endswith("2,016 blocks longer than ordered, but 0 were sold")
    failed = replace(made, status=ExtensionStatus.FAILED)
    async with direct.database.transaction() as tx:
        await tx.extensions.move(failed, made)
