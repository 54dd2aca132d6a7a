"""Mail servers, real ones, in clear and over TLS."""

import asyncio
from collections.abc import Callable

import pytest
import uvloop

from tests.events.webhooks.conftest import Serving


def pytest_asyncio_loop_factories() -> dict[
    str, Callable[[], asyncio.AbstractEventLoop]
]:
    """Run on both loops: ours is uvloop, and what holds there must be no accident."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture(scope="session")
def mail_authority(tmp_path_factory: pytest.TempPathFactory) -> Serving:
    return Serving(tmp_path_factory.mktemp("authority"))
