"""Subscriptions: endpoints of an organization that get its events, in order."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

import pytest
from standardwebhooks import Webhook

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.database.statements import Run, Statement
from leyden.base.database.stores import Stores
from leyden.base.rules.accounts import OF_ORGANIZATIONS, Organization, Scope
from leyden.channels.books.verify import verify as verify_books
from leyden.errors import Conflict, Forbidden, Malformed, NotFound, TooMany
from leyden.events import log, manual_deliveries, owned_subscriptions, subscriptions
from leyden.events.dispatchers import Dispatcher
from leyden.events.rows.events import EventPage, EventRows
from leyden.events.rows.subscriptions import Subscription
from leyden.events.rules.deliveries import Answer
from leyden.events.rules.events import TYPES, Event
from leyden.events.rules.webhooks import verify
from leyden.events.subscriptions import LIMIT, Wanted
from tests.channels.failing_database import FailingDatabase, Fuse
from tests.channels.pausing_database import PausingDatabase
from tests.conftest import NOW
from tests.events.sending import send_all
from tests.fakes.sender import FakeSender, Received

URL = "https://hooks.harbour.test/events"
OTHER_URL = "https://hooks.shore.test/events"
TEAM, STRANGERS = "harbour", "other shore"
ALL = OF_ORGANIZATIONS
BROKEN = Answer(status=500)


@dataclass
class Office:
    """An organization with subscriptions, and a clock one can turn."""

    database: Database
    sealer: Sealer
    sender: FakeSender = field(default_factory=FakeSender)
    now: datetime = NOW
    dispatcher: Dispatcher = field(init=False)

    def __post_init__(self) -> None:
        self.dispatcher = Dispatcher(
            database=self.database,
            sealer=self.sealer,
            sender=self.sender,
            clock=lambda: self.now,
            jitter=lambda: 0.5,
        )

    async def subscribe(
        self,
        *types: str,
        url: str = URL,
        id_: str = "1S",
        scopes: frozenset[Scope] = ALL,
    ) -> Subscription:
        made, self.secret = await subscriptions.create(
            self.dispatcher,
            TEAM,
            id_,
            Wanted(url=url, types=types or None),
            scopes=scopes,
            actor="test",
        )
        return made

    async def stop(self, made: Subscription, *, stopped: bool) -> None:
        await self._change(made, Wanted(stopped=stopped))

    async def move(self, made: Subscription, url: str) -> None:
        await self._change(made, Wanted(url=url))

    async def resend(self, made: Subscription, after: str = "") -> None:
        await manual_deliveries.resend(
            self.dispatcher, TEAM, made.id, after, scopes=ALL, actor="test"
        )

    async def choose(self, made: Subscription, *types: str) -> None:
        await self._change(made, Wanted(types=types))

    async def _change(self, made: Subscription, wanted: Wanted) -> None:
        await subscriptions.change(
            self.dispatcher, TEAM, made.id, wanted, scopes=ALL, actor="test"
        )

    async def tell(self, *kinds: str, team: str = TEAM) -> None:
        async with self.database.transaction() as tx:
            for kind in kinds:
                data = TYPES[kind].example
                event = Event(organization_id=team, type=kind, data=data)
                tx.events.add(event, at=self.now)

    async def work(self) -> None:
        await send_all(self.dispatcher)

    async def pass_time(self, **time: float) -> None:
        self.now += timedelta(**time)
        await self.work()

    def got(self, url: str = URL) -> list[str]:
        """The types that an endpoint was sent, failures included."""
        return [
            json.loads(each.body)["type"]
            for each in self.sender.received
            if each.url == url
        ]

    def ids(self, url: str = URL) -> list[str]:
        return [
            each.headers["webhook-id"]
            for each in self.sender.received
            if each.url == url
        ]

    async def states(self, of: Subscription) -> list[tuple[str, str]]:
        _, page = await manual_deliveries.deliveries(
            self.dispatcher, TEAM, of.id, scopes=ALL, before=1 << 62, limit=100
        )
        return [(each.message.type, each.message.state) for each in reversed(page)]


class Watched(FailingDatabase):
    """A database that counts how often a transaction reads events."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, Fuse(steps=0, after=False))
        self.looked = 0

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Stores]:
        async with super().transaction() as tx:
            vars(tx)["events"] = _WatchedEvents(tx.run, self)
            yield tx


class _WatchedEvents(EventRows):
    def __init__(self, run: Run, watched: Watched) -> None:
        super().__init__(run)
        self._watched = watched

    async def page(self, *args: Any, **kwargs: Any) -> EventPage:
        self._watched.looked += 1
        return await super().page(*args, **kwargs)


@pytest.fixture
async def harness(db: Database, sealer: Sealer) -> Office:
    harness = Office(db, sealer)
    async with db.transaction() as tx:
        for name in (TEAM, STRANGERS):
            await tx.accounts.add(Organization(id=name, name=name, created=NOW))
    return harness


async def test_events_of_its_types_arrive_in_order_and_signed(harness: Office) -> None:
    await harness.tell("order.created")  # before there was anyone
    await harness.subscribe("order.*", "node.running")
    await harness.tell("order.paid", "node.stopped", "node.running")
    await harness.tell("order.filled", team=STRANGERS)
    await harness.work()
    assert harness.got() == ["order.paid", "node.running"]
    await harness.tell("order.filled")
    await harness.work()
    assert harness.got() == ["order.paid", "node.running", "order.filled"]
    for each in harness.sender.received:
        headers = dict(each.headers)
        assert "Service-Secret" not in headers
        assert verify(
            [harness.secret], headers=headers, body=each.body, now=harness.now
        )
        # The public library, but for its clock, which is the real one.
        signed = Webhook(harness.secret).sign(
            headers["webhook-id"], harness.now, each.body.decode()
        )
        assert signed in headers["webhook-signature"].split()
    logged = await log.read(harness.database.reader, TEAM, TYPES, after=None, limit=99)
    stored = {each.id: each for each in logged.events}
    sent = json.loads(harness.sender.received[0].body)
    assert sent["data"] == TYPES["order.paid"].example
    assert stored[sent["id"]].type == "order.paid"
    assert (
        harness.ids()
        == [each for each in stored if stored[each].type in harness.got()][-3:]
    )


async def test_one_that_fails_holds_up_itself_and_no_other(harness: Office) -> None:
    slow = await harness.subscribe("*")
    await harness.subscribe("*", url=OTHER_URL, id_="2S")
    harness.sender.answers[URL] = BROKEN
    await harness.tell("order.created", "order.paid")
    await harness.work()
    assert harness.got(OTHER_URL) == ["order.created", "order.paid"]
    assert harness.got() == ["order.created"]
    await harness.pass_time(seconds=5)
    assert harness.got() == ["order.created"] * 2
    harness.sender.answers[URL] = Answer(status=204)
    await harness.tell("order.filled")  # which does not overtake, nor hurry
    await harness.work()
    assert harness.got() == ["order.created"] * 2
    await harness.pass_time(seconds=30)
    assert harness.got() == ["order.created"] * 3 + ["order.paid", "order.filled"]
    assert len(set(harness.ids())) == 3
    assert await harness.states(slow) == [
        ("order.created", "delivered"),
        ("order.paid", "delivered"),
        ("order.filled", "delivered"),
    ]


async def test_what_the_old_url_answers_late_does_not_pause_the_new_one(
    harness: Office,
) -> None:
    made = await harness.subscribe("*")

    async def late(_: Received) -> Answer:
        await harness.move(made, OTHER_URL)
        return Answer(status=410)

    harness.sender.answers[URL] = late
    await harness.tell("order.created", "order.paid")
    await harness.work()
    assert harness.got() == ["order.created"]
    assert harness.got(OTHER_URL) == ["order.created", "order.paid"]
    assert harness.ids()[0] == harness.ids(OTHER_URL)[0]
    after = await harness.database.reader.subscriptions.find(made.id)
    assert after is not None
    assert (after.pause, after.failing_since) == (None, None)


async def test_another_url_gets_what_waits_at_once(harness: Office) -> None:
    made = await harness.subscribe("*")
    harness.sender.answers[URL] = BROKEN
    await harness.tell("order.created", "order.paid")
    for _ in range(5):
        await harness.pass_time(hours=4)  # the next attempt is hours away
    await harness.move(made, OTHER_URL)
    await harness.work()
    assert harness.got(OTHER_URL) == ["order.created", "order.paid"]


async def test_one_that_goes_on_is_sent_what_waits_at_once(harness: Office) -> None:
    made = await harness.subscribe("*")
    harness.sender.answers[URL] = BROKEN
    await harness.tell("order.created")
    for _ in range(5):
        await harness.pass_time(hours=4)
    harness.sender.received.clear()
    harness.sender.answers[URL] = Answer(status=204)
    await harness.stop(made, stopped=False)
    await harness.work()
    assert harness.got() == ["order.created"]


async def test_other_types_are_sent_from_now_on(harness: Office) -> None:
    made = await harness.subscribe("order.*")
    await harness.tell("order.paid", *["node.running"] * 600)
    await harness.work()
    await harness.choose(made, "order.paid", "node.*")
    await harness.work()
    assert harness.got() == ["order.paid"]
    await harness.tell("node.stopped", "order.filled", "order.paid")
    await harness.work()
    assert harness.got()[1:] == ["node.stopped", "order.paid"]


async def test_other_types_lose_nothing_that_waits(harness: Office) -> None:
    made = await harness.subscribe("order.*")
    harness.sender.answers[URL] = BROKEN
    await harness.tell("node.running", "order.paid", "node.stopped")
    await harness.work()
    await harness.choose(made, "*")
    harness.sender.answers.clear()
    await harness.pass_time(hours=1)
    assert harness.got()[1:] == ["order.paid", "node.stopped"]


async def test_other_types_do_not_undo_what_is_to_be_sent_again(
    db: Database, sealer: Sealer, harness: Office
) -> None:
    made = await harness.subscribe("order.*")
    await harness.tell("order.paid", "node.running")
    await harness.work()

    async def resend() -> None:
        await manual_deliveries.resend(
            harness.dispatcher, TEAM, made.id, "", scopes=ALL, actor="test"
        )

    hasty = Office(cast("Database", PausingDatabase(db, resend)), sealer)
    await hasty.choose(made, "*")
    await harness.work()
    assert harness.got()[1:] == ["order.paid", "node.running"]


async def test_what_is_given_up_can_be_sent_again_from_any_event(
    harness: Office,
) -> None:
    made = await harness.subscribe("*")
    harness.sender.answers[URL] = Answer(status=400)
    await harness.tell("order.created", "order.paid")
    await harness.work()
    for _ in range(40):
        await harness.pass_time(hours=12)
    assert ("order.created", "failed") in await harness.states(made)
    found = await owned_subscriptions.get(harness.database.reader, TEAM, made.id, ALL)
    assert found.pause is not None
    harness.sender.received.clear()
    harness.sender.answers[URL] = Answer(status=200)
    await manual_deliveries.resend(
        harness.dispatcher, TEAM, made.id, "", scopes=ALL, actor="test"
    )
    await harness.work()
    assert harness.got() == []  # still paused
    await subscriptions.change(
        harness.dispatcher,
        TEAM,
        made.id,
        Wanted(stopped=False),
        scopes=ALL,
        actor="test",
    )
    await harness.work()
    assert harness.got() == ["order.created", "order.paid"]
    assert len(set(harness.ids())) == 2


async def test_its_owner_stops_it_and_it_goes_on_where_it_was(harness: Office) -> None:
    made = await harness.subscribe("*")
    await harness.stop(made, stopped=True)
    await harness.tell("order.created", "order.paid")
    await harness.work()
    assert harness.got() == []
    await harness.stop(made, stopped=False)
    await harness.work()
    assert harness.got() == ["order.created", "order.paid"]


async def test_one_that_was_stopped_for_longer_than_events_are_kept_gets_the_rest(
    harness: Office,
) -> None:
    made = await harness.subscribe("order.*")
    await harness.stop(made, stopped=True)
    old = 503  # more than one look takes in
    await harness.tell(*["order.paid"] * old)
    before = harness.now + timedelta(seconds=1)
    harness.now += timedelta(days=91)
    await harness.tell("order.filled", "node.running")
    async with harness.database.transaction() as tx:
        assert await tx.events.delete(TEAM, before=before, limit=2 * old) == old
    await harness.stop(made, stopped=False)
    await harness.work()
    assert harness.got() == ["order.filled"]


async def test_what_was_sent_is_sent_again_by_hand(harness: Office) -> None:
    made = await harness.subscribe("*")
    harness.sender.answers[URL] = BROKEN
    await harness.tell("order.created", "order.paid")
    await harness.work()
    harness.sender.answers[URL] = Answer(status=200)
    sent = await manual_deliveries.redeliver(
        harness.dispatcher, TEAM, made.id, harness.ids()[0], scopes=ALL, actor="test"
    )
    assert sent.message.state == "delivered"
    assert [answer.status for _, answer in sent.attempts] == [500, 200]
    await harness.work()
    # It was the one that held up the rest, and is not sent a third time.
    assert harness.got() == ["order.created", "order.created", "order.paid"]
    with pytest.raises(NotFound):
        await manual_deliveries.redeliver(
            harness.dispatcher, TEAM, made.id, "evt_unknown", scopes=ALL, actor="test"
        )


async def test_a_test_says_that_it_is_one(harness: Office) -> None:
    made = await harness.subscribe("order.*")
    sent = await manual_deliveries.test(
        harness.dispatcher, TEAM, made.id, "order.paid", scopes=ALL, actor="test"
    )
    (received,) = harness.sender.received
    body = json.loads(received.body)
    assert body["test"] is True
    assert body["id"].startswith("test_")
    assert body["type"] == "order.paid"
    assert sent.message.state == "delivered"
    harness.sender.answers[URL] = BROKEN
    failed = await manual_deliveries.test(
        harness.dispatcher, TEAM, made.id, None, scopes=ALL, actor="test"
    )
    assert failed.message.state == "failed"
    await harness.pass_time(days=1)
    assert len(harness.sender.received) == 2, "nobody sends a test later"
    with pytest.raises(
        Malformed, match="type: must be one of the subscription's types"
    ):
        await manual_deliveries.test(
            harness.dispatcher, TEAM, made.id, "node.running", scopes=ALL, actor="test"
        )
    with pytest.raises(TooMany):
        for _ in range(20):
            await manual_deliveries.test(
                harness.dispatcher, TEAM, made.id, None, scopes=ALL, actor="test"
            )


async def test_resend_is_refused_when_it_was_asked_for_often(harness: Office) -> None:
    made = await harness.subscribe("*")
    for _ in range(20):
        await harness.resend(made)
        harness.now += timedelta(minutes=1)
    # Nor is there more for who creates it anew.
    await subscriptions.delete(
        harness.dispatcher, TEAM, made.id, scopes=ALL, actor="test"
    )
    made = await harness.subscribe("*", id_="2S")
    with pytest.raises(TooMany, match="20 times an hour") as refused:
        await harness.resend(made)
    assert refused.value.retry_after_s == 40 * 60
    harness.now += timedelta(minutes=41)
    await harness.resend(made)


async def test_resend_has_the_pace_of_tests(harness: Office) -> None:
    made = [await harness.subscribe("*", id_=f"{number}S") for number in range(11)]
    for each in made[:10]:
        await harness.resend(each)
    with pytest.raises(TooMany, match="tests, redeliveries and resends"):
        await harness.resend(made[10])
    with pytest.raises(TooMany):
        await manual_deliveries.test(
            harness.dispatcher, TEAM, made[0].id, None, scopes=ALL, actor="test"
        )


async def test_resuming_has_the_pace_of_tests_when_an_event_has_failed(
    harness: Office,
) -> None:
    """Otherwise it would be a way to call a host as often as one likes."""
    made = await harness.subscribe("*")
    harness.sender.answers[URL] = BROKEN
    for _ in range(20):
        await harness.stop(made, stopped=False)  # nothing waits: nobody is called
    await harness.tell("order.paid")
    await harness.work()
    for _ in range(10):
        await harness.stop(made, stopped=False)
        await harness.work()
    with pytest.raises(TooMany):
        await harness.stop(made, stopped=False)
    with pytest.raises(TooMany):
        await harness.move(made, URL + "/again")
    await harness.move(made, OTHER_URL)
    await harness.stop(made, stopped=True)
    assert len(harness.got()) == 11


async def test_a_replaced_secret_signs_for_a_day(harness: Office) -> None:
    made = await harness.subscribe("*")
    rotated = await subscriptions.rotate_secret(
        harness.dispatcher, TEAM, made.id, scopes=ALL, actor="test"
    )
    await harness.tell("order.paid")
    await harness.work()
    (received,) = harness.sender.received
    headers = dict(received.headers)
    for secret in (harness.secret, rotated.secret):
        assert verify([secret], headers=headers, body=received.body, now=harness.now)
    await harness.tell("order.filled")
    await harness.pass_time(days=1, seconds=1)
    headers, body = dict(harness.sender.received[-1].headers), received.body
    body = harness.sender.received[-1].body
    assert not verify([harness.secret], headers=headers, body=body, now=harness.now)
    assert verify([rotated.secret], headers=headers, body=body, now=harness.now)


async def test_a_key_subscribes_to_what_it_sees(harness: Office) -> None:
    nodes = frozenset({Scope.NODE})
    made = await harness.subscribe(scopes=nodes)
    assert made.types == ("backup.*", "node.*")
    with pytest.raises(Malformed, match="lacks the scope"):
        await harness.subscribe("order.paid", id_="2S", scopes=nodes)
    with pytest.raises(Malformed, match="lacks the scope"):
        await harness.subscribe("node.*", "key.created", id_="2S", scopes=nodes)
    complete = await harness.subscribe("*", id_="3S")
    with pytest.raises(Forbidden):
        await owned_subscriptions.get(harness.database.reader, TEAM, complete.id, nodes)
    assert await owned_subscriptions.list_(harness.dispatcher, TEAM, nodes) == [made]
    with pytest.raises(NotFound):
        await owned_subscriptions.get(
            harness.database.reader, STRANGERS, complete.id, ALL
        )


async def test_it_is_made_once_and_there_are_so_many(harness: Office) -> None:
    made = await harness.subscribe("*")
    secret = harness.secret
    assert await harness.subscribe("*") == made
    assert harness.secret == secret
    for number in range(2, LIMIT + 1):
        await harness.subscribe("*", id_=f"{number}S")
    with pytest.raises(Conflict, match=f"{LIMIT} subscriptions"):
        await harness.subscribe("*", id_="more")
    await subscriptions.delete(
        harness.dispatcher, TEAM, made.id, scopes=ALL, actor="test"
    )
    await harness.tell("order.paid")
    await harness.work()
    assert len(harness.got()) == LIMIT - 1


async def test_a_resend_that_overlaps_a_delivery_is_not_lost(harness: Office) -> None:
    """Its owner moves it while an event is on its way."""
    made = await harness.subscribe("*")
    await harness.tell("order.created", "order.paid")
    await harness.work()

    async def resend(_: Received) -> Answer:
        harness.sender.answers.clear()
        await manual_deliveries.resend(
            harness.dispatcher, TEAM, made.id, "", scopes=ALL, actor="test"
        )
        return Answer(status=200)

    harness.sender.answers[URL] = resend
    await harness.tell("order.filled")
    await harness.work()
    assert harness.got()[2:] == [
        "order.filled",
        "order.created",
        "order.paid",
        "order.filled",
    ]


async def test_the_next_event_is_looked_for_while_others_may_write(
    db: Database, sealer: Sealer
) -> None:
    """A log of a hundred thousand events would hold up all writers for long."""
    watched = Watched(db)
    harness = Office(watched, sealer)
    async with db.transaction() as tx:
        await tx.accounts.add(Organization(id=TEAM, name=TEAM, created=NOW))
    await harness.subscribe("order.paid")
    await harness.tell("order.paid", *["node.running"] * 1_200)
    await harness.work()
    assert harness.got() == ["order.paid"]
    await harness.tell("order.paid", "order.paid")
    await harness.work()
    assert harness.got() == ["order.paid"] * 3
    assert watched.looked == 0


async def test_many_subscribe_and_write_at_once(harness: Office) -> None:
    """Whoever makes one locks the log; nobody waits for each other."""
    await asyncio.gather(
        *(harness.subscribe("*", id_=f"{number}S") for number in range(5)),
        *(harness.tell("order.paid", "order.filled") for _ in range(10)),
    )
    await harness.work()
    found = await harness.database.reader.subscriptions.list_(TEAM)
    end = await log.end(harness.database.reader, TEAM)
    assert end.number == 20
    assert [each.position for each in found] == [20] * 5


async def test_a_subscription_that_is_behind_without_a_task_is_found(
    harness: Office,
) -> None:
    await harness.subscribe("order.*")
    other = await harness.subscribe("order.*", url=OTHER_URL, id_="2S")
    await harness.tell("order.paid", "node.running")
    await harness.work()
    await harness.tell("node.stopped", "order.filled")
    assert await verify_books(harness.database) == []

    async def lose_tasks() -> None:
        async with harness.database.transaction() as tx:
            await tx.run(Statement("DELETE FROM task"))

    await lose_tasks()
    await harness.stop(other, stopped=True)  # which makes a task, and sends nothing
    (broken,) = await verify_books(harness.database)
    what = "subscription 1S is behind, and no task sends its events"
    assert str(broken) == f"I10: {what}"
    await harness.tell("order.expired")
    await harness.work()
    assert harness.got()[1:] == ["order.filled", "order.expired"]
    assert await verify_books(harness.database) == []
    await harness.tell("node.running")  # of no type of theirs: no task is needed
    await lose_tasks()
    assert await verify_books(harness.database) == []


async def test_a_batch_of_organizations_wakes_those_who_get_its_types_and_no_others(
    harness: Office,
) -> None:
    await harness.subscribe("order.*")
    await harness.subscribe("node.running", url=OTHER_URL, id_="2S")
    strangers, _ = await subscriptions.create(
        harness.dispatcher,
        STRANGERS,
        "3S",
        Wanted(url="https://hooks.strangers.test/", types=["order.paid"]),
        scopes=ALL,
        actor="test",
    )
    data = TYPES["order.paid"].example

    async def woken(*answer: tuple[str, str]) -> list[str]:
        async with harness.database.transaction() as tx:
            await tx.run(Statement("DELETE FROM task"))
        async with harness.database.transaction() as tx:
            for team, kind in answer:
                event = Event(organization_id=team, type=kind, data=data)
                tx.events.add(event, at=harness.now)
        rows = await harness.database.reader.run(Statement("SELECT key FROM task"))
        return sorted(key for (key,) in rows)

    paid, running = "order.paid", "node.running"
    assert await woken((STRANGERS, paid), ("nobody's", paid)) == [strangers.id]
    assert await woken((TEAM, paid), ("nobody's", running)) == ["1S"]
    both = await woken((TEAM, running), (STRANGERS, running), ("nobody's", running))
    assert both == ["2S"]
    assert await woken((STRANGERS, running), (STRANGERS, paid)) == [strangers.id]
