"""A run builds what its tests need while tests that need none of it run already."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from leyden.base.daemons.catalogue import ToolSet
from tests import programs
from tests.base.daemons.conftest import StandIn

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.timeout(60)

# A catalogue with one set, which a stand-in for Go builds.
CONFTEST = """
from pathlib import Path, PosixPath
from leyden_workshop.compiler import catalogue
from leyden.base.daemons.catalogue import Program, ToolSet
from tests import programs
catalogue.SETS = ({harbour!r},)
programs.PLAIN = ("harbour-1.2.3",)
pytest_plugins = ("tests.builds",)
"""
TESTS = """
import os, shutil, subprocess, pytest
from tests.programs import built, needs

@pytest.mark.real
def test_daemon():
    said = subprocess.run([built("harbourd")["harbourd"]], capture_output=True)
    assert said.stdout == b"harbourd version 1.2.3\\n"

@pytest.mark.real
def test_other_version():
    built("kubectl")

@needs("tor")
def test_tor(): pass

def test_light(): pass
"""


@pytest.fixture
def run(
    tmp_path: Path, tools: ToolSet, go: StandIn, cache: Path
) -> Iterator["subprocess.Popen[str]"]:
    """A plain run of four tests, whose compiler waits for us."""
    go.set("hold")
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder / "conftest.py").write_text(CONFTEST.format(harbour=tools))
    (folder / "test_all.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = real: daemons\n")
    stored = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "CI", "TEST_RUN"))
    }
    words = ("-v", "--build=plain", "-p", "no:cacheprovider", "-p", "xdist", "-n1")
    with subprocess.Popen(
        (sys.executable, "-u", "-m", "pytest", *words),
        cwd=folder,
        env={
            **stored,
            **go.environment,
            "PYTHONPATH": str(ROOT),
            "LEYDEN_CACHE": str(cache),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        yield process
        process.kill()


def read(run: "subprocess.Popen[str]", until: str) -> str:
    """Return what a run says, up to the line that has these words."""
    assert run.stdout is not None
    said = ""
    for line in run.stdout:
        said += line
        if until in line:
            return said
    raise AssertionError(said)


def test_tests_that_need_nothing_run_while_it_builds_what_others_wait_for(
    run: "subprocess.Popen[str]", go: StandIn
) -> None:
    said = read(run, "tests wait for harbour-1.2.3 to be built: about a minute")
    assert "building harbour-1.2.3: " in said
    assert "PASSED test_all.py::test_light" in said
    assert "PASSED test_all.py::test_daemon" not in said
    go.unset("hold")
    rest = run.communicate()[0]
    assert "harbour-1.2.3 is built\n" in rest
    assert "PASSED test_all.py::test_daemon" in rest
    assert "1  needs kubectl 1.34.3: only with ./leyden test --all\n" in rest
    assert "1  needs tor: only with ./leyden test --all\n" in rest
    assert "2 passed, 2 skipped" in rest
    assert run.returncode == 0


def test_a_run_that_cannot_build_ends_with_why_and_is_red(
    run: "subprocess.Popen[str]", go: StandIn
) -> None:
    go.set("failure", "light.go:7:1: undefined: lamp\n")
    read(run, "tests wait for harbour-1.2.3 to be built: ")
    go.unset("hold")
    said = run.communicate()[0]
    assert "1  harbourd 1.2.3 is not built: leyden daemons build harbourd\n" in said
    _, _, end = said.partition("not built ===")
    assert "light.go:7:1: undefined: lamp" in end
    assert run.returncode == 1


def test_a_missing_program_is_named_with_its_debian_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(programs, "_SYSTEM", str(tmp_path))
    monkeypatch.delenv(programs.RUN, raising=False)
    assert programs.missing("certutil") == (
        "certutil is not installed; on Debian: apt-get install libnss3-tools"
    )
    with pytest.raises(pytest.skip.Exception, match="apt-get install nftables"):
        programs.require("nft")
    (tmp_path / "chromium-browser").symlink_to("/bin/true")
    assert programs.require("chromium") == tmp_path / "chromium-browser"
    monkeypatch.setenv(programs.RUN, "plain")
    assert programs.missing("chromium").endswith("only with ./leyden test --all")
