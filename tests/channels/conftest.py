from collections.abc import AsyncIterator

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.nodes.certificates.authority import Authority, open_or_create
from tests.channels.orders_harness import OrdersHarness
from tests.channels.stored_order import StoredOrder
from tests.conftest import NOW
from tests.nodes.fleet_harness import FleetHarness


@pytest.fixture
async def harness(db: Database, sealer: Sealer) -> AsyncIterator[OrdersHarness]:
    harness = OrdersHarness(database=db, sealer=sealer)
    await harness.open()
    yield harness
    await harness.settle_down()
    await harness.prove()


@pytest.fixture
def stored_order(db: Database) -> StoredOrder:
    return StoredOrder(db)


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return open_or_create(tmp_path_factory.mktemp("authority"), now=NOW)


@pytest.fixture
async def fleet_harness(
    db: Database, sealer: Sealer, authority: Authority
) -> AsyncIterator[FleetHarness]:
    fleet_harness = FleetHarness(db, sealer, authority)
    await fleet_harness.found()
    yield fleet_harness
    await fleet_harness.watching.close()
