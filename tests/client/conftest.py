"""The library as its users have it: a platform behind real sockets."""

from collections.abc import Iterator

import pytest

from leyden.client import Client
from tests.client import served_platform as platforms
from tests.client.served_platform import ServedPlatform

platform = platforms.platform


@pytest.fixture
def leyden(platform: ServedPlatform) -> Iterator[Client]:
    with platform.client() as client:
        yield client
