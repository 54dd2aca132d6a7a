"""Customers' commands where only they are installed, also on macOS and Windows."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from leyden.app.commands import COMMANDS, HEADINGS
from tests.client.served_platform import ServedPlatform
from tests.customer.cli.other_system import installed

ROOT = Path(__file__).parents[3]
SYSTEMS = ("linux", "darwin", "win32")
NEEDS = {
    "linux": 'is not installed): pip install "leyden[server]"',
    "darwin": "this command needs Linux (there is no ",
    "win32": "this command needs Linux (there is no ",
}
Typed = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(params=SYSTEMS)
def system(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def typed(system: str, tmp_path: Path) -> Typed:
    """Type a command there."""

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "tests.customer.cli.other_system", system, *words],
            cwd=ROOT,
            env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def test_what_customers_install_has_wheels_for_every_system() -> None:
    """What is not here was looked up: see docs/decisions/0120."""
    found = {each for system in SYSTEMS for each in installed("leyden", system)}
    assert found == {
        *("leyden", "aiohttp", "aiohappyeyeballs", "aiosignal", "attrs", "frozenlist"),
        *("multidict", "propcache", "yarl", "idna", "typing-extensions"),
        *("click", "cryptography", "cffi", "pycparser"),
        *("grpcio", "protobuf", "msgspec", "segno"),
        *("rich", "markdown-it-py", "mdurl", "pygments"),
    }


def test_the_rest_is_of_two_extras() -> None:
    needed = [Requirement(each) for each in metadata.requires("leyden") or ()]
    extras = {
        each.name: str(each.marker)
        for each in needed
        if "extra" in str(each.marker or "")
    }
    assert 'extra == "mcp"' in extras.pop("mcp")
    assert all('extra == "server"' in each for each in extras.values())


def test_all_are_listed_and_those_of_customers_say_their_options(system: str) -> None:
    names = [*HEADINGS["Customer commands"]]
    look = f"""
from click.testing import CliRunner
from tests.customer.cli.other_system import become
become({system!r})
from leyden.app.main import leyden
runner = CliRunner()
print(runner.invoke(leyden, ["--help"], catch_exceptions=False).output)
for name in {names}:
    assert runner.invoke(leyden, [name, "--help"], catch_exceptions=False).output
"""
    done = subprocess.run(
        [sys.executable, "-c", look],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert all(f"  {name} " in done.stdout for name in COMMANDS), done.stdout


def test_a_channel_is_ordered_and_its_events_are_read(
    platform: ServedPlatform, typed: Typed, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    key.write_text(platform.key)
    words = ("profile", "add", "work", "--url", platform.url, "--key-file", str(key))
    added = typed(*words)
    assert "work: Harbour" in added.stdout, added.stderr
    assert "amount_due" in typed("channels", "quote", "1000000").stdout
    order = json.loads(typed("channels", "order", "1000000", "--json").stdout)
    told = typed("events", "tail", "--all", "--no-follow", "--json").stdout
    assert order["order_id"] in told
    assert (tmp_path / ".config/leyden/profiles.json").stat().st_size
    assert 'pip install "leyden[mcp]"' in typed("mcp").stderr


@pytest.mark.parametrize("words", ["serve", "overview", "orgs list"])
def test_other_commands_say_what_they_need(
    system: str, typed: Typed, words: str
) -> None:
    done = typed(*words.split())
    assert done.returncode == 1
    assert NEEDS[system] in done.stderr
    assert len(done.stderr.splitlines()) == 1
