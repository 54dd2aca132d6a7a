from tests.channels.conftest import authority, fleet_harness  # noqa: F401  fixtures
