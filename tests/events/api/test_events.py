"""`GET /events`: pages, long polls and streams of what happened."""

import asyncio
import json
from collections.abc import AsyncIterator, MutableMapping
from contextlib import ExitStack, asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest

from leyden.app.serving.api import Api
from leyden.base.database.database import Database, open_database
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.events import log
from leyden.events.rules.events import TYPES, Event, visible
from leyden.people import api_keys
from tests.base.api.conftest import Answer, Caller, caller
from tests.conftest import NOW
from tests.loop_work import Longest

SCOPED = {"node": "node.running", "flow": "order.paid"}


async def tell(
    database: Database,
    caller: Caller,
    *kinds: str,
    number: int = 1,
    at: datetime = NOW,
) -> None:
    """Log an event of each type, as the services would."""
    async with database.transaction() as tx:
        for kind in kinds * number:
            data = TYPES[kind].example
            event = Event(organization_id=caller.organization_id, type=kind, data=data)
            tx.events.add(event, at=at)


@pytest.fixture
async def start(alice: Caller) -> str:
    """The cursor after whatever Alice's own arrival was told as."""
    cursor: str = (await alice.get("/events?after=latest")).json()["cursor"]
    return cursor


async def test_events_come_oldest_first_with_a_cursor_to_go_on(
    platform: Platform, alice: Caller, start: str
) -> None:
    await tell(platform.database, alice, "order.created", "order.paid", "node.running")
    first = (await alice.get(f"/events?after={start}&limit=2")).json()
    assert [each["type"] for each in first["events"]] == ["order.created", "order.paid"]
    assert first["has_more"]
    assert first["cursor"] == first["events"][-1]["id"]
    rest = (await alice.get(f"/events?after={first['cursor']}")).json()
    assert rest == {
        "events": [
            {
                "id": rest["cursor"],
                "type": "node.running",
                "created": "2026-03-01T12:00:00.000Z",
                "organization_id": alice.organization_id,
                "data": dict(TYPES["node.running"].example),
            }
        ],
        "cursor": rest["cursor"],
        "has_more": False,
        "next_cursor": rest["cursor"],
    }
    assert (await alice.get(f"/events?after={rest['cursor']}")).json() == {
        "events": [],
        "cursor": rest["cursor"],
        "has_more": False,
        "next_cursor": rest["cursor"],
    }


async def test_events_are_found_by_node_order_and_time(
    platform: Platform, alice: Caller, start: str
) -> None:
    kinds = ("node.running", "order.paid", "key.revoked")
    await tell(platform.database, alice, *kinds)
    await tell(platform.database, alice, *kinds, at=NOW + timedelta(hours=1))
    node_id = TYPES["node.running"].example["node_id"]
    order_id = TYPES["order.paid"].example["order_id"]
    later = "2026-03-01T13:00:00Z"
    for query, expected in {
        f"node_id={node_id}": ["node.running"] * 2,
        f"order_id={order_id}": ["order.paid"] * 2,
        f"node_id={node_id}&created_after={later}": ["node.running"],
        f"created_before={later}": list(kinds),
        f"node_id={'0' * 36}N": [],
        f"node_id={node_id}&type=order.*": [],
    }.items():
        found = (await alice.get(f"/events?cursor={start}&{query}")).json()
        assert [each["type"] for each in found["events"]] == expected, query
        assert not found["has_more"]
    both = f"after={start}&cursor={start}&node_id={node_id}&limit=1"
    first = (await alice.get(f"/events?{both}")).json()
    assert first["has_more"]
    rest = f"cursor={first['next_cursor']}&node_id={node_id}"
    second = (await alice.get(f"/events?{rest}")).json()
    assert second["events"][0]["created"] == "2026-03-01T13:00:00.000Z"
    for wrong in (f"after={start}&cursor=other", "node_id=mine", "order_id=mine"):
        answer = await alice.get(f"/events?{wrong}")
        assert answer.status == 400
        assert answer.json()["field"] in wrong


async def test_a_filter_finds_what_is_far_away(
    platform: Platform, alice: Caller, start: str
) -> None:
    await tell(platform.database, alice, "order.paid", number=1_200)
    await tell(platform.database, alice, "node.running")
    node_id = TYPES["node.running"].example["node_id"]
    found = (await alice.get(f"/events?after={start}&node_id={node_id}")).json()
    assert [each["type"] for each in found["events"]] == ["node.running"]


async def test_the_first_events_are_of_the_keys_themselves(
    alice: Caller, bob: Caller, charlie: Caller
) -> None:
    body = (await bob.get("/events")).json()["events"]
    assert [each["type"] for each in body] == ["key.created", "key.created"]
    assert body[0]["data"].keys() == TYPES["key.created"].example.keys()
    assert (await alice.get("/events")).json()["events"] == body
    theirs = (await charlie.get("/events")).json()["events"]
    assert {each["organization_id"] for each in theirs} == {charlie.organization_id}


async def test_a_key_sees_what_its_scopes_are_about(
    api: Api, platform: Platform, alice: Caller, start: str
) -> None:
    await tell(platform.database, alice, *SCOPED.values(), "member.joined")
    for scope, kind in SCOPED.items():
        _, text = await api_keys.create(
            platform,
            alice.organization_id,
            name=scope,
            scopes=[scope],
            expires=None,
            actor="test",
        )
        caller = Caller(api, text, alice.organization_id)
        body = (await caller.get(f"/events?after={start}")).json()
        assert [each["type"] for each in body["events"]] == [kind]
        # Its cursor is past what it does not see.
        rest = (await caller.get(f"/events?after={body['cursor']}")).json()
        assert rest["events"] == []
        other = next(each for each in SCOPED.values() if each != kind)
        answer = await caller.get(f"/events?type={other}")
        assert answer.status == 400
        assert "lacks the scope" in answer.json()["message"]
    assert visible([]) == frozenset()


async def test_types_are_chosen_by_name_or_by_their_beginning(
    platform: Platform, alice: Caller, start: str
) -> None:
    await tell(platform.database, alice, "order.paid", "node.running", "order.filled")

    async def found(types: str) -> list[str]:
        answer = await alice.get(f"/events?after={start}&type={types}")
        return [each["type"] for each in answer.json()["events"]]

    assert await found("order.*") == ["order.paid", "order.filled"]
    assert await found("node.running,order.filled") == ["node.running", "order.filled"]
    assert await found("payment.received") == []


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("after=nonsense", "after: must be the id of an event"),
        ("after=" + "0" * 36, "after: must be the id of an event"),
        ("type=order.eaten", "type: must be types of events"),
        ("type=order.paid,,", "type: must be types of events"),
        ("type=%C3%A9", "type: must be types of events"),
        ("type=order", "type: must be types of events"),
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("wait=61", "wait"),
        ("wait=-1", "wait"),
        ("wait=1.5", "wait"),
        ("before=1", "before: is not a known parameter"),
        ("after=a&after=b", "duplicate"),
    ],
)
async def test_a_wrong_query_is_refused(alice: Caller, query: str, why: str) -> None:
    answer = await alice.get(f"/events?{query}")
    assert answer.status == 400
    assert why in answer.json()["message"]


async def test_a_long_way_is_gone_in_turns_with_others(
    platform: Platform, alice: Caller, start: str
) -> None:
    await tell(platform.database, alice, "node.running", number=5_000)
    path = f"/events?after={start}&type=order.paid"
    with Longest() as longest:
        searching = asyncio.create_task(alice.get(path))
        passes = 0
        while not searching.done():
            await asyncio.sleep(0)
            passes += 1
    found = (await searching).json()
    assert (found["events"], found["has_more"]) == ([], False)
    assert passes >= 8  # of ten windows of 500 events
    assert longest.is_short


async def test_foreign_future_and_expired_cursors_are_refused(
    platform: Platform, alice: Caller, charlie: Caller, start: str
) -> None:
    foreign = (await charlie.get("/events?after=latest")).json()["cursor"]
    refused = await alice.get(f"/events?after={foreign}")
    assert refused.status == 400
    assert "belongs to another organization" in refused.json()["message"]
    future = f"evt_{10**6:012x}{start[16:]}"
    refused = await alice.get(f"/events?after={future}")
    assert refused.status == 400
    assert "no event has this cursor yet" in refused.json()["message"]
    await tell(platform.database, alice, "order.paid", number=3)
    async with platform.database.transaction() as tx:
        own = alice.organization_id
        await tx.events.delete(own, before=NOW + timedelta(1), limit=100)
    for headers in ({}, {"accept": "text/event-stream"}):
        refused = await alice.get(f"/events?after={start}", **headers)
        assert refused.status == 410
        assert "were deleted" in refused.json()["message"]
    assert len((await alice.get("/events")).json()["events"]) == 1


async def test_nobody_reads_without_a_key(nobody: Caller) -> None:
    assert (await nobody.get("/events")).status == 401


async def test_who_waits_is_told_at_once(
    platform: Platform, alice: Caller, charlie: Caller, start: str
) -> None:
    waiting = asyncio.create_task(alice.get(f"/events?after={start}&wait=60"))
    await _until(platform, 1)
    await tell(platform.database, charlie, "order.paid")  # which is nothing to her
    await tell(platform.database, alice, "order.paid")
    async with asyncio.timeout(5):
        answer = (await waiting).json()
    assert [each["type"] for each in answer["events"]] == ["order.paid"]


async def test_who_waits_for_some_types_is_not_woken_for_others(
    platform: Platform, alice: Caller, start: str
) -> None:
    waiting = asyncio.create_task(
        alice.get(f"/events?after={start}&wait=60&type=order.paid")
    )
    await _until(platform, 1)
    await tell(platform.database, alice, "node.running")
    await tell(platform.database, alice, "order.paid")
    async with asyncio.timeout(5):
        answer = (await waiting).json()
    assert [each["type"] for each in answer["events"]] == ["order.paid"]


async def test_waiting_ends_with_an_empty_page(alice: Caller, start: str) -> None:
    answer = await alice.get(f"/events?after={start}&wait=1")
    ended = {"events": [], "cursor": start, "next_cursor": start, "has_more": False}
    assert answer.json() == ended


async def test_what_another_process_writes_is_seen_as_well(
    platform: Platform, database_url: str, alice: Caller, start: str
) -> None:
    """On SQLite no notice crosses: a command of the operator's, beside the server."""
    waiting = asyncio.create_task(alice.get(f"/events?after={start}&wait=60"))
    await _until(platform, 1)
    other = await open_database(database_url)
    await tell(other, alice, "order.paid")
    await other.close()
    async with asyncio.timeout(10):
        answer = (await waiting).json()
    assert [each["type"] for each in answer["events"]] == ["order.paid"]


async def test_who_waits_is_let_go_at_a_shutdown(
    platform: Platform, alice: Caller, start: str
) -> None:
    waiting = asyncio.create_task(alice.get(f"/events?after={start}&wait=60"))
    await _until(platform, 1)
    assert platform.tails is not None
    await platform.tails.close()
    async with asyncio.timeout(5):
        assert (await waiting).json()["events"] == []
    assert len(platform.tails) == 0


async def test_a_revoked_key_waits_no_longer(
    platform: Platform, bob: Caller, start: str
) -> None:
    waiting = asyncio.create_task(bob.get(f"/events?after={start}&wait=60"))
    await _until(platform, 1)
    for key in await platform.database.reader.keys.list_(bob.organization_id):
        await api_keys.revoke(platform, bob.organization_id, key.id, actor="test")
    async with asyncio.timeout(5):
        assert (await waiting).status in {200, 401}
    assert (await bob.get("/events")).status == 401


class TestLimits:
    @pytest.fixture
    def settings(self) -> Settings:
        return Settings(event_waits_per_key=2)

    async def test_a_key_waits_in_so_many_places(
        self, platform: Platform, alice: Caller, bob: Caller
    ) -> None:
        latest = "/events?after=latest&wait=60"
        waiting = [asyncio.create_task(alice.get(latest)) for _ in range(2)]
        await _until(platform, 2)
        for headers in ({}, {"accept": "text/event-stream"}):
            refused = await alice.get(latest, **headers)
            assert refused.status == 429
            assert "this key has 2 requests waiting" in refused.json()["message"]
        assert (await alice.get("/events")).status == 200
        assert (await bob.get("/events?after=latest&wait=1")).status == 200
        await tell(platform.database, alice, "order.paid")
        await asyncio.gather(*waiting)
        assert (await alice.get("/events?after=latest&wait=1")).status == 200

    async def test_all_keys_of_an_organization_wait_in_so_many_places(
        self, api: Api, platform: Platform, alice: Caller, charlie: Caller
    ) -> None:
        latest = "/events?after=latest&wait=60"
        own = alice.organization_id
        keys = [await caller(api, platform, own) for _ in range(6)]
        waiting = [asyncio.create_task(key.get(latest)) for key in keys[:5] * 2]
        await _until(platform, 10)
        refused = await keys[5].get(latest)
        assert refused.status == 429
        assert "your organization's keys have 10" in refused.json()["message"]
        waiting.append(asyncio.create_task(charlie.get(latest)))
        await _until(platform, 11)
        waiting[0].cancel()
        await asyncio.gather(waiting[0], return_exceptions=True)
        waiting.append(asyncio.create_task(keys[5].get(latest)))
        await _until(platform, 11)
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert len(platform.tails or ()) == 0


async def test_one_reader_of_an_organization_reads_in_a_pass_of_the_loop(
    platform: Platform, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes, finished, read, many = [0], [0], log.read, 12

    async def noting(*given: Any, **named: Any) -> log.LogPart:
        passes[-1] += 1
        part = await read(*given, **named)
        finished[0] += 1
        return part

    async def count_passes() -> None:
        while True:
            await asyncio.sleep(0)
            passes.append(0)

    monkeypatch.setattr(log, "read", noting)
    latest = "/events?after=latest&wait=60"
    waiting = [asyncio.create_task(alice.get(latest)) for _ in range(many)]
    async with asyncio.timeout(60):
        while finished[0] < many:  # and found nothing yet
            await asyncio.sleep(0.005)
    counting = asyncio.create_task(count_passes())
    passes[:] = [0]
    await tell(platform.database, alice, "node.running")
    async with asyncio.timeout(60):
        await asyncio.gather(*waiting)
    counting.cancel()
    assert sum(passes) == many
    assert max(passes) == 1


@pytest.mark.parametrize(("rest_s", "is_told"), [(0.01, True), (60, False)])
async def test_readers_rest_after_an_event_and_miss_none(
    platform: Platform,
    alice: Caller,
    monkeypatch: pytest.MonkeyPatch,
    rest_s: float,
    *,
    is_told: bool,
) -> None:
    monkeypatch.setattr("leyden.events.tails._REST_S", rest_s)
    tails = platform.tails
    assert tails is not None
    own = alice.organization_id
    with ExitStack() as stack:
        many = [stack.enter_context(tails.listening(own)).came for _ in range(4)]
        await tell(platform.database, alice, "node.running")
        async with asyncio.timeout(5):
            await asyncio.gather(*many)
    with tails.listening(own) as listener:
        await tell(platform.database, alice, "node.running")
        await asyncio.wait([listener.came], timeout=5 if is_told else 0.1)
        assert listener.came.done() is is_told


class Stream:
    """A caller's open stream."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue()
        self.left = asyncio.Event()

    async def start(self) -> Answer:
        begun = await self.messages.get()
        headers = {name.decode(): value.decode() for name, value in begun["headers"]}
        return Answer(begun["status"], headers, b"")

    async def line(self) -> bytes:
        async with asyncio.timeout(5):
            body: bytes = (await self.messages.get())["body"]
        return body


@asynccontextmanager
async def streaming(caller: Caller, path: str, **headers: str) -> AsyncIterator[Stream]:
    stream = Stream()
    path, _, query = path.partition("?")
    sent = {"x-service-auth": caller.key or "", "accept": "text/event-stream"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(n.encode(), v.encode()) for n, v in (sent | named).items()],
        "client": ("127.0.0.1", 50_000),
    }
    received = False

    async def receive() -> MutableMapping[str, Any]:
        nonlocal received
        if received:
            await stream.left.wait()
            return {"type": "http.disconnect"}
        received = True
        return {"type": "http.request", "body": b"", "more_body": False}

    running = asyncio.create_task(caller.api(scope, receive, stream.messages.put))
    yield stream
    stream.left.set()
    async with asyncio.timeout(5):
        await running


def shown(lines: bytes) -> list[tuple[str, str]]:
    """Return the id and the type of each event in a chunk."""
    found = []
    for block in lines.decode().strip().split("\n\n"):
        name, data = block.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"id: {event['id']}"
        found.append((event["id"], event["type"]))
    return found


async def test_a_stream_sends_what_was_and_what_comes(
    platform: Platform, alice: Caller, start: str
) -> None:
    await tell(platform.database, alice, "order.created", "order.paid")
    async with streaming(alice, f"/events?after={start}") as stream:
        begun = await stream.start()
        assert begun.status == 200
        assert begun.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert await stream.line() == b"retry: 2000\n\n"
        first = shown(await stream.line())
        assert [kind for _, kind in first] == ["order.created", "order.paid"]
        await _until(platform, 1)
        await tell(platform.database, alice, "node.running")
        ((last, kind),) = shown(await stream.line())
        assert kind == "node.running"
    # It goes on where it was, whatever its address says.
    path = f"/events?after={start}"
    async with streaming(alice, path, last_event_id=first[0][0]) as stream:
        await stream.start()
        await stream.line()
        assert [kind for _, kind in shown(await stream.line())] == [
            "order.paid",
            "node.running",
        ]
    async with streaming(alice, path, last_event_id=last) as stream:
        await stream.start()
        await stream.line()
        assert await stream.line() == f"id: {last}\n\n".encode()
    assert platform.tails is not None
    assert len(platform.tails) == 0


async def test_a_stream_ends_with_its_key(
    platform: Platform, bob: Caller, start: str
) -> None:
    async with streaming(bob, f"/events?after={start}") as stream:
        await stream.start()
        await _until(platform, 1)
        for key in await platform.database.reader.keys.list_(bob.organization_id):
            await api_keys.revoke(platform, bob.organization_id, key.id, actor="test")
        message: MutableMapping[str, Any] = {"more_body": True}
        async with asyncio.timeout(5):
            while message["more_body"]:
                message = await stream.messages.get()


async def _until(platform: Platform, number: int) -> None:
    """Wait until so many wait."""
    tails = platform.tails
    assert tails is not None
    async with asyncio.timeout(5):
        while len(tails) < number:
            await asyncio.sleep(0.005)
