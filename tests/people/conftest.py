from tests.channels.conftest import authority, fleet_harness, harness  # noqa: F401  fixtures
