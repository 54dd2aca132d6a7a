"""Commands as they are typed, each with a home of its own."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from leyden.app.main import leyden
from leyden.base import settings
from leyden.base.cli import exit_codes
from leyden.base.opening import opened
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Organization
from leyden.errors import LeydenError
from leyden.nodes.rules.nodes import Node
from tests.client import served_platform as platforms

Typed = Callable[..., Result]

platform = platforms.platform


@pytest.fixture
def typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logging_as_before: None
) -> Typed:
    """Type a command, and get what it printed; errors show as `main` shows them."""
    del logging_as_before  # commands say what is logged, and where to
    monkeypatch.setenv("LEYDEN_HOME", str(tmp_path / "home"))

    def run(*words: str, given: str | None = None) -> Result:
        result = CliRunner().invoke(leyden, words, input=given)
        if isinstance(result.exception, LeydenError):
            result.stderr_bytes += f"leyden: {result.exception.message}\n".encode()
            result.exit_code = exit_codes.code(result.exception)
        elif result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


def printed_json(result: Result) -> Any:
    """Return the object that a command printed with --json."""
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def on_platform(step: Callable[[Platform], Awaitable[Any]]) -> Any:
    """Do this on the platform that commands use, and return its result."""

    async def run() -> Any:
        async with opened(settings.load(os.environ)) as platform:
            return await step(platform)

    return asyncio.run(run())


def add_nodes(organization: str, *nodes: Node) -> None:
    """Add an organization of this name, and these nodes of it."""

    async def add(platform: Platform) -> None:
        async with platform.database.transaction() as tx:
            await tx.accounts.add(
                Organization(
                    id=nodes[0].organization_id,
                    name=organization,
                    created=platform.clock(),
                )
            )
            for node in nodes:
                assert await tx.nodes.add(node)

    on_platform(add)
