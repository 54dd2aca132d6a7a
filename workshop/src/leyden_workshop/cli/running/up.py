"""The whole platform on one machine."""

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import uvloop
from rich.console import Console

from leyden.app.cli.running.local_platform import say, settings_of
from leyden.base import garbage
from leyden.base.cli.building import building
from leyden.base.daemons import build as builds
from leyden.base.logs import configure
from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.nodes.wiring.home import holder, only_one
from leyden_workshop.cli import trust_offer
from leyden_workshop.devnet import installation

_LOG = "leyden.log"
_READY = "ready"  # exists while everything is up
_LOOK_EVERY_S = 0.1


def up(home: Path | None, runtime: str | None, *, detach: bool) -> None:
    """Start the platform, and run it until it is told to stop."""
    given = settings_of(home)
    if given.runs_in_cluster:
        raise SetupError(
            f'runtime: "{given.runtime}" is for a cluster of yours, where `leyden '
            "serve` runs nodes; for one on this machine remove the setting, and use "
            "`leyden up --runtime kubernetes`"
        )
    if detach:
        _detached(given, runtime)
        return
    with only_one(given):
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
                garbage.freeze()
                uvloop.run(
                    installation.run(
                        given,
                        cache=cache,
                        progress=progress,
                        # A line that one copies stays one line.
                        say=partial(console.print, soft_wrap=True),
                        ready=ready,
                        then=partial(trust_offer.ask_meanwhile, given.home_path),
                        runtime=runtime or "",
                    )
                )
        finally:
            ready.unlink(missing_ok=True)
    say("stopped; `leyden up` continues where it stopped")


def _folder(given: Settings, name: str) -> Path:
    folder = given.home_path / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _detached(given: Settings, runtime: str | None) -> None:
    """Start `leyden up` in a new session, and print its output until ready.

    The output goes to a file, so that nothing breaks once this process
    ends.
    """
    ready = given.home_path / _READY
    if (pid := holder(given)) is not None:
        if ready.exists():
            say("the platform is already up; `leyden status` shows the dashboard's URL")
            return
        raise SetupError(
            f"{given.home_path} is in use by process {pid}, which may be starting the "
            "platform: `leyden status` shows that"
        )
    said = _folder(given, "logs") / "up.log"
    ready.unlink(missing_ok=True)  # left by one that was killed
    chosen = [] if runtime is None else ["--runtime", runtime]
    with said.open("wb") as file:
        process = subprocess.Popen(
            [sys.argv[0], "up", "--home", str(given.home_path), *chosen],
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
                break
            time.sleep(_LOOK_EVERY_S)
    trust_offer.ask(given.home_path)
