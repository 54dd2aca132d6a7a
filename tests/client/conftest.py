"""The library as its users have it: a platform behind real sockets."""

from collections.abc import Iterator

import pytest

from leyden.client import Client
from tests.client import harbour as platforms
from tests.client.harbour import Harbour

harbour = platforms.harbour


@pytest.fixture
def leyden(harbour: Harbour) -> Iterator[Client]:
    with harbour.client() as client:
        yield client
