"""What a command imports, which is what it takes to start."""

import subprocess
import sys
from pathlib import Path

import pytest

import leyden

ROOT = Path(__file__).parents[3]
# Each takes longer to import than all that a customer's command needs.
OF_MIGRATIONS = {"sqlalchemy", "alembic"}
OF_SERVERS = {"aiohttp", "grpc", "jinja2", "uvicorn", "leyden.base.pages"}
OF_THE_ROOT = {
    *("app", "app.main", "app.commands", "app.renamed"),
    *("base", "base.cli", "base.cli.exit_codes", "base.cli.groups"),
    *("errors",),
}
DECLARED = (
    *(
        "leyden.app.cli.local_platform",
        "leyden.app.cli.serve",
        "leyden_workshop.cli.up",
    ),
    *("leyden_workshop.cli.dev", "leyden_workshop.cli.local_platform"),
)
# What help and completion go without: all that their bodies need.
EVERYTHING = (
    OF_MIGRATIONS
    | OF_SERVERS
    | {"asyncio", "leyden.base.database", "leyden.nodes", "leyden.channels"}
)


@pytest.mark.parametrize(
    ("module", "left_out"),
    [
        ("leyden.app.cli.running.servers", OF_MIGRATIONS | {"grpc", "psycopg"}),
        ("leyden.people.cli.organizations", OF_MIGRATIONS | OF_SERVERS),
        (
            "leyden.app.cli.running.local_platform",
            OF_MIGRATIONS | {"grpc", "jinja2", "leyden.base.pages"},
        ),
        ("leyden.app.cli.setup", OF_MIGRATIONS | OF_SERVERS),
        ("leyden.customer.nodes", OF_MIGRATIONS | OF_SERVERS),
        *((each, EVERYTHING) for each in DECLARED),
    ],
)
def test_a_command_imports_nothing_heavy_that_it_does_not_use(
    module: str, left_out: set[str]
) -> None:
    drivers = "" if left_out is EVERYTHING else "leyden.base.database.sqlite, "
    look = f"""
import sys
import leyden.app.main, {drivers}{module}
print(*sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", look], capture_output=True, text=True, check=True
    )
    assert left_out & set(done.stdout.split()) == set()


def test_a_list_of_commands_and_a_completed_word_import_none_of_them() -> None:
    look = """
import sys
from click.testing import CliRunner
from leyden.app.main import leyden
runner = CliRunner()
assert "Start the whole platform" in runner.invoke(leyden, ["--help"]).output
asked = {"COMP_WORDS": "leyden ", "COMP_CWORD": "1"}
asked["_LEYDEN_COMPLETE"] = "bash_complete"
shown = runner.invoke(leyden, [], env=asked, prog_name="leyden").output
assert "plain,nodes" in shown
print(*(name for name in sys.modules if name.startswith("leyden.")))
"""
    done = subprocess.run(
        [sys.executable, "-c", look], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert loaded <= {f"leyden.{each}" for each in OF_THE_ROOT}


def test_the_version_is_the_newest_that_the_changelog_tells_of() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text().splitlines()
    newest = next(line.removeprefix("## ") for line in lines if line.startswith("## "))
    is_released = ".dev" not in leyden.__version__
    assert newest == (leyden.__version__ if is_released else "Unreleased")
