"""A page that stays open is told when what it shows has changed."""

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from leyden.base.database.database import Database
from leyden.base.pages.changes import after_commits
from leyden.base.pages.open_streams import LIMIT
from leyden.base.platform import Platform
from leyden.base.rules.times import utc_now
from leyden.nodes.rules.observations import LndState
from leyden.people import team
from tests.base.pages.visitor import HOST, Visitor
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.test_nodes import made

CHANGED = b"event: changed\ndata: 1\n\n"


class Stream:
    """What comes of one stream of events."""

    def __init__(self) -> None:
        self.got: list[bytes] = []
        self.left = asyncio.Event()
        self.ended = asyncio.Event()
        self._more = asyncio.Event()

    async def receive(self) -> MutableMapping[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.body":
            self.got.append(message["body"])
            if not message.get("more_body"):
                self.ended.set()
        self._more.set()

    async def until_begun(self) -> None:
        async with asyncio.timeout(10):
            while b"retry: 2000\n\n" not in self.got:
                self._more.clear()
                await self._more.wait()

    async def until_changed(self) -> None:
        async with asyncio.timeout(10):
            while CHANGED not in self.got:
                self._more.clear()
                await self._more.wait()
        self.got.clear()


@asynccontextmanager
async def streaming(visitor: Visitor, path: str) -> AsyncIterator[Stream]:
    stream = Stream()
    path, _, query = path.partition("?")
    cookie = "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())
    scope = {
        "type": "http",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(b"host", HOST.encode()), (b"cookie", cookie.encode())],
        "client": (visitor.address, 50_000),
    }
    answering = asyncio.create_task(visitor.site(scope, stream.receive, stream.send))
    try:
        yield stream
    finally:
        stream.left.set()
        await asyncio.wait_for(answering, 10)
        assert stream.ended.is_set()


def told_at(text: str) -> str:
    """Return where a page says that its changes are told."""
    return text.split('data-changes="')[1].split('"', maxsplit=1)[0]


async def test_a_node_that_moves_is_told_of(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    page = await made(alice, fleet_harness)
    (node,) = await fleet_harness.fleet.database.reader.nodes.all_()
    url = told_at((await alice.get(page)).text)
    async with streaming(alice, url) as stream:
        fleet_harness.runtime.say(node.id, LndState.LOCKED)
        await fleet_harness.settled()
        await stream.until_changed()
    assert "The wallet is locked." in (await alice.get(page)).text


async def test_what_changed_before_the_stream_began_is_told_too(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    url = told_at((await alice.get(f"{alice.root}/nodes")).text)
    await made(alice, fleet_harness)
    async with streaming(alice, url) as stream:
        await stream.until_changed()


async def test_a_stop_of_the_platform_ends_it_at_once(alice: Visitor) -> None:
    url = told_at((await alice.get(f"{alice.root}/nodes")).text)
    async with streaming(alice, url) as stream:
        alice.site.streams.close()
        await asyncio.wait_for(stream.ended.wait(), 5)


async def test_a_person_has_so_many_streams_and_no_more(
    alice: Visitor, charlie: Visitor
) -> None:
    url = f"{alice.root}/nodes/changes"
    async with AsyncExitStack() as stack:
        for _ in range(LIMIT):
            await stack.enter_async_context(streaming(alice, url))
        await asyncio.sleep(0)
        async with asyncio.timeout(5):
            while (await alice.get(url)).status != 429:
                await asyncio.sleep(0)
        async with streaming(charlie, f"{charlie.root}/nodes/changes") as stream:
            await stream.until_begun()
    async with streaming(alice, url) as stream:
        await stream.until_begun()


async def test_who_left_the_organization_hears_of_no_change(
    alice: Visitor, bob: Visitor, fleet_harness: FleetHarness, platform: Platform
) -> None:
    url = told_at((await bob.get(f"{bob.root}/nodes")).text)
    async with streaming(bob, url) as stream:
        await stream.until_begun()
        members = await team.members(platform, bob.organization_id)
        theirs = next(it.person.id for it in members if "bob" in it.person.email)
        await alice.submit(f"{alice.root}/team/remove", {"user": theirs})
        await made(alice, fleet_harness)
        async with asyncio.timeout(10):
            await stream.ended.wait()
        assert CHANGED not in stream.got


async def test_a_browser_that_is_signed_out_does_not_ask_for_ever(
    alice: Visitor, nobody: Visitor
) -> None:
    url = f"{alice.root}/nodes/changes"
    assert (await nobody.get(url, accept="text/event-stream")).status == 204


async def test_what_the_database_shows_is_looked_at_after_commits_alone(
    db: Database,
) -> None:
    looked = 0

    async def look() -> int:
        nonlocal looked
        looked += 1
        return looked

    again = after_commits(db, look)
    once, twice = await again(), await again()
    assert once == twice
    async with db.transaction() as tx:
        await tx.tasks.put("changes", "all", due=utc_now())
    newest = await again()
    assert newest == looked
    assert newest != once
