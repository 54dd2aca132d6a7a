"""Everything on this machine, with two words: `leyden up`, `leyden down`."""

import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import deque
from functools import partial
from pathlib import Path
from typing import Any

import click
import uvloop
from rich.console import Console

from leyden import app, memory, processes, settings
from leyden.cli.building import building
from leyden.cli.output import as_json, print_fields, print_json
from leyden.daemons import build as builds
from leyden.devnet import first_run, installation, left_running
from leyden.errors import SetupError
from leyden.logs import configure
from leyden.settings import Settings

_LOG = "leyden.log"
_READY = "ready"  # exists while everything is up
_STOPS_WITHIN_S = 60.0
_LOOK_EVERY_S = 0.1

_home = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder that holds everything; otherwise LEYDEN_HOME, or ./.leyden.",
)


@click.command()
@_home
@click.option("--detach", is_flag=True, help="Go on in the background once all is up.")
def up(home: Path | None, *, detach: bool) -> None:
    """Turn this machine into the whole platform, on a private chain of its own.

    The first time it builds lnd, btcd, Pool and an auction from source, which takes
    minutes; after that it takes seconds and needs no network. Ctrl-C or `leyden down`
    stops it; the nodes it made go on, and are found again.

    \b
    leyden up
    leyden up --detach
    """
    given = _settings(home)
    if detach:
        _detached(given)
        return
    with app.only_one(given):
        _folder(given, "logs")
        configure(
            form=given.log_format,
            level=given.log_level,
            stream=(given.home_path / "logs" / _LOG).open("a", buffering=1),
        )
        ready = given.home_path / _READY
        ready.unlink(missing_ok=True)
        cache = builds.default_cache(os.environ)
        console = Console(highlight=False)
        try:
            with building(console) as progress:
                memory.keep_what_is_here()
                uvloop.run(
                    installation.run(
                        given,
                        cache=cache,
                        progress=progress,
                        # A line that one copies stays one line.
                        say=partial(console.print, soft_wrap=True),
                        ready=ready,
                    )
                )
        finally:
            ready.unlink(missing_ok=True)
    _say("stopped; `leyden up` goes on where it was")


@click.command()
@_home
@click.option("--nodes", is_flag=True, help="Stop the nodes too, and their chain.")
def down(home: Path | None, *, nodes: bool) -> None:
    """Stop the platform; nodes go on unless told otherwise.

    \b
    leyden down
    leyden down --nodes
    """
    given = _settings(home)
    pid = app.holder(given)
    if pid is None:
        _say("the platform is not running")
    else:
        identity = processes.identify(pid)
        if identity is not None:
            processes.signal(identity, 15)
        _wait_until_stopped(given)
        _say("stopped")
    asyncio.run(left_running.stop(given, nodes=nodes, say=_say))


@click.command()
@_home
@as_json
def status(home: Path | None, *, as_json: bool) -> None:
    """Say what runs and what does not; exit 1 when the platform is not up.

    \b
    leyden status
    """
    given = _settings(home)
    found = _status(given)
    if as_json:
        print_json(found)
    else:
        print_fields(found)
    sys.exit(0 if found["api"] == "ready" else 1)


@click.command()
@_home
@click.option("-n", "lines", default=50, help="How many lines of each.")
@click.option("-f", "--follow", is_flag=True, help="Go on as they grow.")
@click.argument("names", nargs=-1)
def logs(
    home: Path | None, lines: int, names: tuple[str, ...], *, follow: bool
) -> None:
    """Show the latest lines of the platform's log, or of the daemons NAMES.

    \b
    leyden logs -f
    leyden logs btcd treasury
    """
    files = _log_files(_settings(home))
    wanted = names or ("leyden",)
    for name in wanted:
        if name not in files:
            known = ", ".join(sorted(files)) or "none yet; see `leyden up`"
            raise SetupError(f"there is no log of {name}; there are: {known}")
    if follow:
        paths = [str(files[name]) for name in wanted]
        os.execvp("tail", ["tail", "-n", str(lines), "-F", *paths])  # noqa: S606, S607
    for name in wanted:
        with files[name].open(errors="replace") as file:
            print("".join(deque(file, lines)), end="")


def _settings(home: Path | None) -> Settings:
    environment = dict(os.environ)
    if home is not None:
        environment["LEYDEN_HOME"] = str(home)
    return settings.load(environment)


def _folder(given: Settings, name: str) -> Path:
    folder = given.home_path / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _say(line: str) -> None:
    print(line, flush=True)


def _detached(given: Settings) -> None:
    """Start `leyden up` in a session of its own, and show what it says until it is up.

    What it says goes to a file, so that nothing breaks when we are gone.
    """
    if (pid := app.holder(given)) is not None:
        raise SetupError(
            f"{given.home_path} is in use by process {pid}; it may be up already: "
            "see `leyden status`"
        )
    said = _folder(given, "logs") / "up.log"
    ready = given.home_path / _READY
    ready.unlink(missing_ok=True)  # left by one that was killed
    with said.open("wb") as file:
        process = subprocess.Popen(
            [sys.argv[0], "up", "--home", str(given.home_path)],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    with said.open() as file:
        while True:
            up = ready.exists()
            ended = process.poll()
            if chunk := file.read():
                print(chunk, end="", flush=True)
            if ended is not None:
                sys.exit(ended or 1)
            if up:
                return
            time.sleep(_LOOK_EVERY_S)


def _wait_until_stopped(given: Settings) -> None:
    deadline = time.monotonic() + _STOPS_WITHIN_S
    while app.holder(given) is not None:
        if time.monotonic() > deadline:
            raise SetupError(
                f"the platform did not stop within {_STOPS_WITHIN_S:.0f} s; "
                "see `leyden logs`"
            )
        time.sleep(_LOOK_EVERY_S)


def _status(given: Settings) -> dict[str, Any]:
    host = given.api_host if ":" not in given.api_host else f"[{given.api_host}]"
    base_url = f"http://{host}:{given.api_port}"
    process = app.holder(given)
    return {
        "home": str(given.home_path),
        "process": process,
        # Another home's platform may answer on our port.
        "api": "not running" if process is None else health(base_url),
        "base_url": base_url,
        "organization_id": first_run.read(given.home_path).get("organization_id"),
        **left_running.status(given),
    }


def health(base_url: str) -> str:
    """Return what the platform at this address says of itself, asked directly."""
    # A proxy that the environment names does not know our loopback address.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"{base_url}/health/ready", timeout=2) as answer:
            return str(json.load(answer)["status"])
    except urllib.error.HTTPError as error:
        return f"not ready ({error.code})"
    except (OSError, ValueError):
        return "not running"


def _log_files(given: Settings) -> dict[str, Path]:
    home = given.home_path
    files = {path.stem: path for path in sorted((home / "logs").glob("*.log"))}
    return {**files, **left_running.log_files(given)}
