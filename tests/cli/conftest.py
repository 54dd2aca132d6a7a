"""Commands as they are typed, each with a home of its own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from leyden.cli import exit_codes
from leyden.cli.main import leyden
from leyden.errors import LeydenError
from tests.client import harbour as platforms

Typed = Callable[..., Result]

harbour = platforms.harbour


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


def told(result: Result) -> Any:
    """Return the object that a command printed with --json."""
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)
