"""The whole way, nothing faked: outbox, queue, dispatcher, wire, and real receivers."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from functools import partial

import pytest
from aiohttp.abc import ResolveResult

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.rules.accounts import Organization
from leyden.base.rules.times import utc_now
from leyden.base.tasks.queues import Queue
from leyden.base.tasks.worker import Worker
from leyden.events.dispatchers import Dispatcher, deliver
from leyden.events.limits import Concurrency
from leyden.events.rows.subscriptions import NODE_WEBHOOKS
from leyden.events.webhooks.connector import Egress
from leyden.events.webhooks.sender import HttpSender
from leyden.nodes.rules.nodes import Node
from leyden.values import replace
from tests.events.webhook_harness import WebhookHarness
from tests.events.webhooks.conftest import ANYTHING, LOOPBACK, FixedResolver, Receiver
from tests.nodes.rules.nodes import NOON, a_node
from tests.waiting import until

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture
async def harness(db: Database, sealer: Sealer) -> WebhookHarness:
    harness = WebhookHarness(database=db, sealer=sealer, now=utc_now())
    await harness.open()
    return harness


class Names(FixedResolver):
    """Every name is of this machine; those that begin with `dead` get no answer."""

    def __init__(self) -> None:
        super().__init__(["127.0.0.1"])
        self.asked: set[str] = set()

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,
    ) -> list[ResolveResult]:
        self.asked.add(host)
        if host.startswith("dead"):
            await asyncio.Event().wait()
        return await super().resolve(host, port, family)


@asynccontextmanager
async def delivering(
    harness: WebhookHarness, *, at_once: int = 256
) -> AsyncIterator[Names]:
    names = Names()
    dispatcher = Dispatcher(
        database=harness.database,
        sealer=harness.sealer,
        sender=HttpSender(
            Egress(exceptions=[LOOPBACK]),
            allowed=ANYTHING,
            deadline_s=3,
            resolver=lambda: names,
        ),
        clock=utc_now,
        concurrency=Concurrency(at_once),
    )
    queue = Queue(
        kind=NODE_WEBHOOKS,
        run=partial(deliver, dispatcher),
        concurrency=at_once,
    )
    working = asyncio.create_task(
        Worker(harness.database, [queue], clock=utc_now).run(), name="worker"
    )
    try:
        yield names
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


def a_neighbour(number: int, organization_id: str = "harbour") -> Node:
    return replace(
        a_node(),
        organization_id=organization_id,
        id=f"{number:08d}-7a44-4c39-9a0e-0c1f2b7d9e55N",
        name=f"pier {number}",
        slot=100 + number,
        api_endpoint=f"pier-{number}.localhost",
    )


async def test_an_event_is_there_before_one_can_look(harness: WebhookHarness) -> None:
    with Receiver(OK) as receiver:
        node = await harness.house(url=receiver.url)
        async with delivering(harness):
            await harness.announce(node, "stopped")  # whatever is done once is done now
            await until(lambda: len(receiver.requests) == 1)
            waits = []
            for count in range(2, 12):
                await harness.announce(node, "waiting_unlock")
                began = time.monotonic()
                await until(partial(_has, receiver, count))
                waits.append(time.monotonic() - began)
    # A poller would take half a second each time.
    assert min(waits) < 0.25
    assert b'"api":"' + node.api_endpoint.encode() in receiver.requests[-1]


def _has(receiver: Receiver, requests: int) -> bool:
    return len(receiver.requests) == requests


def hang(connection: socket.socket) -> None:
    while connection.recv(4096):
        pass


def reset(connection: socket.socket) -> None:
    connection.recv(10)


def garbage(connection: socket.socket) -> None:
    connection.recv(65_536)
    connection.sendall(b"\x00\xff" * 1000)


async def test_bad_company_neither_delays_nor_stops_the_others(
    harness: WebhookHarness,
) -> None:
    with ExitStack() as stack:
        bad = [stack.enter_context(Receiver(each)) for each in (hang, reset, garbage)]
        good = stack.enter_context(Receiver(OK))
        nodes = [
            await harness.house(a_neighbour(number), url=receiver.url)
            for number, receiver in enumerate(bad * 10)
        ]
        node = await harness.house(url=good.url)
        async with delivering(harness):
            for each in nodes:
                await harness.announce(each, "stopped")
            await until(lambda: bad[0].connections == 10)
            await harness.announce(node, "waiting_unlock")
            await until(lambda: len(good.requests) == 1)
            assert bad[0].connections == 10, "none of those that hang was tried again"
            for each in nodes:
                await _failed_once(harness, each)


async def _open_reef(harness: WebhookHarness) -> None:
    """Keep a second organization, whose receivers are up to no good."""
    async with harness.database.transaction() as tx:
        await tx.accounts.add(Organization(id="reef", name="Reef", created=NOON))


async def test_a_hundred_dead_names_of_one_delay_no_event_of_another(
    harness: WebhookHarness,
) -> None:
    await _open_reef(harness)
    with Receiver(OK) as good:
        for number in range(100):
            url = f"http://dead{number}.reef.test:8000/"
            node = await harness.house(a_neighbour(number, "reef"), url=url)
            await harness.announce(node, "stopped")
        node = await harness.house(url=f"http://pier.harbour.test:{good.port}/")
        async with delivering(harness) as names:
            await until(lambda: len(names.asked) == 100)
            await harness.announce(node, "waiting_unlock")
            await until(lambda: len(good.requests) == 1)


async def test_one_whose_receivers_all_hang_leaves_room_for_others(
    harness: WebhookHarness,
) -> None:
    await _open_reef(harness)
    with Receiver(hang) as bad, Receiver(OK) as good:
        for number in range(20):
            node = await harness.house(a_neighbour(number, "reef"), url=bad.url)
            await harness.announce(node, "stopped")
        node = await harness.house(url=good.url)
        async with delivering(harness, at_once=8):
            await until(lambda: bad.connections == 4)
            await harness.announce(node, "waiting_unlock")
            await until(lambda: len(good.requests) == 1)
            assert bad.connections < 20, "before all of theirs had their turn"
            # Whoever was put off has its turn.
            await until(lambda: bad.connections >= 20, within_s=40)


async def _failed_once(harness: WebhookHarness, node: Node) -> None:
    async with asyncio.timeout(20):
        while True:
            (stored,) = await harness.deliveries(node)
            if stored.attempts:
                assert stored.message.state == "pending"
                assert stored.attempts[0].answer.error
                return
            await asyncio.sleep(0.05)
