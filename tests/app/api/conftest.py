from tests.base.api.conftest import (  # noqa: F401  fixtures
    alice,
    api,
    bob,
    charlie,
    nobody,
    operations,
    platform,
    settings,
)
