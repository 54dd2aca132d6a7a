"""The story of a first channel, played against the API with a simulated market."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from leyden.errors import LeydenError, Refused
from leyden_workshop.devnet.purchase import Purchase
from tests.base.api.conftest import Caller
from tests.channels.api.flow.conftest import PRICE, World


@dataclass
class NamedPlatform:
    """A buyer whose tickets the market fills as soon as they are registered."""

    world: World
    refuses: bool = False
    points: list[str] = field(default_factory=lambda: ["older:0"])

    async def register(self, ticket: str) -> None:
        if self.refuses or not self.world.market.register(ticket):
            raise Refused("the ticket is not taken")
        self.world.market.match(ticket)
        await self.world.follow_tickets()
        self.points.append(f"{ticket}:0")

    async def channels(self) -> list[dict[str, Any]]:
        return [{"channel_point": each, "active": True} for each in self.points]


@dataclass
class Payer:
    """Somebody with coins, who pays what there is to pay and nothing else."""

    world: World
    paid: list[str] = field(default_factory=list)

    async def __call__(self, invoice: str) -> None:
        (request,) = (
            each
            for each in self.world.payments.requests.values()
            if each.lightning_invoice == invoice
        )
        self.paid.append(invoice)
        self.world.payments.pay(request)


def a_purchase(
    alice: Caller, world: World, buyer: NamedPlatform
) -> tuple[Purchase, Payer, list[str]]:
    said: list[str] = []

    async def call(method: str, path: str, body: object) -> dict[str, Any]:
        assert method == "POST"
        answer = await alice.post(path, body)
        found: dict[str, Any] = answer.json()
        if answer.status != 200:
            raise Refused(found["message"])
        return found

    payer = Payer(world)
    purchase = Purchase(call=call, pay=payer, buyer=buyer, tell=said.append)
    return purchase, payer, said


async def balance(alice: Caller) -> int:
    answer = await alice.get("/flow/balance")
    credit: int = answer.json()["credit"]
    return credit


async def test_it_is_paid_over_lightning(alice: Caller, world: World) -> None:
    purchase, payer, said = a_purchase(alice, world, NamedPlatform(world))
    _, channel = await purchase.buy(1_000_000)
    assert channel["channel_point"].startswith("sidecar1")
    assert len(payer.paid) == 1
    assert f"{PRICE:,} sat to pay" in said[0]


async def test_what_credit_covers_is_not_paid_again(
    alice: Caller, world: World
) -> None:
    await world.give_credit(alice, PRICE)
    purchase, payer, said = a_purchase(alice, world, NamedPlatform(world))
    _, channel = await purchase.buy(1_000_000)
    assert channel["channel_point"].startswith("sidecar1")
    assert payer.paid == []
    assert "nothing to pay" in said[0]
    assert await balance(alice) == 0


async def test_what_credit_covers_in_part_is_paid_for_the_rest(
    alice: Caller, world: World
) -> None:
    await world.give_credit(alice, PRICE - 1_000)
    purchase, payer, said = a_purchase(alice, world, NamedPlatform(world))
    await purchase.buy(1_000_000)
    assert len(payer.paid) == 1
    assert "1,000 sat to pay" in said[0]


@pytest.mark.parametrize("credit", [0, PRICE])
async def test_an_order_whose_ticket_is_refused_is_not_left_behind(
    alice: Caller, world: World, credit: int
) -> None:
    if credit:
        await world.give_credit(alice, credit)
    buyer = NamedPlatform(world, refuses=True)
    purchase, _, _ = a_purchase(alice, world, buyer)
    with pytest.raises(Refused, match="the ticket is not taken"):
        await purchase.buy(1_000_000)
    (order,) = (await alice.get("/flow/orders")).json()["orders"]
    assert order["status"] == "cancelled"
    assert await balance(alice) == PRICE


async def test_an_order_that_cannot_be_paid_is_not_left_behind(
    alice: Caller, world: World
) -> None:
    purchase, _, _ = a_purchase(alice, world, NamedPlatform(world))

    async def broke(_: str) -> object:
        raise Refused("no coins")

    with pytest.raises(LeydenError, match="no coins"):
        await Purchase(
            call=purchase.call, pay=broke, buyer=purchase.buyer, tell=purchase.tell
        ).buy(1_000_000)
    (order,) = (await alice.get("/flow/orders")).json()["orders"]
    assert order["status"] == "cancelled"


async def test_whoever_stops_waiting_for_the_payment_leaves_no_order(
    alice: Caller, world: World
) -> None:
    purchase, _, said = a_purchase(alice, world, NamedPlatform(world))

    async def slow(_: str) -> object:
        return await asyncio.get_running_loop().create_future()

    waits = Purchase(
        call=purchase.call, pay=slow, buyer=purchase.buyer, tell=purchase.tell
    )
    making = asyncio.create_task(waits.buy(1_000_000))
    async with asyncio.timeout(10):
        while not said:
            await asyncio.sleep(0.005)
    making.cancel()
    await asyncio.gather(making, return_exceptions=True)
    (order,) = (await alice.get("/flow/orders")).json()["orders"]
    assert order["status"] == "cancelled"
