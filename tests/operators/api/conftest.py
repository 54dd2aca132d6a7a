"""The operator API of a platform with nodes and channels, and its customers."""

import pytest

from leyden.app.endpoints import OPERATIONS, OPERATOR_OPERATIONS
from leyden.app.serving.api import Api
from leyden.base.http.operations import Operation
from leyden.base.platform import Platform
from leyden.people import api_keys
from tests.app.examples.conftest import (  # noqa: F401  fixtures
    db,
    fleet_harness,
    platform,
)
from tests.base.api.conftest import (  # noqa: F401  fixtures
    Caller,
    alice,
    api,
    charlie,
    nobody,
    settings,
)
from tests.channels.api.flow.conftest import world  # noqa: F401  a fixture


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
