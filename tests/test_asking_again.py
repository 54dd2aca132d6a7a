"""Only real tests are asked again, and who then passes is named."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PASSES = "def test_calm(): pass\n"
UNSTEADY = """
from pathlib import Path
import pytest

@pytest.mark.real
def test_unsteady():
    asked = Path(__file__).with_name("asked")
    before = asked.exists()
    asked.touch()
    assert before, "the first asking"
"""
UNSTEADY_FIXTURE = UNSTEADY.replace("@pytest.mark.real", "@pytest.fixture").replace(
    "test_unsteady", "daemon"
) + ("@pytest.mark.real\ndef test_unsteady(daemon): pass\n")
BROKEN = """
import pytest

@pytest.mark.real
def test_broken():
    assert False, "each asking"
"""
NOT_REAL = UNSTEADY.replace("@pytest.mark.real\n", "")

pytestmark = pytest.mark.timeout(180)


def ask(folder: Path, *words: str, **files: str) -> "subprocess.CompletedProcess[str]":
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    (folder / "conftest.py").write_text('pytest_plugins = ("tests.asking_again",)\n')
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = real: daemons\n")
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "CI"))
    }
    return subprocess.run(
        (
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "xdist",
            "-p",
            "no:cacheprovider",
            *words,
        ),
        cwd=folder,
        env={
            **environment,
            "PYTHONPATH": str(ROOT),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # they take seconds to import
        },
        capture_output=True,
        text=True,
        check=False,
    )


def closing(done: "subprocess.CompletedProcess[str]") -> str:
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("unsteady", "workers"),
    [
        pytest.param(UNSTEADY, (), marks=pytest.mark.long),
        pytest.param(UNSTEADY, ("-n", "2"), marks=pytest.mark.long),
        pytest.param(UNSTEADY_FIXTURE, (), marks=pytest.mark.long),
        (UNSTEADY_FIXTURE, ("-n", "2")),
    ],
    ids=["call-alone", "call-workers", "setup-alone", "setup-workers"],
)
def test_a_real_one_that_passes_when_asked_again_is_named(
    tmp_path: Path, unsteady: str, workers: tuple[str, ...]
) -> None:
    done = ask(tmp_path, "--ask-again", *workers, calm=PASSES, unsteady=unsteady)
    assert done.returncode == 0, done.stdout
    assert "1 passed, 1 flaky in" in closing(done)
    assert "FLAKY test_unsteady.py::test_unsteady\n" in done.stdout
    assert "the first asking" in done.stdout


def test_a_second_no_is_final(tmp_path: Path) -> None:
    done = ask(tmp_path, "--ask-again", unsteady=UNSTEADY, broken=BROKEN)
    assert done.returncode == 1
    assert "1 failed, 1 flaky in" in closing(done)
    assert "FAILED test_broken.py::test_broken" in done.stdout
    assert "FLAKY test_broken.py" not in done.stdout


def test_what_is_not_real_is_asked_once(tmp_path: Path) -> None:
    done = ask(tmp_path, "--ask-again", unsteady=NOT_REAL, calm=PASSES)
    assert done.returncode == 1
    assert "1 failed, 1 passed in" in closing(done)
    assert "asking" not in done.stdout.replace("the first asking", "")


def test_whoever_does_not_ask_for_it_gets_the_first_answer(tmp_path: Path) -> None:
    done = ask(tmp_path, unsteady=UNSTEADY)
    assert done.returncode == 1
    assert "1 failed in" in closing(done)
