"""The event log keeps its order, whoever writes at once."""

import asyncio
import random
from datetime import datetime, timedelta

import pytest

from leyden.base.database.database import Database, open_database
from leyden.base.database.stores import Stores
from leyden.base.rules.times import utc_now
from leyden.errors import Expired, Malformed
from leyden.events import log
from leyden.events.rows.events import EventPage, event_of
from leyden.events.rows.subscriptions import SUBSCRIPTIONS, Subscription
from leyden.events.rules import cursors
from leyden.events.rules.cursors import Cursor
from leyden.events.rules.events import TYPES, Event
from tests.lock_waits import until_stuck

ALL = frozenset(TYPES)
KEY = "key.revoked"
NODE = "node.running"


def event(team: str, number: int = 0, kind: str = KEY, *, once: str = "") -> Event:
    return Event(
        organization_id=team, type=kind, data={"key_id": f"{number}"}, once=once
    )


def subscription(id_: str, team: str, *, now: datetime) -> Subscription:
    return Subscription(
        id=id_,
        organization_id=team,
        url="https://hooks.harbour.test/events",
        description="",
        types=("*",),
        created=now,
        sealed_secret=b"",
        sealed_old_secret=None,
        old_secret_until=None,
        failing_since=None,
        pause=None,
        stopped=False,
        position=0,
        attempts=0,
        due=now,
    )


async def tell(db: Database, *events: Event, now: datetime) -> None:
    async with db.transaction() as tx:
        tx.events.add(*events, at=now)


async def whole_log(reader: Stores, team: str) -> EventPage:
    return await reader.events.page(team, ALL, after=0, until=10**6, limit=10**6)


async def numbers(reader: Stores, team: str) -> list[int]:
    return [event_of(row).number for row in (await whole_log(reader, team)).rows]


async def test_events_are_numbered_without_gaps_in_the_order_of_their_adding(
    db: Database, now: datetime
) -> None:
    async with db.transaction() as tx:
        tx.events.add(event("b", 1), event("a", 2), at=now)
        tx.events.add(event("b", 3), at=now)
    await tell(db, event("b", 4), now=now)
    page = await whole_log(db.reader, "b")
    assert (page.first, page.last) == (1, 3)
    answer = [event_of(row) for row in page.rows]
    assert [(each.number, bytes(each.data)) for each in answer] == [
        (1, b'{"key_id":"1"}'),
        (2, b'{"key_id":"3"}'),
        (3, b'{"key_id":"4"}'),
    ]
    assert [each.created for each in answer] == [now] * 3
    assert await numbers(db.reader, "a") == [1]
    assert await whole_log(db.reader, "nobody") == EventPage(1, 0, [])


async def test_several_logs_are_locked_in_the_order_of_their_ids(
    db: Database, now: datetime
) -> None:
    """In another order two of them would wait for each other."""
    begun, go = asyncio.Event(), asyncio.Event()

    async def hold_b() -> None:
        async with db.transaction() as tx:
            await tx.events.lock("b", now=now)
            begun.set()
            await go.wait()

    holding = asyncio.create_task(hold_b())
    await begun.wait()
    both = asyncio.create_task(tell(db, event("b", 1), event("a", 1), now=now))
    await until_stuck(db, both)
    later = asyncio.create_task(tell(db, event("a", 2), now=now))
    await until_stuck(db, both, later)
    assert not later.done()
    go.set()
    await asyncio.gather(holding, both, later)
    assert await numbers(db.reader, "a") == [1, 2]


async def test_subscriptions_are_woken_in_the_order_of_their_ids(
    db: Database, now: datetime
) -> None:
    """In another order, who extends its claims on them and who writes would wait."""
    async with db.transaction() as tx:
        for id_ in ("2S", "1S"):  # the order in which they are found
            await tx.subscriptions.add(subscription(id_, "a", now=now))
            await tx.tasks.put(SUBSCRIPTIONS, id_, due=now)
    begun, go = asyncio.Event(), asyncio.Event()

    async def hold_first() -> None:
        async with db.transaction() as tx:
            await tx.tasks.put(SUBSCRIPTIONS, "1S", due=now)
            begun.set()
            await go.wait()

    async def take_second() -> None:
        async with db.transaction() as tx:
            await tx.tasks.put(SUBSCRIPTIONS, "2S", due=now)

    holding = asyncio.create_task(hold_first())
    await begun.wait()
    waking = asyncio.create_task(tell(db, event("a"), now=now))
    await until_stuck(db, waking)
    taking = asyncio.create_task(take_second())
    await until_stuck(db, waking, taking)
    taken = db.is_alone or taking.done()
    go.set()
    await asyncio.gather(holding, waking, taking)
    assert taken


async def test_what_is_rolled_back_takes_no_number(db: Database, now: datetime) -> None:
    await tell(db, event("a", 1), now=now)
    with pytest.raises(ZeroDivisionError):
        async with db.transaction() as tx:
            tx.events.add(event("a", 2), at=now)
            raise ZeroDivisionError
    await tell(db, event("a", 3), now=now)
    assert await numbers(db.reader, "a") == [1, 2]
    rows = (await whole_log(db.reader, "a")).rows
    assert b"2" not in bytes(event_of(rows[1]).data)


async def test_a_reader_by_cursor_misses_nothing_while_many_write_at_once(
    db: Database, database_url: str
) -> None:
    """Numbers given out before the commit would be seen out of order here."""
    teams = [f"team {number}" for number in range(6)]
    writers, rounds = 12, 8
    jitter = random.Random(21)  # noqa: S311  it only mixes
    other = await open_database(database_url)  # of another process, as it were
    written = asyncio.Event()

    async def write(number: int) -> None:
        database = db if number % 2 else other
        for _ in range(rounds):
            some = jitter.choices(teams, k=jitter.randint(1, 4))
            async with database.transaction() as tx:
                tx.events.add(*(event(team, number) for team in some), at=utc_now())
                # A transaction that goes on for longer than those that begin later.
                for _ in range(jitter.randint(0, 3)):
                    await tx.accounts.reach()
                    await asyncio.sleep(0)

    async def read(team: str) -> list[int]:
        counts: list[int] = []
        cursor: Cursor | None = None
        while True:
            ended = written.is_set()
            part = await log.read(db.reader, team, ALL, after=cursor, limit=3)
            cursor = part.cursor
            counts += [each.number for each in part.events]
            if ended and not part.events:
                return counts
            await asyncio.sleep(0)

    async def write_all() -> None:
        await asyncio.gather(*map(write, range(writers)))
        written.set()

    writing = asyncio.create_task(write_all())
    read_by_team = await asyncio.gather(*map(read, teams))
    await writing
    await other.close()
    for team, found in zip(teams, read_by_team, strict=True):
        assert found == list(range(1, len(found) + 1)), team
    assert sum(map(len, read_by_team)) >= writers * rounds


async def test_events_of_some_types_are_found_across_many_others(
    db: Database, now: datetime
) -> None:
    quiet = [event("a", kind=NODE) for _ in range(1_100)]
    await tell(db, event("a", 1), *quiet, event("a", 2), *quiet[:3], now=now)
    found = await log.read(db.reader, "a", {KEY}, after=None, limit=10)
    assert [each.number for each in found.events] == [1]
    assert found.has_more
    found = await log.read(db.reader, "a", {KEY}, after=found.cursor, limit=10)
    assert [each.number for each in found.events] == [1_102]
    assert (found.cursor.number, found.has_more) == (1_105, False)
    again = await log.read(db.reader, "a", {KEY}, after=found.cursor, limit=10)
    assert (again.events, again.cursor) == ([], found.cursor)


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
async def test_pages_of_each_size_hold_all_events_once(
    db: Database, now: datetime, limit: int
) -> None:
    kinds = [KEY, NODE, NODE, KEY, KEY, KEY, NODE]
    await tell(db, *(event("a", kind=kind) for kind in kinds), now=now)
    found, cursor, has_more = list[int](), None, True
    while has_more:
        part = await log.read(db.reader, "a", {KEY}, after=cursor, limit=limit)
        assert len(part.events) <= limit
        found += [each.number for each in part.events]
        cursor, has_more = part.cursor, part.has_more
    assert found == [1, 4, 5, 6]
    assert cursor is not None
    assert cursor.number == 7


async def test_a_cursor_that_is_not_in_the_log_is_refused(
    db: Database, now: datetime
) -> None:
    await tell(db, event("a", 1), event("a", 2), now=now)
    end = await log.end(db.reader, "a")
    assert end.number == 2
    for cursor, why in (
        (Cursor(3, end.tag), "no event has this cursor yet"),
        (Cursor(1, end.tag), "not in the event log"),
    ):
        with pytest.raises(Malformed, match=f"^after: .*{why}"):
            await log.read(db.reader, "a", ALL, after=cursor, limit=10)
    with pytest.raises(Malformed, match="belongs to another organization"):
        cursors.parse("b", cursors.write("a", end.number, end.tag))
    for text in ("", "2", "evt_", "evt_" + "g" * 32, f"evt_{'0' * 32}\n"):
        with pytest.raises(Malformed, match=r"^after: must be"):
            cursors.parse("a", text)


async def test_old_events_are_forgotten_and_their_cursors_expire(
    db: Database, now: datetime
) -> None:
    old = now - timedelta(days=91)
    await tell(db, *(event("a", number) for number in range(5)), now=old)
    first = await log.read(db.reader, "a", ALL, after=None, limit=2)
    await tell(db, event("a", 5), now=now)
    await tell(db, event("b", 1), now=old)
    before = now - timedelta(days=90)
    assert await db.reader.events.with_old_events(before=before, limit=10) == ["a"]
    async with db.transaction() as tx:
        assert await tx.events.delete("a", before=before, limit=3) == 3
    assert await numbers(db.reader, "a") == [4, 5, 6]
    with pytest.raises(Expired, match="were deleted"):
        await log.read(db.reader, "a", ALL, after=first.cursor, limit=10)
    rest = await log.read(db.reader, "a", ALL, after=None, limit=10)
    assert [each.number for each in rest.events] == [4, 5, 6]
    async with db.transaction() as tx:
        assert await tx.events.delete("a", before=now + timedelta(1), limit=10) == 2
    # The last event of all stays, however old: it is what cursors are known by.
    assert await numbers(db.reader, "a") == [6]
    assert (
        await db.reader.events.with_old_events(before=now + timedelta(1), limit=10)
        == []
    )
    assert (
        await log.read(db.reader, "a", ALL, after=rest.cursor, limit=9)
    ).events == []


async def test_what_is_told_once_is_known(db: Database, now: datetime) -> None:
    assert await db.reader.events.logged_at("a", "update 1") is None
    await tell(db, event("a", once="update 1"), now=now)
    assert await db.reader.events.logged_at("a", "update 1") == now
    assert await db.reader.events.logged_at("b", "update 1") is None
