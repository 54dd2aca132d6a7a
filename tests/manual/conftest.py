"""The reference and the guides, as browsers and programs ask for them."""

import pytest

from leyden.app.endpoints import OPERATIONS
from leyden.base.http.operations import Table
from leyden.base.settings import Settings
from leyden.manual.site import Manual
from tests.base.api.conftest import Caller
from tests.client.served_platform import platform  # noqa: F401  a fixture

ORIGIN = "https://leyden.example"


@pytest.fixture(scope="session")
def manual() -> Manual:
    return Manual(Table(OPERATIONS), Settings(), version="0.1.0", origins=[ORIGIN])


@pytest.fixture
def reader(manual: Manual) -> Caller:
    """Somebody without a key, and without an account."""
    return Caller(manual, None, "")  # type: ignore[arg-type]
