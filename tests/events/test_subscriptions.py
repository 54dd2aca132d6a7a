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
from leyden.base.rules.accounts import Organization, Scope
from leyden.channels.books.verify import verify as verify_books
from leyden.errors import Conflict, Forbidden, Malformed, NotFound, TooMany
from leyden.events import log, manual_deliveries, owned_subscriptions, subscriptions
from leyden.events.dispatchers import Dispatcher
from leyden.events.rows.events import Events, Page
from leyden.events.rows.subscriptions import Subscription
from leyden.events.rules.deliveries import Answer
from leyden.events.rules.events import TYPES, Event
from leyden.events.rules.webhooks import verify
from leyden.events.subscriptions import MOST, Wanted
from tests.channels.hesitant import Hesitant
from tests.channels.mortal import Fuse, MortalDatabase
from tests.conftest import NOW
from tests.events.sending import send_all
from tests.fakes.sender import FakeSender, Received

URL = "https://hooks.harbour.test/events"
OTHER_URL = "https://hooks.shore.test/events"
TEAM, STRANGERS = "harbour", "other shore"
ALL = frozenset(Scope)
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
            luck=lambda: 0.5,
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
            self.dispatcher, TEAM, of.id, scopes=ALL, before=1 << 62, most=100
        )
        return [(each.message.type, each.message.state) for each in reversed(page)]


class Watched(MortalDatabase):
    """A database that counts how often a transaction reads events."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, Fuse(steps=0, after=False))
        self.looked = 0

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Stores]:
        async with super().transaction() as tx:
            vars(tx)["events"] = _WatchedEvents(tx.run, self)
            yield tx


class _WatchedEvents(Events):
    def __init__(self, run: Run, watched: Watched) -> None:
        super().__init__(run)
        self._watched = watched

    async def page(self, *args: Any, **kwargs: Any) -> Page:
        self._watched.looked += 1
        return await super().page(*args, **kwargs)


@pytest.fixture
async def office(db: Database, sealer: Sealer) -> Office:
    office = Office(db, sealer)
    async with db.transaction() as tx:
        for name in (TEAM, STRANGERS):
            await tx.accounts.add(Organization(id=name, name=name, created=NOW))
    return office


async def test_events_of_its_types_arrive_in_order_and_signed(office: Office) -> None:
    await office.tell("order.created")  # before there was anyone
    await office.subscribe("order.*", "node.running")
    await office.tell("order.paid", "node.stopped", "node.running")
    await office.tell("order.filled", team=STRANGERS)
    await office.work()
    assert office.got() == ["order.paid", "node.running"]
    await office.tell("order.filled")
    await office.work()
    assert office.got() == ["order.paid", "node.running", "order.filled"]
    for each in office.sender.received:
        headers = dict(each.headers)
        assert "Service-Secret" not in headers
        assert verify([office.secret], headers=headers, body=each.body, now=office.now)
        # The public library, but for its clock, which is the real one.
        signed = Webhook(office.secret).sign(
            headers["webhook-id"], office.now, each.body.decode()
        )
        assert signed in headers["webhook-signature"].split()
    logged = await log.read(office.database.reader, TEAM, TYPES, after=None, most=99)
    kept = {each.id: each for each in logged.events}
    sent = json.loads(office.sender.received[0].body)
    assert sent["data"] == TYPES["order.paid"].example
    assert kept[sent["id"]].type == "order.paid"
    assert (
        office.ids() == [each for each in kept if kept[each].type in office.got()][-3:]
    )


async def test_one_that_fails_holds_up_itself_and_no_other(office: Office) -> None:
    slow = await office.subscribe("*")
    await office.subscribe("*", url=OTHER_URL, id_="2S")
    office.sender.answers[URL] = BROKEN
    await office.tell("order.created", "order.paid")
    await office.work()
    assert office.got(OTHER_URL) == ["order.created", "order.paid"]
    assert office.got() == ["order.created"]
    await office.pass_time(seconds=5)
    assert office.got() == ["order.created"] * 2
    office.sender.answers[URL] = Answer(status=204)
    await office.tell("order.filled")  # which does not overtake, nor hurry
    await office.work()
    assert office.got() == ["order.created"] * 2
    await office.pass_time(seconds=30)
    assert office.got() == ["order.created"] * 3 + ["order.paid", "order.filled"]
    assert len(set(office.ids())) == 3
    assert await office.states(slow) == [
        ("order.created", "delivered"),
        ("order.paid", "delivered"),
        ("order.filled", "delivered"),
    ]


async def test_what_the_old_url_answers_late_does_not_pause_the_new_one(
    office: Office,
) -> None:
    made = await office.subscribe("*")

    async def late(_: Received) -> Answer:
        await office.move(made, OTHER_URL)
        return Answer(status=410)

    office.sender.answers[URL] = late
    await office.tell("order.created", "order.paid")
    await office.work()
    assert office.got() == ["order.created"]
    assert office.got(OTHER_URL) == ["order.created", "order.paid"]
    assert office.ids()[0] == office.ids(OTHER_URL)[0]
    after = await office.database.reader.subscriptions.find(made.id)
    assert after is not None
    assert (after.pause, after.failing_since) == (None, None)


async def test_another_url_gets_what_waits_at_once(office: Office) -> None:
    made = await office.subscribe("*")
    office.sender.answers[URL] = BROKEN
    await office.tell("order.created", "order.paid")
    for _ in range(5):
        await office.pass_time(hours=4)  # the next attempt is hours away
    await office.move(made, OTHER_URL)
    await office.work()
    assert office.got(OTHER_URL) == ["order.created", "order.paid"]


async def test_one_that_goes_on_is_sent_what_waits_at_once(office: Office) -> None:
    made = await office.subscribe("*")
    office.sender.answers[URL] = BROKEN
    await office.tell("order.created")
    for _ in range(5):
        await office.pass_time(hours=4)
    office.sender.received.clear()
    office.sender.answers[URL] = Answer(status=204)
    await office.stop(made, stopped=False)
    await office.work()
    assert office.got() == ["order.created"]


async def test_other_types_are_sent_from_now_on(office: Office) -> None:
    made = await office.subscribe("order.*")
    await office.tell("order.paid", *["node.running"] * 600)
    await office.work()
    await office.choose(made, "order.paid", "node.*")
    await office.work()
    assert office.got() == ["order.paid"]
    await office.tell("node.stopped", "order.filled", "order.paid")
    await office.work()
    assert office.got()[1:] == ["node.stopped", "order.paid"]


async def test_other_types_lose_nothing_that_waits(office: Office) -> None:
    made = await office.subscribe("order.*")
    office.sender.answers[URL] = BROKEN
    await office.tell("node.running", "order.paid", "node.stopped")
    await office.work()
    await office.choose(made, "*")
    office.sender.answers.clear()
    await office.pass_time(hours=1)
    assert office.got()[1:] == ["order.paid", "node.stopped"]


async def test_other_types_do_not_undo_what_is_to_be_sent_again(
    db: Database, sealer: Sealer, office: Office
) -> None:
    made = await office.subscribe("order.*")
    await office.tell("order.paid", "node.running")
    await office.work()

    async def resend() -> None:
        await manual_deliveries.resend(
            office.dispatcher, TEAM, made.id, "", scopes=ALL, actor="test"
        )

    hasty = Office(cast("Database", Hesitant(db, resend)), sealer)
    await hasty.choose(made, "*")
    await office.work()
    assert office.got()[1:] == ["order.paid", "node.running"]


async def test_what_is_given_up_can_be_sent_again_from_any_event(
    office: Office,
) -> None:
    made = await office.subscribe("*")
    office.sender.answers[URL] = Answer(status=400)
    await office.tell("order.created", "order.paid")
    await office.work()
    for _ in range(40):
        await office.pass_time(hours=12)
    assert ("order.created", "failed") in await office.states(made)
    found = await owned_subscriptions.get(office.database.reader, TEAM, made.id, ALL)
    assert found.pause is not None
    office.sender.received.clear()
    office.sender.answers[URL] = Answer(status=200)
    await manual_deliveries.resend(
        office.dispatcher, TEAM, made.id, "", scopes=ALL, actor="test"
    )
    await office.work()
    assert office.got() == []  # still paused
    await subscriptions.change(
        office.dispatcher,
        TEAM,
        made.id,
        Wanted(stopped=False),
        scopes=ALL,
        actor="test",
    )
    await office.work()
    assert office.got() == ["order.created", "order.paid"]
    assert len(set(office.ids())) == 2


async def test_its_owner_stops_it_and_it_goes_on_where_it_was(office: Office) -> None:
    made = await office.subscribe("*")
    await office.stop(made, stopped=True)
    await office.tell("order.created", "order.paid")
    await office.work()
    assert office.got() == []
    await office.stop(made, stopped=False)
    await office.work()
    assert office.got() == ["order.created", "order.paid"]


async def test_one_that_was_stopped_for_longer_than_events_are_kept_gets_the_rest(
    office: Office,
) -> None:
    made = await office.subscribe("order.*")
    await office.stop(made, stopped=True)
    old = 503  # more than one look takes in
    await office.tell(*["order.paid"] * old)
    before = office.now + timedelta(seconds=1)
    office.now += timedelta(days=91)
    await office.tell("order.filled", "node.running")
    async with office.database.transaction() as tx:
        assert await tx.events.delete(TEAM, before=before, most=2 * old) == old
    await office.stop(made, stopped=False)
    await office.work()
    assert office.got() == ["order.filled"]


async def test_what_was_sent_is_sent_again_by_hand(office: Office) -> None:
    made = await office.subscribe("*")
    office.sender.answers[URL] = BROKEN
    await office.tell("order.created", "order.paid")
    await office.work()
    office.sender.answers[URL] = Answer(status=200)
    sent = await manual_deliveries.redeliver(
        office.dispatcher, TEAM, made.id, office.ids()[0], scopes=ALL, actor="test"
    )
    assert sent.message.state == "delivered"
    assert [answer.status for _, answer in sent.attempts] == [500, 200]
    await office.work()
    # It was the one that held up the rest, and is not sent a third time.
    assert office.got() == ["order.created", "order.created", "order.paid"]
    with pytest.raises(NotFound):
        await manual_deliveries.redeliver(
            office.dispatcher, TEAM, made.id, "evt_unknown", scopes=ALL, actor="test"
        )


async def test_a_test_says_that_it_is_one(office: Office) -> None:
    made = await office.subscribe("order.*")
    sent = await manual_deliveries.test(
        office.dispatcher, TEAM, made.id, "order.paid", scopes=ALL, actor="test"
    )
    (received,) = office.sender.received
    body = json.loads(received.body)
    assert body["test"] is True
    assert body["id"].startswith("test_")
    assert body["type"] == "order.paid"
    assert sent.message.state == "delivered"
    office.sender.answers[URL] = BROKEN
    failed = await manual_deliveries.test(
        office.dispatcher, TEAM, made.id, None, scopes=ALL, actor="test"
    )
    assert failed.message.state == "failed"
    await office.pass_time(days=1)
    assert len(office.sender.received) == 2, "nobody sends a test later"
    with pytest.raises(
        Malformed, match="type: must be one of the subscription's types"
    ):
        await manual_deliveries.test(
            office.dispatcher, TEAM, made.id, "node.running", scopes=ALL, actor="test"
        )
    with pytest.raises(TooMany):
        for _ in range(20):
            await manual_deliveries.test(
                office.dispatcher, TEAM, made.id, None, scopes=ALL, actor="test"
            )


async def test_resend_is_refused_when_it_was_asked_for_often(office: Office) -> None:
    made = await office.subscribe("*")
    for _ in range(20):
        await office.resend(made)
        office.now += timedelta(minutes=1)
    # Nor is there more for who creates it anew.
    await subscriptions.delete(
        office.dispatcher, TEAM, made.id, scopes=ALL, actor="test"
    )
    made = await office.subscribe("*", id_="2S")
    with pytest.raises(TooMany, match="20 times an hour") as refused:
        await office.resend(made)
    assert refused.value.retry_after_s == 40 * 60
    office.now += timedelta(minutes=41)
    await office.resend(made)


async def test_resend_has_the_pace_of_tests(office: Office) -> None:
    made = [await office.subscribe("*", id_=f"{number}S") for number in range(11)]
    for each in made[:10]:
        await office.resend(each)
    with pytest.raises(TooMany, match="tests, redeliveries and resends"):
        await office.resend(made[10])
    with pytest.raises(TooMany):
        await manual_deliveries.test(
            office.dispatcher, TEAM, made[0].id, None, scopes=ALL, actor="test"
        )


async def test_resuming_has_the_pace_of_tests_when_an_event_has_failed(
    office: Office,
) -> None:
    """Otherwise it would be a way to call a host as often as one likes."""
    made = await office.subscribe("*")
    office.sender.answers[URL] = BROKEN
    for _ in range(20):
        await office.stop(made, stopped=False)  # nothing waits: nobody is called
    await office.tell("order.paid")
    await office.work()
    for _ in range(10):
        await office.stop(made, stopped=False)
        await office.work()
    with pytest.raises(TooMany):
        await office.stop(made, stopped=False)
    with pytest.raises(TooMany):
        await office.move(made, URL + "/again")
    await office.move(made, OTHER_URL)
    await office.stop(made, stopped=True)
    assert len(office.got()) == 11


async def test_a_replaced_secret_signs_for_a_day(office: Office) -> None:
    made = await office.subscribe("*")
    rotated = await subscriptions.rotate_secret(
        office.dispatcher, TEAM, made.id, scopes=ALL, actor="test"
    )
    await office.tell("order.paid")
    await office.work()
    (received,) = office.sender.received
    headers = dict(received.headers)
    for secret in (office.secret, rotated.secret):
        assert verify([secret], headers=headers, body=received.body, now=office.now)
    await office.tell("order.filled")
    await office.pass_time(days=1, seconds=1)
    headers, body = dict(office.sender.received[-1].headers), received.body
    body = office.sender.received[-1].body
    assert not verify([office.secret], headers=headers, body=body, now=office.now)
    assert verify([rotated.secret], headers=headers, body=body, now=office.now)


async def test_a_key_subscribes_to_what_it_sees(office: Office) -> None:
    nodes = frozenset({Scope.NODE})
    made = await office.subscribe(scopes=nodes)
    assert made.types == ("backup.*", "node.*")
    with pytest.raises(Malformed, match="lacks the scope"):
        await office.subscribe("order.paid", id_="2S", scopes=nodes)
    with pytest.raises(Malformed, match="lacks the scope"):
        await office.subscribe("node.*", "key.created", id_="2S", scopes=nodes)
    whole = await office.subscribe("*", id_="3S")
    with pytest.raises(Forbidden):
        await owned_subscriptions.get(office.database.reader, TEAM, whole.id, nodes)
    assert await owned_subscriptions.list_(office.dispatcher, TEAM, nodes) == [made]
    with pytest.raises(NotFound):
        await owned_subscriptions.get(office.database.reader, STRANGERS, whole.id, ALL)


async def test_it_is_made_once_and_there_are_so_many(office: Office) -> None:
    made = await office.subscribe("*")
    secret = office.secret
    assert await office.subscribe("*") == made
    assert office.secret == secret
    for number in range(2, MOST + 1):
        await office.subscribe("*", id_=f"{number}S")
    with pytest.raises(Conflict, match=f"{MOST} subscriptions"):
        await office.subscribe("*", id_="more")
    await subscriptions.delete(
        office.dispatcher, TEAM, made.id, scopes=ALL, actor="test"
    )
    await office.tell("order.paid")
    await office.work()
    assert len(office.got()) == MOST - 1


async def test_a_resend_that_overlaps_a_delivery_is_not_lost(office: Office) -> None:
    """Its owner moves it while an event is on its way."""
    made = await office.subscribe("*")
    await office.tell("order.created", "order.paid")
    await office.work()

    async def resend(_: Received) -> Answer:
        office.sender.answers.clear()
        await manual_deliveries.resend(
            office.dispatcher, TEAM, made.id, "", scopes=ALL, actor="test"
        )
        return Answer(status=200)

    office.sender.answers[URL] = resend
    await office.tell("order.filled")
    await office.work()
    assert office.got()[2:] == [
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
    office = Office(watched, sealer)
    async with db.transaction() as tx:
        await tx.accounts.add(Organization(id=TEAM, name=TEAM, created=NOW))
    await office.subscribe("order.paid")
    await office.tell("order.paid", *["node.running"] * 1_200)
    await office.work()
    assert office.got() == ["order.paid"]
    await office.tell("order.paid", "order.paid")
    await office.work()
    assert office.got() == ["order.paid"] * 3
    assert watched.looked == 0


async def test_many_subscribe_and_write_at_once(office: Office) -> None:
    """Whoever makes one locks the log; nobody waits for each other."""
    await asyncio.gather(
        *(office.subscribe("*", id_=f"{number}S") for number in range(5)),
        *(office.tell("order.paid", "order.filled") for _ in range(10)),
    )
    await office.work()
    found = await office.database.reader.subscriptions.list_(TEAM)
    end = await log.end(office.database.reader, TEAM)
    assert end.number == 20
    assert [each.position for each in found] == [20] * 5


async def test_a_subscription_that_is_behind_without_a_task_is_found(
    office: Office,
) -> None:
    await office.subscribe("order.*")
    other = await office.subscribe("order.*", url=OTHER_URL, id_="2S")
    await office.tell("order.paid", "node.running")
    await office.work()
    await office.tell("node.stopped", "order.filled")
    assert await verify_books(office.database) == []

    async def lose_tasks() -> None:
        async with office.database.transaction() as tx:
            await tx.run(Statement("DELETE FROM task"))

    await lose_tasks()
    await office.stop(other, stopped=True)  # which makes a task, and sends nothing
    (broken,) = await verify_books(office.database)
    what = "subscription 1S is behind, and no task sends its events"
    assert str(broken) == f"I10: {what}"
    await office.tell("order.expired")
    await office.work()
    assert office.got()[1:] == ["order.filled", "order.expired"]
    assert await verify_books(office.database) == []
    await office.tell("node.running")  # of no type of theirs: no task is needed
    await lose_tasks()
    assert await verify_books(office.database) == []


async def test_a_batch_of_organizations_wakes_those_who_get_its_types_and_no_others(
    office: Office,
) -> None:
    await office.subscribe("order.*")
    await office.subscribe("node.running", url=OTHER_URL, id_="2S")
    strangers, _ = await subscriptions.create(
        office.dispatcher,
        STRANGERS,
        "3S",
        Wanted(url="https://hooks.strangers.test/", types=["order.paid"]),
        scopes=ALL,
        actor="test",
    )
    data = TYPES["order.paid"].example

    async def woken(*told: tuple[str, str]) -> list[str]:
        async with office.database.transaction() as tx:
            await tx.run(Statement("DELETE FROM task"))
        async with office.database.transaction() as tx:
            for team, kind in told:
                event = Event(organization_id=team, type=kind, data=data)
                tx.events.add(event, at=office.now)
        rows = await office.database.reader.run(Statement("SELECT key FROM task"))
        return sorted(key for (key,) in rows)

    paid, running = "order.paid", "node.running"
    assert await woken((STRANGERS, paid), ("nobody's", paid)) == [strangers.id]
    assert await woken((TEAM, paid), ("nobody's", running)) == ["1S"]
    both = await woken((TEAM, running), (STRANGERS, running), ("nobody's", running))
    assert both == ["2S"]
    assert await woken((STRANGERS, running), (STRANGERS, paid)) == [strangers.id]
