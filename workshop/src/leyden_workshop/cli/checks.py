"""Development commands: checks, tests and benchmarks, from a clone."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click

from leyden.errors import SetupError

ROOT = Path(__file__).parents[4]
_CHECKS: dict[str, Sequence[str]] = {
    "lint": ("ruff", "check", "."),
    "format": ("ruff", "format", "--check", "."),
    "types": ("mypy",),
    "arrows": ("lint-imports", "--no-logo"),
}


@click.command()
def check() -> None:
    """Run the linters, the type checker and the import rules.

    \b
    leyden check
    """
    from_a_clone()
    failed = []
    for name, command in _CHECKS.items():
        began = time.monotonic()
        done = subprocess.run(
            _ours(command), cwd=ROOT, check=False, text=True, capture_output=True
        )
        print(
            f"{'ok    ' if done.returncode == 0 else 'FAILED'}  {name:8}"
            f"{time.monotonic() - began:6.1f} s  {' '.join(command)}",
            flush=True,
        )
        if done.returncode != 0:
            failed.append(name)
            print(done.stdout, done.stderr, sep="\n", flush=True)
    if failed:
        raise SetupError(f"{', '.join(failed)}: see above")


@click.command(context_settings={"ignore_unknown_options": True})
@click.option(
    "--all", "everything", is_flag=True, help="Also run tests that need more."
)
@click.option("--long", is_flag=True, help="Also run tests that take minutes.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def test(arguments: tuple[str, ...], *, everything: bool, long: bool) -> None:
    """Run the tests; ARGUMENTS go to pytest.

    Without ARGUMENTS, it builds the programs that the tests need, and runs the tests
    that need none of them meanwhile. Only with `--all`, it also builds every version of
    lnd, restic, age, Kubernetes and Helm, and runs the tests on PostgreSQL, too, and
    those of a browser, nftables and Tor.

    \b
    leyden test                          # needs only Python
    leyden test --all                    # everything but the long ones
    leyden test --long                   # the long ones too
    leyden test tests/nodes -k alias     # some
    """
    from_a_clone()
    marker = () if long else ("-m", "not long")
    if not arguments:
        arguments = (
            # While it builds, tests run that need nothing of it (tests/builds.py).
            f"--build={'all' if everything or long else 'plain'}",
            # One more than CPUs: tests with real daemons mostly wait for them.
            *("-n", str((os.cpu_count() or 1) + 1)),
            # A file's tests stay together, as they may share a running platform; the
            # longest files come first, so that no processor is left with one alone.
            *("--dist=loadfile", "--no-loadscope-reorder", "--longest-first"),
            *("--durations=15", "--ask-again", "-rfE"),
        )
    command = _ours(("pytest", *marker, *arguments))
    sys.stdout.flush()
    # In our place: ending this process ends the tests, and all that they started.
    os.chdir(ROOT)
    os.execv(command[0], [*command])  # noqa: S606  no shell


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("name", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def bench(name: str | None, arguments: tuple[str, ...]) -> None:
    """Run a benchmark from bench/, or list all benchmarks.

    \b
    leyden bench
    leyden bench boot
    """
    from_a_clone()
    known = {
        path.stem: docstring.splitlines()[0]
        for path in sorted((ROOT / "bench").glob("*.py"))
        # The others are parts of these.
        if f"    ./leyden bench {path.stem}" in (docstring := _docstring(path))
    }
    if name is None:
        for each, sentence in known.items():
            print(f"{each:13}  {sentence}")
        return
    if name not in known:
        raise SetupError(f"no benchmark {name}; `leyden bench` lists all benchmarks")
    sys.stdout.flush()
    # In our place: ending this process ends the benchmark, and what that started.
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", "bench", name, *arguments])  # noqa: S606  no shell


def _docstring(path: Path) -> str:
    return path.read_text().split('"""')[1]


def _ours(command: Sequence[str]) -> Sequence[str]:
    """Return the command to run a tool from our own environment.

    The PATH is not searched.
    """
    program = Path(sys.executable).with_name(command[0])
    if not program.exists():
        raise SetupError(f"{command[0]} is not installed; run this as ./leyden")
    return (str(program), *command[1:])


def from_a_clone() -> None:
    """Raise SetupError where there is no clone."""
    if not (ROOT / "tests").is_dir():
        raise SetupError(
            "this command works only in a clone of the repository: run ./leyden"
        )
