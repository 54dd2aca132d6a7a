"""A platform with nodes and channels behind one API, for one customer's story."""

from collections.abc import AsyncIterator

import pytest

from leyden.certificates.authority import Authority, open_or_create
from leyden.services.deliveries.dispatchers import Dispatcher
from leyden.services.platform import Platform
from leyden.settings import Settings
from leyden.storage.database import Database
from leyden.storage.secrets import Sealer
from leyden.webhooks.fake import FakeSender
from tests.api.flow.conftest import World, world  # noqa: F401  a fixture for channels
from tests.conftest import NOW
from tests.services.yard import Yard


@pytest.fixture
def db(sqlite_db: Database) -> Database:
    """One database is enough: what the services promise is shown on both."""
    return sqlite_db


@pytest.fixture
async def yard(
    db: Database, sealer: Sealer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Yard]:
    authority: Authority = open_or_create(tmp_path_factory.mktemp("ca"), now=NOW)
    yard = Yard(db, sealer, authority)
    yard.offer_peer_ports("21000", host="peers.example")
    yield yard
    await yard.watching.close()


@pytest.fixture
def platform(settings: Settings, world: World, yard: Yard) -> Platform:  # noqa: F811
    return Platform(
        settings=settings,
        database=world.shop.database,
        sealer=world.shop.sealer,
        clock=lambda: max(yard.now, world.shop.clock()),
        shop=world.shop,
        fleet=yard.fleet,
        dispatcher=Dispatcher(
            database=world.shop.database,
            sealer=world.shop.sealer,
            sender=FakeSender(),
            clock=world.shop.clock,
        ),
    )
