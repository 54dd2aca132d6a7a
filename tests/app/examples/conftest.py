"""A platform with nodes and channels behind one API, its customer and its operator."""

from collections.abc import AsyncIterator

import pytest

from leyden.app.endpoints import OPERATIONS, OPERATOR_OPERATIONS
from leyden.app.serving.api import Api
from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.http.operations import Operation
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.events.dispatchers import Dispatcher
from leyden.nodes.certificates.authority import Authority, open_or_create
from leyden.people import api_keys
from tests.base.api.conftest import Caller, alice, api, settings  # noqa: F401  fixtures
from tests.channels.api.flow.conftest import World, world  # noqa: F401  a fixture for channels
from tests.conftest import NOW
from tests.fakes.sender import FakeSender
from tests.nodes.fleet_harness import FleetHarness


@pytest.fixture
def db(sqlite_db: Database) -> Database:
    """One database is enough: what the services promise is shown on both."""
    return sqlite_db


@pytest.fixture
async def fleet_harness(
    db: Database, sealer: Sealer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[FleetHarness]:
    authority: Authority = open_or_create(tmp_path_factory.mktemp("ca"), now=NOW)
    fleet_harness = FleetHarness(db, sealer, authority)
    fleet_harness.offer_peer_ports("21000", host="peers.example")
    yield fleet_harness
    await fleet_harness.watching.close()


@pytest.fixture
def platform(settings: Settings, world: World, fleet_harness: FleetHarness) -> Platform:  # noqa: F811
    return Platform(
        settings=settings,
        database=world.channels.database,
        sealer=world.channels.sealer,
        clock=lambda: max(fleet_harness.now, world.channels.clock()),
        channels=world.channels,
        fleet=fleet_harness.fleet,
        dispatcher=Dispatcher(
            database=world.channels.database,
            sealer=world.channels.sealer,
            sender=FakeSender(),
            clock=world.channels.clock,
        ),
    )


@pytest.fixture
def operations() -> tuple[Operation, ...]:
    return (*OPERATIONS, *OPERATOR_OPERATIONS)


@pytest.fixture
async def opal(api: Api, platform: Platform) -> Caller:  # noqa: F811  fixtures
    """She runs the installation, and has a key of the operator API."""
    _, text = await api_keys.create_operator_key(
        platform, name="billing", expires=None, actor="test"
    )
    return Caller(api, text, "")
