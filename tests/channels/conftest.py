from collections.abc import AsyncIterator

import pytest

from leyden.certificates.authority import Authority, open_or_create
from leyden.storage.database import Database
from leyden.storage.secrets import Sealer
from tests.conftest import NOW
from tests.services.fleet_harness import FleetHarness
from tests.services.shop_harness import ShopHarness
from tests.services.stored_order import StoredOrder


@pytest.fixture
async def harness(db: Database, sealer: Sealer) -> AsyncIterator[ShopHarness]:
    harness = ShopHarness(database=db, sealer=sealer)
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
