"""What every market promises, held by the simulated and by a real auction."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from leyden.base.rules.units import Sats
from leyden.channels.rules.pricing import Channel, NodeTier, Terms, quote
from leyden.channels.tickets.rules.tickets import NoTicket, Ticket, TicketState
from leyden.errors import MarketAway, SoldOut
from tests.channels.contracts.markets import (
    PoolWorld,
    SimulatedWorld,
    World,
    priced,
    until,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture(
    params=[
        "simulated",
        pytest.param(
            "pool",
            marks=[pytest.mark.real, pytest.mark.full, pytest.mark.timeout(300)],
        ),
    ],
)
def world(request: pytest.FixtureRequest) -> World:
    if request.param == "simulated":
        return SimulatedWorld()
    return PoolWorld(request.getfixturevalue("auction"))


@pytest_asyncio.fixture(loop_scope="session", autouse=True)
async def let_go(world: World) -> AsyncIterator[None]:
    await world.opens()
    yield
    await world.close()


def ticket(made: Ticket | NoTicket) -> Ticket:
    assert isinstance(made, Ticket), made
    return made


async def state(world: World, ref: str) -> TicketState | None:
    progress = (await world.market.progress([ref])).get(ref)
    return progress.state if progress else None


async def reaches(world: World, ref: str, wanted: TicketState) -> None:
    async def is_reached() -> bool:
        return await state(world, ref) is wanted

    await until(f"the ticket is {wanted}", is_reached)


async def reaches_submitted(world: World, ref: str) -> None:
    async def is_reached() -> bool:
        return await state(world, ref) in {TicketState.SUBMITTED, TicketState.FILLED}

    await until("the ticket is submitted", is_reached)


async def test_a_ticket_is_made_once(world: World, order_id: str) -> None:
    wish = await priced(world.market, 300_000)
    made = ticket(await world.market.offer(order_id, wish))
    assert made.text.startswith("sidecar1")
    assert ticket(await world.market.offer(order_id, wish)) == made
    assert await state(world, made.ref) is TicketState.OFFERED
    assert await world.market.withdraw(order_id, made.ref)


async def test_what_an_order_has_is_given_to_no_other_whatever_is_forgotten(
    world: World, order_id: str
) -> None:
    """Two replicas that know nothing of each other, and a life before this one."""
    wish = await priced(world.market, 300_000)
    made = {}
    for life in ("first", "second"):
        for number, market in enumerate((world.market, world.beside())):
            name = f"{order_id}, {life} life, replica {number}"
            made[name] = ticket(await market.offer(name, wish))
        await world.start_again()
    assert len({each.ref for each in made.values()}) == 4
    assert len({each.text for each in made.values()}) == 4
    for name, each in made.items():
        assert await state(world, each.ref) is TicketState.OFFERED
        assert await world.market.withdraw(name, each.ref)


async def test_each_order_has_a_ticket_of_its_own(world: World, order_id: str) -> None:
    wish = await priced(world.market, 300_000)
    first = ticket(await world.market.offer(order_id, wish))
    second = ticket(await world.market.offer(f"{order_id} too", wish))
    assert first.ref != second.ref
    assert first.text != second.text
    for number, made in enumerate((first, second)):
        assert await world.market.withdraw(order_id + number * " too", made.ref)


async def test_a_registered_ticket_is_submitted_and_filled(
    world: World, order_id: str
) -> None:
    wish = await priced(world.market, 400_000)
    made = ticket(await world.market.offer(order_id, wish))
    await world.register(made.text)
    nonces = set()

    async def submitted() -> bool:
        progress = (await world.market.progress([made.ref]))[made.ref]
        nonces.add(progress.order_nonce)
        return progress.state in {TicketState.SUBMITTED, TicketState.FILLED}

    await until("the ticket is submitted", submitted)
    await world.match(made.text)
    await reaches(world, made.ref, TicketState.FILLED)
    progress = (await world.market.progress([made.ref]))[made.ref]
    assert nonces - {""} == {progress.order_nonce}
    assert progress.lease is not None
    txid, _, output = progress.lease.channel_point.partition(":")
    assert (len(txid), output.isdecimal()) == (64, True)
    assert 0 < progress.lease.cost <= wish.pool_fee
    assert not await world.market.withdraw(order_id, made.ref)
    assert await state(world, made.ref) is TicketState.FILLED


async def test_a_start_balance_is_part_of_the_cost(world: World, order_id: str) -> None:
    wish = await priced(world.market, 500_000, self_chan_balance=Sats(20_000))
    made = ticket(await world.market.offer(order_id, wish))
    await world.register(made.text)
    await reaches_submitted(world, made.ref)
    await world.match(made.text)
    await reaches(world, made.ref, TicketState.FILLED)
    lease = (await world.market.progress([made.ref]))[made.ref].lease
    assert lease is not None
    assert lease.self_chan_balance == 20_000
    assert 20_000 < lease.cost <= wish.pool_fee + 20_000


async def test_a_ticket_nobody_registered_is_cancelled(
    world: World, order_id: str
) -> None:
    wish = await priced(world.market, 300_000)
    made = ticket(await world.market.offer(order_id, wish))
    assert await world.market.withdraw(order_id, made.ref)
    assert await world.market.withdraw(order_id, made.ref)
    assert await state(world, made.ref) is TicketState.CANCELLED


async def test_a_submitted_ticket_is_cancelled_with_its_bid(
    world: World, order_id: str
) -> None:
    terms = await world.market.terms()
    channel = Channel(capacity=Sats(300_000), node_tier=NodeTier.ANY, bps=1)
    wish = quote(channel, Terms(), terms)
    made = ticket(await world.market.offer(order_id, wish))
    await world.register(made.text)
    await reaches(world, made.ref, TicketState.SUBMITTED)
    assert await world.market.withdraw(order_id, made.ref)
    assert await state(world, made.ref) is TicketState.CANCELLED


async def test_a_ticket_that_never_was_is_withdrawn_but_not_one_that_is_lost(
    world: World, order_id: str
) -> None:
    assert await world.market.withdraw(order_id, "")
    with pytest.raises(MarketAway):
        await world.market.withdraw(order_id, "0123456789abcdef")
    assert await state(world, "0123456789abcdef") is TicketState.MISSING


async def test_there_is_room_until_there_is_none(world: World) -> None:
    wish = await priced(world.market, 300_000)
    await world.market.ready(wish)
    world.empty()
    with pytest.raises(SoldOut) as refused:
        await world.market.ready(wish)
    assert (refused.value.status, refused.value.retry_after_s) == (503, 60)


async def test_a_market_that_is_away_is_not_known(world: World, order_id: str) -> None:
    wish = await priced(world.market, 300_000)
    await world.leave()
    market = world.market
    for call in (
        market.terms(),
        market.ready(wish),
        market.offer(order_id, wish),
        market.progress(["0123456789abcdef"]),
        market.withdraw(order_id, "0123456789abcdef"),
    ):
        with pytest.raises(MarketAway):
            await call


@pytest.fixture
def order_id(request: pytest.FixtureRequest) -> str:
    return f"order of {request.node.name}"
