"""A start imports what answers, and little more: everything here is for later."""

import subprocess
import sys
from pathlib import Path

import leyden

ROOT = Path(__file__).parents[2]
# What each of them takes, as a part of a whole start; the first two take longer.
SLOW = {
    "sqlalchemy",
    "alembic",
    "aiohttp",
    "grpc",
    "jinja2",
    "cryptography.x509",  # a tenth
    "importlib.metadata",  # a twentieth, with its parser of mail
    "tomllib",  # a hundredth
    "html",  # a hundredth
}


def test_what_is_slow_to_import_is_not_part_of_a_start() -> None:
    look = """
import sys
import leyden.cli.main, leyden.cli.serve, leyden.storage.sqlite
print(*sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", look], capture_output=True, text=True, check=True
    )
    assert "leyden.api.endpoints" in done.stdout.split()
    assert SLOW & set(done.stdout.split()) == set()


def test_the_version_is_the_newest_that_the_changelog_tells_of() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text().splitlines()
    told = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    assert next(each for each in told if each != "Unreleased") == leyden.__version__
