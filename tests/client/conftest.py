"""The library as its users have it: a platform behind real sockets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from leyden.client import Client
from tests.client.harbour import Harbour


@pytest.fixture(scope="module")
def harbour(
    sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Harbour]:
    with Harbour(tmp_path_factory.mktemp("harbour"), sqlite_template).open() as opened:
        yield opened


@pytest.fixture
def leyden(harbour: Harbour) -> Iterator[Client]:
    with harbour.client() as client:
        yield client
