"""The one reader of messages: it answers in time, and survives what comes."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from leyden.app.loops import channel_queues
from leyden.base.tasks.work import Work
from leyden.base.tasks.worker import Worker
from leyden.channels.direct.lsps1 import state
from leyden.channels.direct.lsps1.listening import listen
from leyden.channels.direct.reservations import HOUR
from leyden.channels.services import LSPS1, ChannelServices
from leyden.values import replace
from tests.channels.orders_harness import OrdersHarness
from tests.channels.test_lsps1 import OTHER, PEER, RULES, WANTED
from tests.fakes.messages import FakeMessages
from tests.waiting import until


def request(method: str, id_: str = "1", **params: Any) -> bytes:
    body = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
    return json.dumps(body).encode()


@pytest.fixture
async def messages(harness: OrdersHarness) -> FakeMessages:
    harness.seller.fill([3_000_000] * 20)
    harness.rules = replace(harness.rules, lsps1=RULES)
    async with harness.database.transaction() as tx:
        await tx.tasks.put(LSPS1, "all", due=harness.now)
    return FakeMessages()


@pytest.fixture
async def reading(
    harness: OrdersHarness, messages: FakeMessages
) -> AsyncIterator[ChannelServices]:
    """Two processes, of which one reads."""
    channels = replace(harness.channels, messages=messages)
    running = []
    for _ in range(2):
        queues = [each for each in channel_queues(channels) if each.kind == LSPS1]
        worker = Worker(harness.database, queues, clock=channels.clock)
        running.append(asyncio.create_task(worker.run()))
    await listening(messages)
    yield channels
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


async def listening(messages: FakeMessages) -> None:
    await until(lambda: messages.listeners)


async def answer(messages: FakeMessages) -> tuple[str, dict[str, Any]]:
    async with asyncio.timeout(10):
        sent = await messages.sent.get()
    return sent.peer, json.loads(sent.data)


@pytest.mark.usefixtures("reading")
async def test_one_of_two_processes_reads_and_answers_once(
    harness: OrdersHarness, messages: FakeMessages
) -> None:
    assert messages.listeners == 1
    messages.arrive(PEER, request("lsps1.create_order", **WANTED))
    peer, reported = await answer(messages)
    assert (peer, reported["result"]["order_state"]) == (PEER, "CREATED")
    messages.arrive(OTHER, request("lsps0.list_protocols"))
    assert (await answer(messages))[0] == OTHER
    assert messages.sent.empty()
    assert await harness.database.reader.lsps1_orders.unpaid() == 1


@pytest.mark.usefixtures("reading")
async def test_it_reads_on_after_garbage_and_when_the_stream_broke_off(
    messages: FakeMessages,
) -> None:
    for raw in (b"{nope", b"[" * 8_000, b"\xff" * 60_000, b"", b'{"result":1}'):
        messages.arrive(PEER, raw)
    refused = [await answer(messages) for _ in range(3)]
    assert {reported["error"]["code"] for _, reported in refused} == {-32700}
    messages.break_off()
    await until(lambda: not messages.listeners)
    await listening(messages)
    messages.arrive(PEER, request("lsps1.get_info"))
    assert "result" in (await answer(messages))[1]


@pytest.mark.usefixtures("reading")
async def test_interleaved_requests_are_answered_by_their_ids(
    messages: FakeMessages,
) -> None:
    for peer in (PEER, OTHER):
        for number in range(8):
            method = "lsps1.get_info" if number % 2 else "lsps0.list_protocols"
            messages.arrive(peer, request(method, str(number)))
    found = set()
    for _ in range(16):
        peer, reported = await answer(messages)
        assert ("protocols" in reported["result"]) is (int(reported["id"]) % 2 == 0)
        found.add((peer, reported["id"]))
    assert len(found) == 16


@pytest.mark.usefixtures("reading")
async def test_a_flood_of_one_peer_is_dropped_and_others_are_answered(
    messages: FakeMessages,
) -> None:
    for number in range(1_000):
        messages.arrive(PEER, request("lsps1.get_info", str(number)))
    messages.arrive(OTHER, request("lsps1.get_info", "mine"))
    peers = [(await answer(messages))[0] for _ in range(9)]
    assert (peers.count(PEER), peers.count(OTHER)) == (8, 1)
    assert messages.sent.empty()


@pytest.mark.usefixtures("reading")
async def test_a_peer_that_left_harms_nobody(messages: FakeMessages) -> None:
    messages.arrive(PEER, request("lsps1.get_info"))
    messages.online.clear()
    messages.arrive(OTHER, request("lsps1.get_info"))
    assert (await answer(messages))[0] == OTHER


async def test_a_reader_that_has_lost_its_claim_stores_no_order(
    harness: OrdersHarness, messages: FakeMessages
) -> None:
    until = harness.now + timedelta(seconds=30)
    async with harness.database.transaction() as tx:
        (lost,) = await tx.tasks.claim(LSPS1, now=harness.now, until=until, limit=1)
    async with harness.database.transaction() as tx:
        await tx.tasks.claim(LSPS1, now=until, until=until + HOUR, limit=1)
    channels = replace(harness.channels, messages=messages)
    reading = asyncio.create_task(listen(channels, Work(harness.database, lost)))
    try:
        await listening(messages)
        messages.arrive(PEER, request("lsps1.create_order", **WANTED))
        assert (await answer(messages))[1]["error"]["code"] == -32603
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    assert await harness.database.reader.lsps1_orders.unpaid() == 0


async def test_what_is_missing_is_told(
    harness: OrdersHarness, messages: FakeMessages
) -> None:
    channels = replace(harness.channels, messages=messages)
    found = await state.read(channels, RULES)
    assert (found.missing, found.unpaid, found.reserved) == ((), 0, 0)
    harness.seller.own_features = frozenset()
    found = await state.read(channels, replace(RULES, organization="nobody"))
    organization, announced = found.missing
    assert "no organization 'nobody'" in organization
    assert "--protocol.custom-nodeann=729" in announced
    assert found.sold["min_required_channel_confirmations"] == 1
