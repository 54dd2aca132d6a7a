from tests.base.pages.conftest import (  # noqa: F401  fixtures
    alice,
    authority,
    bob,
    charlie,
    db,
    fleet_harness,
    platform,
    selling,
    sender,
    settings,
    site,
    world,
)
