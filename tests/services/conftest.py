from collections.abc import AsyncIterator

import pytest

from leyden.certificates.authority import Authority, open_or_create
from leyden.storage.database import Database
from leyden.storage.secrets import Sealer
from tests.conftest import NOW
from tests.services.desk import Desk
from tests.services.till import Till
from tests.services.yard import Yard


@pytest.fixture
async def till(db: Database, sealer: Sealer) -> AsyncIterator[Till]:
    till = Till(database=db, sealer=sealer)
    await till.open()
    yield till
    await till.settle_down()
    await till.prove()


@pytest.fixture
def desk(db: Database) -> Desk:
    return Desk(db)


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return open_or_create(tmp_path_factory.mktemp("authority"), now=NOW)


@pytest.fixture
async def yard(
    db: Database, sealer: Sealer, authority: Authority
) -> AsyncIterator[Yard]:
    yard = Yard(db, sealer, authority)
    await yard.found()
    yield yard
    await yard.watching.close()
