"""What holds for every treasury: the fake one, and a real lnd on a private chain."""

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from datetime import timedelta

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.payments.lnd import LndPayments
from leyden.channels.payments.treasury import Treasury
from leyden.channels.rules.payments import (
    Invoice,
    InvoiceState,
    Output,
    PaymentRequest,
    PaymentUpdate,
)
from leyden.errors import NodeRefused, TreasuryAway
from leyden.operators.production import money
from leyden.values import replace
from leyden_workshop.devnet.treasury import macaroon
from tests.channels.contracts.treasuries import (
    FakeWorld,
    LndWorld,
    TreasuryHarness,
    World,
    until,
)
from tests.channels.contracts.worlds import FAKE_AND_LND
from tests.fakes.payments import FakePayments, PaymentFailed

PRICE = Sats(16_163)
HOUR = timedelta(hours=1)


@pytest.fixture(params=FAKE_AND_LND)
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    if request.param == "fake":
        yield FakeWorld()
        return
    world = LndWorld(request.getfixturevalue("treasury"))
    yield world
    await world.close()


@pytest.fixture
def order_id() -> str:
    return f"{uuid.uuid4()}FO"


@pytest.fixture
async def request_(world: World, order_id: str) -> PaymentRequest:
    return await world.payments.request(order_id, PRICE, lives=HOUR)


async def invoice_of(world: World, request: PaymentRequest) -> Invoice:
    (invoice,) = (
        each
        for each in await world.payments.lookup([request])
        if isinstance(each, Invoice)
    )
    assert invoice.payment_hash == request.payment_hash
    return invoice


async def state_of(world: World, request: PaymentRequest) -> InvoiceState:
    return (await invoice_of(world, request)).state


async def outputs_of(world: World, request: PaymentRequest) -> list[Output]:
    return [
        each
        for each in await world.payments.lookup([request])
        if isinstance(each, Output)
    ]


async def depths(world: World, request: PaymentRequest) -> list[int]:
    return sorted(each.confirmations for each in await outputs_of(world, request))


async def update_that(
    world: World, wanted: Callable[[PaymentUpdate], bool]
) -> PaymentUpdate:
    """Watch until it is told."""
    async with asyncio.timeout(30), aclosing(world.payments.watch()) as updates:
        async for update in updates:
            if wanted(update):
                return update
    raise AssertionError("the watch ended")


async def test_asking_twice_finds_the_same_invoice(
    world: World, order_id: str, request_: PaymentRequest
) -> None:
    again = await world.payments.request(order_id, PRICE, lives=HOUR)
    assert again.lightning_invoice == request_.lightning_invoice
    assert again.payment_hash == request_.payment_hash
    assert (request_.order_id, request_.sats) == (order_id, PRICE)


async def test_asking_late_finds_an_invoice_that_can_be_paid(
    world: World, order_id: str, request_: PaymentRequest
) -> None:
    """Whoever asked before died, and the invoice has expired or was cancelled since."""
    assert await world.payments.cancel(request_)
    late = await world.payments.request(order_id, PRICE, lives=HOUR)
    assert late.payment_hash != request_.payment_hash
    again = await world.payments.request(order_id, PRICE, lives=HOUR)
    assert again.lightning_invoice == late.lightning_invoice
    await world.pay(late)
    assert await world.payments.settle(late)
    assert await state_of(world, late) is InvoiceState.SETTLED
    assert await state_of(world, request_) is InvoiceState.CANCELLED


async def test_a_request_has_no_address_when_none_is_wanted(
    world: World, order_id: str
) -> None:
    request = await world.payments.request(
        order_id, PRICE, lives=HOUR, with_address=False
    )
    assert request.onchain_address == ""
    assert await world.payments.lookup([request]) == [
        Invoice(payment_hash=request.payment_hash, state=InvoiceState.OPEN)
    ]
    await world.pay(request)
    assert await world.payments.settle(request)


async def test_another_sum_is_another_invoice(
    world: World, order_id: str, request_: PaymentRequest
) -> None:
    other = await world.payments.request(order_id, Sats(PRICE + 1), lives=HOUR)
    assert other.payment_hash != request_.payment_hash
    assert other.onchain_address != request_.onchain_address


async def test_nobody_has_paid_yet(world: World, request_: PaymentRequest) -> None:
    assert await world.payments.lookup([request_]) == [
        Invoice(payment_hash=request_.payment_hash, state=InvoiceState.OPEN)
    ]


async def test_what_it_never_made_is_missing(
    world: World, request_: PaymentRequest
) -> None:
    elsewhere = replace(request_, payment_hash="00" * 31 + "01")
    assert await state_of(world, elsewhere) is InvoiceState.MISSING
    for call in (world.payments.settle(elsewhere), world.payments.cancel(elsewhere)):
        with pytest.raises(TreasuryAway, match="does not know an invoice") as raised:
            await call
        assert raised.value.message == TreasuryAway().message, "for operators alone"


async def test_a_payment_is_held_until_it_is_settled(
    world: World, request_: PaymentRequest
) -> None:
    await world.pay(request_)
    held = await invoice_of(world, request_)
    assert held.expires > 0  # the block at which the payer's lock ends
    assert replace(held, expires=0) == Invoice(
        payment_hash=request_.payment_hash, state=InvoiceState.ACCEPTED, sats=PRICE
    )
    for _ in range(2):
        assert await world.payments.settle(request_)
    assert not await world.is_kept(request_)
    assert await invoice_of(world, request_) == Invoice(
        payment_hash=request_.payment_hash, state=InvoiceState.SETTLED, sats=PRICE
    )
    assert not await world.payments.cancel(request_)


async def test_a_payment_that_is_cancelled_goes_back(
    world: World, request_: PaymentRequest
) -> None:
    await world.pay(request_)
    for _ in range(2):
        assert await world.payments.cancel(request_)
    assert await world.is_kept(request_)
    assert await state_of(world, request_) is InvoiceState.CANCELLED
    assert not await world.payments.settle(request_)


async def test_a_closed_invoice_takes_nothing(
    world: World, request_: PaymentRequest
) -> None:
    assert await world.payments.cancel(request_)
    assert await state_of(world, request_) is InvoiceState.CANCELLED
    with pytest.raises(PaymentFailed):
        await world.pay(request_)


async def test_what_nobody_paid_cannot_be_settled(
    world: World, request_: PaymentRequest
) -> None:
    assert not await world.payments.settle(request_)
    assert await state_of(world, request_) is InvoiceState.OPEN


async def test_more_than_was_asked_for_is_told_as_it_is(
    world: World, request_: PaymentRequest
) -> None:
    await world.pay(request_, PRICE + 837)
    assert (await invoice_of(world, request_)).sats == PRICE + 837
    assert await world.payments.settle(request_)
    assert (await invoice_of(world, request_)).sats == PRICE + 837


async def test_whoever_watches_hears_of_a_payment(world: World, order_id: str) -> None:
    async def is_held(request: PaymentRequest) -> None:
        update = await update_that(
            world,
            lambda each: (
                isinstance(each, Invoice)
                and each.payment_hash == request.payment_hash
                and each.state is InvoiceState.ACCEPTED
            ),
        )
        assert isinstance(update, Invoice)
        assert update.sats == PRICE

    before = await world.payments.request(order_id, PRICE, lives=HOUR)
    watching = asyncio.create_task(is_held(before))
    await asyncio.sleep(0.3)  # the streams of a real one take a moment to open
    await world.payments.lookup([before])  # as the program does when it starts
    await world.pay(before)
    await watching


async def test_coins_are_seen_and_sink_deeper(
    world: World, request_: PaymentRequest
) -> None:
    await world.send(request_.onchain_address, 10_000)
    await until(lambda: _are(world, request_, [0]))
    await world.send(request_.onchain_address, 6_163)
    await until(lambda: _are(world, request_, [0, 0]))
    await world.mine(1)
    await until(lambda: _are(world, request_, [1, 1]))
    found = await outputs_of(world, request_)
    assert sorted(each.sats for each in found) == [6_163, 10_000]
    assert {each.address for each in found} == {request_.onchain_address}
    assert len({each.outpoint for each in found}) == 2
    await world.mine(2)
    await until(lambda: _are(world, request_, [3, 3]))


async def _are(world: World, request: PaymentRequest, expected: list[int]) -> bool:
    return await depths(world, request) == expected


async def test_what_a_block_pays_its_finder_counts_once_it_can_be_spent(
    world: World, request_: PaymentRequest
) -> None:
    """Until then nobody can take it, and with its block it is gone for good."""
    await world.mine_to(request_.onchain_address, PRICE)
    await until(lambda: _are(world, request_, [0]))
    await world.mine(98)
    await until(lambda: _are(world, request_, [0]))
    await world.mine(1)
    await until(lambda: _are(world, request_, [100]))


async def test_whoever_watches_hears_of_coins_at_each_block(
    world: World, request_: PaymentRequest
) -> None:
    async def lies_deep(depth: int) -> PaymentUpdate:
        return await update_that(
            world,
            lambda each: (
                isinstance(each, Output)
                and each.address == request_.onchain_address
                and each.confirmations == depth
            ),
        )

    watching = asyncio.create_task(lies_deep(0))
    while not watching.done():
        # Of what comes while the streams of a real one open nothing is told.
        await world.send(request_.onchain_address, 16_163)
        await asyncio.wait([watching], timeout=3)
    await watching
    watching = asyncio.create_task(lies_deep(2))
    await asyncio.sleep(0.3)
    await world.mine(1)
    await world.mine(1)
    await watching


async def test_whoever_begins_to_watch_hears_of_all_coins(
    world: World, request_: PaymentRequest
) -> None:
    """However long nobody watched: what came first is told first thing."""
    await world.send(request_.onchain_address, 16_163)
    await world.mine(150)
    await until(lambda: _are(world, request_, [150]))
    for _ in range(2):
        update = await update_that(
            world,
            lambda each: (
                isinstance(each, Output) and each.address == request_.onchain_address
            ),
        )
        assert isinstance(update, Output)
        assert (update.sats, update.confirmations) == (16_163, 150)


async def test_the_chain_may_take_coins_back_and_give_them_again(
    world: World, request_: PaymentRequest
) -> None:
    await world.send(request_.onchain_address, 16_163)
    await world.mine(2)
    await until(lambda: _are(world, request_, [2]))
    before = await outputs_of(world, request_)
    await world.reorganise(2)

    async def again() -> bool:
        """It waits for a block once more, or is in one of the new ones already."""
        found = await outputs_of(world, request_)
        return [each.outpoint for each in found] == [before[0].outpoint]

    await until(again)
    await world.mine(1)
    await until(lambda: _at_least_one_deep(world, request_))
    assert [each.outpoint for each in await outputs_of(world, request_)] == [
        before[0].outpoint
    ]


@pytest.mark.parametrize("depth", [1, 2, 3])
async def test_coins_count_again_once_another_block_has_them(
    world: World, request_: PaymentRequest, depth: int
) -> None:
    """lnd's wallet forgets every second block that is undone, and counts on."""
    await world.send(request_.onchain_address, 16_163)
    await world.mine(depth)
    await until(lambda: _are(world, request_, [depth]))
    await world.unmine(depth)
    await until(lambda: _are(world, request_, [0]))
    await world.mine_nothing(3)
    assert await depths(world, request_) == [0]
    await world.mine(1)
    await until(lambda: _are(world, request_, [1]))
    update = await update_that(
        world,
        lambda each: (
            isinstance(each, Output) and each.address == request_.onchain_address
        ),
    )
    assert isinstance(update, Output)
    assert update.confirmations == 1


async def _at_least_one_deep(world: World, request: PaymentRequest) -> bool:
    return all(depth >= 1 for depth in await depths(world, request))


async def test_without_an_answer_nothing_is_said(
    world: World, request_: PaymentRequest
) -> None:
    await world.leave()
    for call in (
        world.payments.request(request_.order_id, PRICE, lives=HOUR),
        world.payments.lookup([request_]),
        world.payments.settle(request_),
        world.payments.cancel(request_),
        world.payments.identity(),
    ):
        with pytest.raises(TreasuryAway):
            await call
    with pytest.raises(TreasuryAway):
        await update_that(world, lambda _: False)


async def test_it_says_who_it_is_the_same_each_time(
    world: World, request_: PaymentRequest
) -> None:
    del request_  # whatever it is asked for
    first = await world.payments.identity()
    assert re.fullmatch(r"0[23][0-9a-f]{64}", first)
    assert await world.payments.identity() == first
    if isinstance(world, LndWorld):
        assert first != await world.customers_identity(), "another lnd is another one"


@pytest.mark.real
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/transactions", {"addr": "", "amount": "1000"}),
        ("POST", "/v1/transactions/many", {"AddrToAmount": {}}),
        ("POST", "/v1/channels/transactions", {"payment_request": ""}),
        ("POST", "/v2/router/route/send", {"payment_hash": ""}),
        ("POST", "/v1/channels", {"local_funding_amount": "1000000"}),
        ("POST", "/v1/macaroon", {"permissions": []}),
        ("POST", "/v1/signmessage", {"msg": ""}),
        ("POST", "/v2/wallet/psbt/fund", {}),
        ("GET", "/v1/channels", None),
        ("GET", "/v1/payments", None),
    ],
)
async def test_the_platforms_macaroon_spends_nothing(
    treasury: TreasuryHarness, method: str, path: str, body: dict[str, object] | None
) -> None:
    """With it everything above worked."""
    assert macaroon(treasury.home).stat().st_mode & 0o777 == 0o600
    watching = Treasury(treasury.platform_access())
    try:
        with pytest.raises(NodeRefused, match="permission denied"):
            await watching.call(method, path, body)
    finally:
        await watching.close()


@pytest.mark.real
@pytest.mark.timeout(300)
async def test_a_macaroon_that_can_pay_is_known(treasury: TreasuryHarness) -> None:
    for access, expected in (
        (treasury.platform_access(), False),
        (treasury.treasury_access(), True),
    ):
        lnd = Treasury(access)
        try:
            assert await money.can_pay(lnd) is expected
        finally:
            await lnd.close()


async def test_closing_may_be_repeated_and_payments_go_on(
    world: World, request_: PaymentRequest
) -> None:
    for _ in range(2):
        await world.payments.close()
    assert await state_of(world, request_) is InvoiceState.OPEN


async def test_what_is_in_the_treasury_is_told(
    world: World, request_: PaymentRequest
) -> None:
    assert isinstance(world.payments, FakePayments | LndPayments)
    funds = world.payments
    before = await funds.holdings()
    await world.send(request_.onchain_address, PRICE)

    async def observe() -> bool:
        return (await funds.holdings()).unconfirmed == before.unconfirmed + PRICE

    await until(observe)
    await world.mine(1)

    async def counted() -> bool:
        after = await funds.holdings()
        return after.confirmed >= before.confirmed + PRICE

    await until(counted)
    assert (await funds.holdings()).height > before.height
    assert (await funds.holdings()).in_channels is not None


async def test_orders_that_were_paid_over_lightning_are_listed(
    world: World, request_: PaymentRequest
) -> None:
    assert isinstance(world.payments, FakePayments | LndPayments)
    funds = world.payments

    async def states() -> list[InvoiceState]:
        found = await funds.paid_orders()
        ours = [each for each in found if each.order_id == request_.order_id]
        assert {each.sats for each in ours} <= {PRICE}
        assert {each.payment_hash for each in ours} <= {request_.payment_hash}
        return [each.state for each in ours]

    assert await states() == []
    await world.pay(request_)
    assert await states() == [InvoiceState.ACCEPTED]
    await world.payments.settle(request_)
    assert await states() == [InvoiceState.SETTLED]
