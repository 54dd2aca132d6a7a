"""The library as its users have it: a platform behind real sockets."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from leyden.client import Client
from tests.client import served_platform as platforms
from tests.client.blocked import blocked_client
from tests.client.served_platform import ServedPlatform

platform = platforms.platform


@pytest.fixture
def leyden(platform: ServedPlatform) -> Iterator[Client]:
    with platform.client() as client:
        yield client


@pytest.fixture(params=[Client, blocked_client], ids=["blocking", "asynchronous"])
def client_class(
    platform: ServedPlatform, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Any]]:
    """The blocking client, and then the other one: both keep the same promises."""
    platform.client_class = request.param
    yield request.param
    platform.client_class = Client
