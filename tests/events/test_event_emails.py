"""Events by email: in time, not too many, never lost, and known when sent twice."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.database.stores import Stores
from leyden.base.platform import Platform
from leyden.base.rules.accounts import (
    OF_ORGANIZATIONS,
    Membership,
    Organization,
    Person,
    Role,
    new_id,
)
from leyden.base.rules.sign_in import Session, SignedIn, UserMembership
from leyden.base.settings import Settings
from leyden.base.tasks.work import Work
from leyden.errors import NotFound
from leyden.events import event_emails, letters, owned_subscriptions
from leyden.events.emailing import FAILING, REFUSALS, Emailing
from leyden.events.rows.emails import EMAILS
from leyden.events.rows.subscriptions import SUBSCRIPTIONS
from leyden.events.rules.events import Event
from leyden.events.rules.letters import Letter
from leyden.operators.alarms import list_alarms
from leyden.people import email_choices
from tests.channels.pausing_database import PausingDatabase
from tests.conftest import NOW
from tests.events.emailed import emailing, send_emails
from tests.lock_waits import until_stuck
from tests.mail_server import MailServer, mail_server, text

TEAM, ADA = "harbour", "ada@example.org"


@dataclass
class Office:
    """Ada, who owns the team, and a mail server of hers."""

    platform: Platform
    served: MailServer
    now: datetime = NOW
    of: Emailing = field(init=False)

    def __post_init__(self) -> None:
        database, sealer = self.platform.database, self.platform.sealer
        server = self.served.smtp()
        self.of = emailing(database, sealer, server, lambda: self.now)

    async def tell(self, *names: str, kind: str = "node.failed") -> None:
        async with self.of.database.transaction() as tx:
            for name in names:
                data = {"node_id": "7N", "name": name}
                event = Event(organization_id=TEAM, type=kind, data=data)
                tx.events.add(event, at=self.now)

    async def pass_time(self, **time: float) -> None:
        self.now += timedelta(**time)
        await send_emails(self.of)

    def named(self) -> list[list[str]]:
        """The names of the nodes that each email tells of."""
        return [re.findall(r'ode "(\w+)"', text(each)) for each in self.served.taken]


@pytest.fixture
def served() -> Iterator[MailServer]:
    with mail_server() as served:
        yield served


@pytest.fixture
async def harness(db: Database, sealer: Sealer, served: MailServer) -> Office:
    given = Settings(smtp_host="127.0.0.1", smtp_from="leyden@harbour.test")
    platform = Platform(settings=given, database=db, sealer=sealer, clock=lambda: NOW)
    async with db.transaction() as tx:
        await tx.accounts.add(Organization(id=TEAM, name="Harbour", created=NOW))
        ada = Person(id="ada", email=ADA, created=NOW)
        await tx.accounts.add_person(ada, password=None)
        member = Membership(
            organization_id=TEAM, user_id="ada", role=Role.OWNER, created=NOW
        )
        await tx.accounts.join(member)
        await tx.email_links.confirm("ada", ADA, now=NOW)
        await email_choices.subscribe_to_all(platform, tx, "ada", now=NOW)
    return Office(platform, served)


async def test_a_flood_becomes_a_digest(harness: Office) -> None:
    for name in ("a", "b", "c", "d", "e"):
        await harness.tell(name)
        await harness.pass_time(minutes=1)
    assert harness.named() == [["a"], ["b"], ["c"]]  # three in an hour
    await harness.tell(*(f"n{number}" for number in range(40)))
    await harness.pass_time(minutes=50)
    assert len(harness.served.taken) == 3
    await harness.pass_time(minutes=6)
    [*_, digest] = harness.named()
    assert digest == ["d", "e", *(f"n{number}" for number in range(28))]
    assert "And 12 more: node.failed (12)." in text(harness.served.taken[-1])
    assert harness.served.subjects()[-1] == "42 events of Harbour"
    await harness.tell("f")
    await harness.pass_time(minutes=1)
    assert harness.named()[-1] == ["f"]


async def test_what_happens_at_once_is_one_email(harness: Office) -> None:
    await harness.tell("a", "b")
    await harness.pass_time()
    assert harness.named() == [["a", "b"]]


async def test_a_mail_server_that_is_away_loses_nothing(harness: Office) -> None:
    harness.served.answers["DATA"] = "451 not now"
    await harness.tell("a")
    for _ in range(FAILING):
        await harness.pass_time(hours=1)
        await harness.tell("b")
    kinds = [each.kind for each in await list_alarms(harness.platform, now=harness.now)]
    assert kinds == ["email.away"]
    tried = len(harness.served.recipients)
    await harness.pass_time()  # what is told meanwhile does not hurry it
    assert len(harness.served.recipients) == tried
    harness.served.answers["DATA"] = "250 OK"
    await harness.pass_time(hours=1)
    # What the first one holds was settled when it was tried first.
    assert harness.named() == [["a"], ["b"] * FAILING]
    assert await list_alarms(harness.platform, now=harness.now) == []


class Died(Exception):
    """The process was killed."""


class Mortal(Work):
    """A task whose process dies as it begins a transaction, after so many."""

    left = 0

    def transaction(self) -> AbstractAsyncContextManager[Stores]:
        if not self.left:
            raise Died
        self.left -= 1
        return super().transaction()


async def killed(
    harness: Office,
    kind: str,
    run: Callable[[Emailing, Work], Awaitable[None]],
    at: int,
) -> None:
    """Run what is due, and die at its transaction of this number; the claim ends."""
    async with harness.of.database.transaction() as tx:
        [claim] = await tx.tasks.claim(
            kind, now=harness.now, until=harness.now, limit=9
        )
    work = Mortal(harness.of.database, claim)
    work.left = at
    with pytest.raises(Died):
        await run(harness.of, work)


async def test_an_email_that_is_sent_twice_is_the_same(harness: Office) -> None:
    await harness.tell("a")
    await killed(harness, SUBSCRIPTIONS, event_emails.deliver, 1)
    await harness.tell("b")
    await harness.pass_time(minutes=1)
    assert harness.named() == [["a"], ["a"], ["b"]]
    first, second, third = (each["Message-ID"] for each in harness.served.taken)
    assert first == second != third


async def test_an_address_that_is_refused_for_good_gets_no_more(
    harness: Office,
) -> None:
    harness.served.answers["RCPT"] = "550 no such user"
    await harness.tell("a")
    for _ in range(5):
        await harness.pass_time(hours=1)
        await harness.tell("b")
    assert len(harness.served.recipients) == 3
    email_subscriptions = await harness.of.database.reader.email_subscriptions.list_(
        "ada"
    )
    found = await harness.of.database.reader.subscriptions.find(
        email_subscriptions[0].subscription_id
    )
    assert found is not None
    assert found.pause == "gone"


async def test_what_an_old_address_refuses_late_does_not_stop_the_new_one(
    harness: Office,
) -> None:
    """An attempt may take a minute; they changed their address meanwhile."""
    harness.served.answers["RCPT"] = "550 no such user"
    await harness.tell("a")
    for _ in range(REFUSALS - 1):
        await harness.pass_time(hours=1)
    harness.now += timedelta(hours=1)
    db = harness.of.database

    async def moved() -> None:
        async with db.transaction() as tx:
            await email_choices.resume(tx, "ada", now=harness.now)

    async with db.transaction() as tx:
        until = harness.now + timedelta(seconds=30)
        [claim] = await tx.tasks.claim(
            SUBSCRIPTIONS, now=harness.now, until=until, limit=9
        )
    await event_emails.deliver(harness.of, Work(PausingDatabase(db, moved), claim))
    harness.served.answers["RCPT"] = "250 OK"
    await harness.pass_time()
    assert harness.named() == [["a"]]


async def test_a_persons_subscription_is_no_endpoint_of_the_team(
    harness: Office,
) -> None:
    found = await harness.of.database.reader.email_subscriptions.list_("ada")
    reader = harness.of.database.reader
    assert await reader.subscriptions.list_(TEAM) == []
    assert await reader.subscriptions.count(TEAM) == 0
    with pytest.raises(NotFound):
        await owned_subscriptions.get(
            reader, TEAM, found[0].subscription_id, OF_ORGANIZATIONS
        )


async def choose(harness: Office, *types: str) -> None:
    """Choose as Ada, who is signed in."""
    session = Session(
        id=new_id(),
        user_id="ada",
        created=NOW,
        last_seen=NOW,
        expires=NOW + timedelta(days=1),
        is_complete=True,
        address="",
        browser="",
    )
    async with harness.of.database.transaction() as tx:
        await tx.sessions.add(session, digest=session.id.encode())
    team = Organization(id=TEAM, name="Harbour", created=NOW)
    who = SignedIn(
        person=Person(id="ada", email=ADA, created=NOW),
        session=session,
        memberships=(UserMembership(organization=team, role=Role.OWNER),),
        is_operator=False,
    )
    await email_choices.choose(harness.platform, who, TEAM, types, now=harness.now)


async def test_other_types_are_emailed_from_now_on(harness: Office) -> None:
    await harness.tell("a", "b", kind="node.running")
    await choose(harness, "node.failed", "node.running")
    await harness.pass_time()
    assert harness.named() == []
    await harness.tell("c", kind="node.running")
    await harness.pass_time()
    assert harness.named() == [["c"]]


async def test_other_types_lose_no_email_that_waits(harness: Office) -> None:
    harness.served.answers["DATA"] = "451 not now"
    await harness.tell("a")
    await harness.pass_time()
    await choose(harness, "node.failed", "node.running")
    harness.served.answers["DATA"] = "250 OK"
    await harness.pass_time(hours=1)
    assert harness.named() == [["a"]]


async def test_who_chooses_while_something_happens_waits_for_it(
    harness: Office, db: Database
) -> None:
    """An event locks the log, and then whom it wakes: in another order both wait."""
    await choose(harness)
    begun, go = asyncio.Event(), asyncio.Event()

    async def write() -> None:
        async with db.transaction() as tx:
            await tx.events.lock(TEAM, now=NOW)
            begun.set()
            await go.wait()
            data = {"node_id": "7N", "name": "a"}
            event = Event(organization_id=TEAM, type="node.failed", data=data)
            tx.events.add(event, at=NOW)

    writing = asyncio.create_task(write())
    await begun.wait()
    choosing = asyncio.create_task(choose(harness, "node.failed"))
    await until_stuck(db, choosing)
    go.set()
    await asyncio.gather(writing, choosing)
    await harness.tell("b")
    await harness.pass_time()
    assert harness.named() == [["b"]]


async def letter(harness: Office, lives: timedelta = timedelta(days=1)) -> None:
    async with harness.of.database.transaction() as tx:
        made = Letter(kind="test", facts={})
        sealer = harness.of.sealer
        assert await letters.queue(
            tx, sealer, made, to=ADA, lives=lives, now=harness.now
        )


async def test_a_letter_waits_for_the_mail_server_and_not_for_ever(
    harness: Office,
) -> None:
    harness.served.answers["RCPT"] = "451 not now"
    await letter(harness)
    await harness.pass_time()
    await harness.pass_time(seconds=4)
    assert len(harness.served.recipients) == 1
    await harness.pass_time(seconds=1)
    harness.served.answers["RCPT"] = "250 OK"
    await harness.pass_time(seconds=30)
    assert harness.served.subjects() == ["Test"]
    harness.served.answers["RCPT"] = "451 not now"
    await letter(harness, timedelta(minutes=1))
    await harness.pass_time()
    await harness.pass_time(minutes=2)
    harness.served.answers["RCPT"] = "250 OK"
    await harness.pass_time(hours=2)
    assert harness.served.subjects() == ["Test"]  # its link would work no more
    async with harness.of.database.transaction() as tx:
        assert not await tx.tasks.claim(
            EMAILS, now=harness.now, until=harness.now, limit=9
        )


async def test_a_letter_that_is_sent_twice_has_one_message_id(harness: Office) -> None:
    await letter(harness)
    await killed(harness, EMAILS, letters.send, 0)
    await harness.pass_time()
    first, second = (each["Message-ID"] for each in harness.served.taken)
    assert first == second


async def test_one_organization_leaves_connections_to_others(harness: Office) -> None:
    room = harness.of.concurrency
    with ExitStack() as held:
        taken = [held.enter_context(room.enter(TEAM)) for _ in range(4)]
        assert all(taken)
        await harness.tell("a")
        await harness.pass_time()
        assert harness.served.taken == []  # put off: it has its half
        await letter(harness)
        await harness.pass_time()
        assert harness.served.subjects() == ["Test"]
    await harness.pass_time(seconds=1)
    assert harness.named()[-1] == ["a"]


async def test_a_letter_is_sealed_while_it_waits(harness: Office) -> None:
    made = Letter(kind="reset", facts={"word": "lantern", "browser": "00"})
    async with harness.of.database.transaction() as tx:
        sealer = harness.of.sealer
        await letters.queue(tx, sealer, made, to=ADA, now=NOW)
        [claim] = await tx.tasks.claim(EMAILS, now=NOW, until=NOW, limit=1)
    email = await harness.of.database.reader.emails.find(claim.key)
    assert email is not None
    assert b"lantern" not in email.sealed
    assert "sealed" not in repr(email)
