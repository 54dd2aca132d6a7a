"""What a daemon of the private chain is, and how one is kept running."""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from leyden import logs, processes
from leyden.errors import LeydenError, SetupError
from leyden.processes import Identity

log = logs.get()

# The longest that a daemon which ends again and again is left alone.
LAST_WAIT_S = 60.0
_SERVES_WITHIN_S = 120.0
_LOOK_AGAIN_S = 0.05
_LONG_ENOUGH_S = 60.0  # a run that lasted so long was a good one
_LOG_BYTES = 10 << 20
_LOOK_AT_LOGS_S = 60.0
_LAST_BYTES = 4096


class Daemon(Protocol):
    """One line of the table: how it is started, and when it is there."""

    @property
    def name(self) -> str:
        """Its name in logs and commands; its folder's too."""

    @property
    def folder(self) -> Path:
        """Where all of it lies."""

    @property
    def ports(self) -> Mapping[str, int]:
        """The ports it listens on, by the setting that can change each."""

    @property
    def grace_s(self) -> float:
        """How long it may take to stop."""

    def argv(self) -> list[str]:
        """Give the command, its configuration written."""

    async def prepare(self) -> None:
        """Mend what a kill may have left broken; called before each start."""

    async def serving(self) -> bool:
        """Tell whether it answers."""

    async def settle(self) -> None:
        """Do what is to be done each time it has begun to serve, or was found."""


class Keeper:
    """Keeps one daemon running; what runs already is found again, not doubled."""

    def __init__(
        self,
        daemon: Daemon,
        *,
        first_wait_s: float = 1.0,
        last_wait_s: float = LAST_WAIT_S,
    ) -> None:
        self.daemon = daemon
        self._first_wait_s = first_wait_s
        self._last_wait_s = last_wait_s

    def running(self) -> Identity | None:
        """Give the process, if there is one."""
        return processes.holder(claim(self.daemon.folder))

    async def ensure(self) -> Identity:
        """Give the running daemon, serving.

        It is started if it does not run, and anew if it runs with another program or
        configuration than it should by now.
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
        await until_serving(daemon.name, found, daemon.folder, daemon.serving)
        await daemon.settle()
        return found

    async def keep(self) -> None:
        """Start it again whenever it ends, later and later if it does so at once."""
        wait = self._first_wait_s
        while True:
            began = time.monotonic()
            try:
                code = await processes.exited(await self.ensure())
                reason = "" if code is None else f" (exit code {code})"
                said = f"{self.daemon.name} ended{reason}"
            except (LeydenError, OSError) as error:
                said = f"{self.daemon.name} cannot be started: {error}"
            if time.monotonic() - began > _LONG_ENOUGH_S:
                wait = self._first_wait_s
            log.warning(said, again_in_s=wait)
            await asyncio.sleep(wait)
            wait = min(2 * wait, self._last_wait_s)

    def cap_log(self) -> None:
        """Keep its output from filling the disk."""
        processes.cap(output(self.daemon.folder), most_bytes=_LOG_BYTES)


async def bring_up(keeper: Keeper, say: Callable[[str], None]) -> None:
    """See that it runs, and say whether it did already, and how long it took."""
    began = time.monotonic()
    found = keeper.running()
    now = await keeper.ensure()
    how = "runs" if now == found else "is up"
    say(f"{keeper.daemon.name} {how} ({time.monotonic() - began:.1f} s)")


async def bring_all_up(keepers: Sequence[Keeper], say: Callable[[str], None]) -> None:
    """Bring up daemons that do not need each other; the first trouble ends it."""
    try:
        async with asyncio.TaskGroup() as group:
            for keeper in keepers:
                group.create_task(bring_up(keeper, say))
    except ExceptionGroup as troubles:
        raise troubles.exceptions[0] from None


async def keep_logs_small(keepers: Sequence[Keeper]) -> None:
    """Keep what they print from filling the disk, until cancelled."""
    while True:
        for keeper in keepers:
            keeper.cap_log()
        await asyncio.sleep(_LOOK_AT_LOGS_S)


def claim(folder: Path) -> Path:
    """Give the file that the daemon of this folder holds."""
    return folder / "claim"


def output(folder: Path) -> Path:
    """Give the file with what the daemon of this folder prints."""
    return folder / "output.log"


async def start(name: str, argv: Sequence[str], folder: Path) -> Identity:
    """Start a daemon in its folder, apart from us."""
    log.info("a daemon is being started", daemon=name)
    return await processes.spawn(
        argv, log=output(folder), claim=claim(folder), cwd=folder
    )


async def until_serving(
    name: str,
    identity: Identity,
    folder: Path,
    serving: Callable[[], Awaitable[bool]],
) -> None:
    """Wait until it answers; refuse one that ends or does not."""
    deadline = time.monotonic() + _SERVES_WITHIN_S
    while not await serving():
        if not processes.alive(identity):
            raise SetupError(f"{name} does not start: {last_line(folder)}")
        if time.monotonic() > deadline:
            raise SetupError(
                f"{name} runs but does not answer; {output(folder)} may say why"
            )
        await asyncio.sleep(_LOOK_AGAIN_S)


def last_line(folder: Path) -> str:
    """Give the last line that the daemon of this folder printed."""
    try:
        with output(folder).open("rb") as file:
            file.seek(max(0, output(folder).stat().st_size - _LAST_BYTES))
            lines = file.read().decode(errors="replace").split("\n")
    except FileNotFoundError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def refuse_taken(name: str, setting: str, port: int) -> None:
    """Refuse a port that another program listens on, with what can be done."""
    with socket.socket() as probe:
        # As servers do: a connection that is fading away does not take the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise SetupError(
                f"port {port}, which {name} should listen on, is taken by another "
                f"program; stop that, or choose another port with {setting}"
            ) from None
