"""Real programs for the suites that run against them, where they have been built."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_lnd() -> Path:
    """lnd of the default version; skipped where nobody has built it yet."""
    cache = Path(os.environ.get("LEYDEN_CACHE", Path.home() / ".cache" / "leyden"))
    built = sorted(cache.glob("daemons/lnd-0.20.2-*/bin/lnd"))
    named = [Path(os.environ["LEYDEN_LND"])] if "LEYDEN_LND" in os.environ else []
    for lnd in [*named, *built]:
        if lnd.exists():
            return lnd
    pytest.skip("no lnd here: `leyden daemons build` makes one")
