"""The operator API of a platform with nodes and channels, and its customers."""

from tests.app.examples.conftest import (  # noqa: F401  fixtures
    db,
    fleet_harness,
    opal,
    operations,
    platform,
)
from tests.base.api.conftest import (  # noqa: F401  fixtures
    alice,
    api,
    charlie,
    nobody,
    settings,
)
from tests.channels.api.flow.conftest import world  # noqa: F401  a fixture
