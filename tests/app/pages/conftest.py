from tests.base.pages.conftest import (  # noqa: F401  fixtures
    alice,
    authority,
    charlie,
    db,
    fleet_harness,
    nobody,
    platform,
    selling,
    sender,
    settings,
    site,
    world,
)
