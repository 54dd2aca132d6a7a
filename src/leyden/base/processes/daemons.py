"""Daemons that keep running after us: starting them once, and finding them again."""

import asyncio
import logging
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from leyden.base import processes
from leyden.base.processes import ProcessIdentity
from leyden.errors import SetupError

log = logging.getLogger(__name__)

_SERVES_WITHIN_S = 120.0
_LOOK_AGAIN_S = 0.05
_LAST_BYTES = 4096


class Daemon(Protocol):
    """The interface of a daemon: how to start it and check its readiness."""

    @property
    def name(self) -> str:
        """The daemon's name in logs and commands, and of its folder."""

    @property
    def folder(self) -> Path:
        """The folder with all of the daemon's files."""

    @property
    def ports(self) -> Mapping[str, int]:
        """The ports that the daemon listens on, by setting name."""

    @property
    def grace_s(self) -> float:
        """The longest time that the daemon may take to stop."""

    def argv(self) -> list[str]:
        """Return the command line, after writing the configuration."""

    async def prepare(self) -> None:
        """Repair damage that a kill may have caused; called before each start."""

    async def is_ready(self) -> bool:
        """Return whether the daemon is ready."""

    async def after_start(self) -> None:
        """Finish the setup after each start, or when found running."""


class Keeper:
    """Starts one daemon; a running one is found, not started twice."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon

    def running(self) -> ProcessIdentity | None:
        """Return the daemon's process, or None."""
        return processes.holder(claim(self.daemon.folder))

    async def ensure(self) -> ProcessIdentity:
        """Start the daemon if it is not running; return it once ready.

        A daemon that runs with an outdated program or configuration is
        restarted.
        """
        daemon = self.daemon
        argv = daemon.argv()
        found = self.running()
        if found is not None and processes.command_line(found) != argv:
            await processes.stop(found, grace_s=daemon.grace_s)
            found = None
        if found is None:
            for setting, port in daemon.ports.items():
                refuse_taken(daemon.name, setting, port)
            await daemon.prepare()
            found = await start(daemon.name, daemon.argv(), daemon.folder)
        await until_serving(daemon.name, found, daemon.folder, daemon.is_ready)
        await daemon.after_start()
        return found


def claim(folder: Path) -> Path:
    """Return the path of the lock file held by the folder's daemon."""
    return folder / "claim"


def output(folder: Path) -> Path:
    """Return the path of the output file of the folder's daemon."""
    return folder / "output.log"


async def start(name: str, argv: Sequence[str], folder: Path) -> ProcessIdentity:
    """Start a daemon in its folder, in a session of its own."""
    log.info("starting a daemon", extra={"daemon": name})
    return await processes.spawn(
        argv, log=output(folder), claim=claim(folder), cwd=folder
    )


async def until_serving(
    name: str,
    identity: ProcessIdentity,
    folder: Path,
    serving: Callable[[], Awaitable[bool]],
) -> None:
    """Wait until the daemon is ready.

    Raise SetupError if it ends, or does not become ready in time.
    """
    deadline = time.monotonic() + _SERVES_WITHIN_S
    while not await serving():
        if not processes.alive(identity):
            raise SetupError(f"{name} did not start: {last_line(folder)}")
        if time.monotonic() > deadline:
            raise SetupError(f"{name} runs but does not respond; see {output(folder)}")
        await asyncio.sleep(_LOOK_AGAIN_S)


def last_line(folder: Path) -> str:
    """Return the last line of the daemon's output, or ""."""
    try:
        with output(folder).open("rb") as file:
            file.seek(max(0, output(folder).stat().st_size - _LAST_BYTES))
            lines = file.read().decode(errors="replace").split("\n")
    except FileNotFoundError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def refuse_taken(name: str, setting: str, port: int) -> None:
    """Raise SetupError, with the next step, if the port is in use."""
    with socket.socket() as probe:
        # As servers do: a connection that is fading away does not take the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise SetupError(
                f"port {port} for {name} is in use; stop the program that uses it, or "
                f"choose another port with {setting}; `leyden doctor` lists every port "
                "that is in use"
            ) from None


def free_port() -> int:
    """Return a port of this machine that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
