"""The dashboard as people see it: Alice and Bob on one team, Charlie on another."""

from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from functools import cache

import pytest
from argon2 import PasswordHasher

from leyden.app.front import dashboard
from leyden.app.serving.site import Site
from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Role
from leyden.base.settings import Settings
from leyden.events.dispatchers import Dispatcher
from leyden.events.emailing import Emailing
from leyden.nodes.certificates.authority import Authority, open_or_create
from leyden.nodes.certificates.constraints import scope
from leyden.people import accounts, sign_in
from tests.base.pages.visitor import HOST, Visitor
from tests.channels.api.flow.conftest import World, world
from tests.conftest import NOW
from tests.events.emailed import emailing
from tests.fakes.sender import FakeSender
from tests.mail_server import MailServer, mail_server
from tests.nodes.fleet_harness import FleetHarness

__all__ = ["world"]  # a fixture

PASSWORD = "a lamp in the harbour"
SESSION = "leyden-session-8000"


@pytest.fixture
def db(sqlite_db: Database) -> Database:
    """One database is enough here: what the services promise is shown on both."""
    return sqlite_db


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    names = scope(["nodes.localhost", HOST.partition(":")[0]])
    return open_or_create(tmp_path_factory.mktemp("authority"), now=NOW, scope=names)


@pytest.fixture
async def fleet_harness(
    db: Database, sealer: Sealer, authority: Authority
) -> AsyncIterator[FleetHarness]:
    fleet_harness = FleetHarness(db, sealer, authority)
    yield fleet_harness
    await fleet_harness.watching.close()


@pytest.fixture
def settings() -> Settings:
    return Settings(sign_in_failures=3)


@pytest.fixture
def sender() -> FakeSender:
    return FakeSender()


@pytest.fixture
def platform(
    db: Database,
    sealer: Sealer,
    settings: Settings,
    fleet_harness: FleetHarness,
    sender: FakeSender,
) -> Platform:
    def clock() -> datetime:
        return fleet_harness.now

    return Platform(
        settings=settings,
        database=db,
        sealer=sealer,
        clock=clock,
        fleet=fleet_harness.fleet,
        dispatcher=Dispatcher(database=db, sealer=sealer, sender=sender, clock=clock),
    )


@pytest.fixture
def selling(
    settings: Settings,
    world: World,
    fleet_harness: FleetHarness,
    sender: FakeSender,
) -> Platform:
    """A platform that sells channels as well."""
    channels = world.channels
    return Platform(
        settings=settings,
        database=channels.database,
        sealer=channels.sealer,
        clock=channels.clock,
        channels=channels,
        fleet=fleet_harness.fleet,
        dispatcher=Dispatcher(
            database=channels.database,
            sealer=channels.sealer,
            sender=sender,
            clock=channels.clock,
        ),
    )


@pytest.fixture
def site(platform: Platform) -> Site:
    return dashboard(platform, version="0.1.0", origins=[f"http://{HOST}"])


async def _team(platform: Platform, name: str) -> str:
    made = await accounts.create_organization(platform, name, actor="test")
    return made.id


async def person(
    platform: Platform, site: Site, name: str, organization_id: str, role: Role
) -> Visitor:
    """Make somebody who is signed in already; their address is NAME@example.org."""
    made = await accounts.create_user(
        platform,
        f"{name}@example.org",
        password=None,
        organization_id=organization_id,
        role=role,
        actor="test",
    )
    async with platform.database.transaction() as tx:
        await tx.accounts.set_password(made.id, _digest())
        _, cookie = await sign_in.begin(
            platform,
            tx,
            made,
            is_complete=True,
            address="198.51.100.7",
            browser="a test",
            now=platform.clock(),
        )
    visitor = Visitor(site, organization_id, cookies={SESSION: cookie})
    assert (await visitor.get(f"{visitor.root}/nodes")).status == 200
    return visitor


@cache
def _digest() -> str:
    """Digest the password of everybody, so that it is quickly checked as well."""
    return PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)


@pytest.fixture
async def alice(site: Site, platform: Platform) -> Visitor:
    """She owns it."""
    team = await _team(platform, "Harbour Light")
    return await person(platform, site, "alice", team, Role.OWNER)


@pytest.fixture
async def bob(site: Site, platform: Platform, alice: Visitor) -> Visitor:
    """He is on her team, and only looks."""
    return await person(platform, site, "bob", alice.organization_id, Role.VIEWER)


@pytest.fixture
async def charlie(site: Site, platform: Platform) -> Visitor:
    """He is on another team: nothing of Alice's exists for him."""
    team = await _team(platform, "Other Shore")
    return await person(platform, site, "charlie", team, Role.OWNER)


@pytest.fixture
def nobody(site: Site) -> Visitor:
    """A visitor who is not signed in."""
    return Visitor(site)


@pytest.fixture
def served() -> Iterator[MailServer]:
    with mail_server() as served:
        yield served


@pytest.fixture
def email_sending(
    db: Database, sealer: Sealer, fleet_harness: FleetHarness, served: MailServer
) -> Emailing:
    return emailing(db, sealer, served.smtp(), lambda: fleet_harness.now)
