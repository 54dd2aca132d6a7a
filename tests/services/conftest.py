from collections.abc import AsyncIterator

import pytest

from leyden.storage.database import Database
from leyden.storage.secrets import Sealer
from tests.services.desk import Desk
from tests.services.till import Till


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
