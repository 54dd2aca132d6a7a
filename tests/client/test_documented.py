"""The page about the library: its examples run, and it names every method."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from leyden.client.backups import Backups
from leyden.client.flow import Flow
from leyden.client.nodes import Nodes
from leyden.client.webhooks import Webhooks
from tests.client.served_platform import ServedPlatform

PAGE = (Path(__file__).parents[2] / "docs" / "customers" / "python.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_examples_run(
    platform: ServedPlatform,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LEYDEN_URL", platform.url)
    monkeypatch.setenv("LEYDEN_KEY", platform.key)
    names: dict[str, Any] = {}
    for example in EXAMPLES:
        exec(example, names)  # noqa: S102  our own words
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "Harbour"
    # New settings restart it: the list may come before, meanwhile or after.
    assert {f"tide mill {each}" for each in ("restarting", "waiting_init")} & set(said)
    assert any(line.startswith("400 capacity: ") for line in said)
    assert "invalid_request capacity" in said
    assert "True" in said


@pytest.mark.parametrize("kind", [Nodes, Webhooks, Backups, Flow])
def test_every_method_is_named(kind: type[Any]) -> None:
    (listed,) = re.findall(
        rf"`leyden\.{kind.__name__.lower()}`\s+has\s+([^;.]+?)[;.]", PAGE
    )
    methods = [name for name, _ in inspect.getmembers(kind, inspect.isfunction)]
    public = {
        name
        for name in methods
        if not name.startswith("_") and getattr(kind, name).__name__ == name
    }
    assert set(re.findall(r"`(\w+)`", listed)) == public
