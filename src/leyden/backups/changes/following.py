"""Follow the database's changes, in a separate process.

1. Create a chain, and store its key. If the store does not respond, wait here, while
   nothing blocks the database.
2. Every second, read what was committed, encrypt it, store it, and read it back.
3. Buffer unsent changes in memory while the store is slow. If that becomes too much,
   end the chain, and begin a new one once the store responds again.
4. At the end, after the platform, checkpoint the database, and store its identity.

The chain continues if the database has not changed since, or if the WAL still has the
following changes, as after a kill. Otherwise a new chain begins, and so a new backup.
"""

import asyncio
import contextlib
import hashlib
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

import msgspec

from leyden.backups import backup_files
from leyden.backups.backup_files import Programs
from leyden.backups.changes import outbox, state
from leyden.backups.changes.outbox import Outbox, WaitingChange
from leyden.backups.changes.state import Following
from leyden.backups.changes.wal import Wal, WalChange, WalPosition
from leyden.backups.store import changes
from leyden.backups.store.changes import KEY, ChangeChain
from leyden.backups.store.objects import Objects, objects
from leyden.base import processes
from leyden.base.database.urls import sqlite_path
from leyden.base.settings import Settings
from leyden.errors import LeydenError
from leyden.values import replace

_T = TypeVar("_T")
_EVERY_S: Final = 1.0
_LONG: Final = 1_000  # pages in the WAL; then it is restarted
_MAX_WAITING: Final = 1 << 26  # bytes that wait for a slow store
_AGAIN_S: Final = 30.0
_LAST_WORDS_S: Final = 5.0


async def run(settings: Settings, programs: Programs) -> None:
    """Follow the database until standard input ends or an interrupt."""

    def write_progress(found: Following) -> None:
        with contextlib.suppress(OSError):
            os.write(sys.stdout.fileno(), msgspec.json.encode(found) + b"\n")

    follower = Follower(settings, programs, on_progress=write_progress)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, follower.stop)
    # The platform gets it too; it may still write, and then closes our input.
    loop.add_signal_handler(signal.SIGTERM, lambda: None)
    await loop.connect_read_pipe(lambda: _Ending(follower), sys.stdin)
    await follower.follow()
    os._exit(0)  # a thread that waits for a hanging store would keep us running


class _Ending(asyncio.Protocol):
    """Stops the follower when the pipe is closed."""

    def __init__(self, follower: "Follower") -> None:
        self._follower = follower

    def connection_lost(self, _: Exception | None) -> None:
        self._follower.stop()


class Follower:
    """Follows one database for as long as it runs."""

    def __init__(
        self,
        settings: Settings,
        programs: Programs,
        *,
        on_progress: Callable[[Following], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
        every_s: float = _EVERY_S,
        max_waiting: int = _MAX_WAITING,
    ) -> None:
        self._given = settings
        self._programs = programs
        self._on_progress = on_progress
        self._clock = clock
        self._every_s = every_s
        self._max_waiting = max_waiting
        self._objects: Objects = objects(backup_files.store(settings, programs).access)
        # Its own thread: reading continues while other threads wait for the store.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="changes")
        self._stopping = asyncio.Event()
        self._saved = 0.0

    async def follow(self) -> None:
        """Follow the database until `stop`; then send what was read."""
        path = state.folder(self._given)
        path.mkdir(mode=0o700, exist_ok=True)
        with processes.locked(path / "lock"):
            found = state.read(self._given) or Following(chain="")
            self._state = replace(found, began=self._clock(), trouble="")
            while not self._stopping.is_set():
                wal, chain = await self._chain()
                if wal is None or chain is None:
                    continue
                try:
                    await self._follow(wal, chain)
                finally:
                    await self._in_thread(wal.close)

    def stop(self) -> None:
        """Request the end."""
        self._stopping.set()

    async def _chain(self) -> tuple[Wal | None, ChangeChain | None]:
        """Continue the last chain, or begin one; return None while the store fails."""
        try:
            if (chain := state.read_key(self._given, chain=self._state.chain)) and (
                wal := await self._resumed(chain)
            ):
                return wal, chain
            return await self._begun()
        except (LeydenError, OSError) as error:
            self._tell(trouble=str(error))
            await self._pause(_AGAIN_S)
            return None, None

    async def _resumed(self, chain: ChangeChain) -> Wal | None:
        names = await self._objects.names(f"{chain.name}/")
        if f"{chain.name}/{KEY}" not in names:
            return None
        numbers = map(changes.number_of, names)
        last = max((each for each in numbers if each is not None), default=0)
        # The object that was being sent at a kill is sent again. If there are more,
        # this home is older than what was sent from it.
        if last not in {self._state.number, self._state.number + 1}:
            return None
        if self._secrets() != self._state.secrets:
            return None
        async with self._opened() as wal:
            resumed = wal.resume(self._state.place, self._state.settled)
        if not resumed:
            await self._in_thread(wal.close)
            return None
        self._state = replace(self._state, settled="")
        return wal

    async def _begun(self) -> tuple[Wal, ChangeChain]:
        chain = changes.new_chain()
        sealed = await self._programs.age.encrypt(
            chain.key, backup_files.recipients(self._given)
        )
        fresh = replace(
            self._state,
            chain=chain.name,
            number=0,
            seen=0.0,
            place=WalPosition(),
            settled="",
            secrets="",
            trouble="",
        )
        # First of all: `applying.prune` deletes the keys of chains that nobody knows.
        state.save(self._given, fresh, lasting=True)
        await outbox.put(self._objects, f"{chain.name}/{KEY}", sealed)
        state.save_key(self._given, chain)
        secrets = self._secrets()
        async with self._opened() as wal:
            self._state = replace(fresh, place=wal.position, secrets=secrets)
            state.save(self._given, self._state, lasting=True)
        return wal, chain

    async def _follow(self, wal: Wal, chain: ChangeChain) -> None:
        """Read and send until the chain ends."""
        self._number = self._state.number
        self._read_at = self._clock()
        self._outbox = Outbox(
            self._objects,
            arrived=self._has_arrived,
            trouble=lambda words: self._tell(trouble=words),
        )
        sending = asyncio.create_task(self._outbox.send_all())
        try:
            while not self._stopping.is_set():
                if not await self._read(wal, chain):
                    return
                await self._pause(self._every_s)
            if await self._read(wal, chain):
                await self._end(wal, chain)
        except TimeoutError:
            self._tell(trouble="the last changes did not reach the store")
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            self._tell()

    async def _read(self, wal: Wal, chain: ChangeChain) -> bool:
        """Read new commits; return whether the chain continues."""
        at = self._clock()
        found = [await self._in_thread(wal.read)]
        positions = [wal.position]
        if wal.length >= _LONG:
            found.append(await self._in_thread(wal.fold))
            positions.append(wal.position)
        # If the keys were replaced meanwhile, no backup has the new ones yet.
        if self._secrets() != self._state.secrets:
            return False
        for change, position in zip(found, positions, strict=True):
            if change is not None:
                await self._seal(chain, change, position, at)
        if self._outbox.size > self._max_waiting:
            self._tell(trouble="the store is too slow: a new chain begins")
            return False
        self._read_at = at
        if self._outbox.is_empty:
            self._tell(until=at)
        return True

    async def _end(self, wal: Wal, chain: ChangeChain) -> None:
        """Send the last changes, and store the database's identity after them."""
        at = self._clock()
        change, settled = await self._in_thread(wal.settle)
        if self._secrets() != self._state.secrets:
            return
        if change is not None:
            await self._seal(chain, change, wal.position, at)
        self._read_at = at
        await self._outbox.until_empty(_LAST_WORDS_S)
        if settled:
            self._state = replace(self._state, place=wal.position, settled=settled)
            state.save(self._given, self._state, lasting=True)

    async def _seal(
        self, chain: ChangeChain, change: WalChange, position: WalPosition, at: float
    ) -> None:
        """Encrypt a change, and queue it for sending."""
        first = self._number + 1
        sealed = await self._in_thread(lambda: _sealed(chain, change, first, at))
        self._number += len(sealed)
        self._outbox.add(
            [
                WaitingChange(
                    number=number,
                    name=changes.object_name(chain.name, number),
                    sealed=content,
                    position=position if number == self._number else None,
                )
                for number, content in enumerate(sealed, start=first)
            ]
        )

    def _has_arrived(self, sent: WaitingChange) -> None:
        if sent.position is not None:
            self._state = replace(
                self._state, number=sent.number, place=sent.position, trouble=""
            )
            state.save(self._given, self._state, lasting=True)
        if self._outbox.is_empty:
            self._tell(until=self._read_at)

    def _tell(self, *, until: float = 0.0, trouble: str | None = None) -> None:
        """Write our progress; a chain without a base can't be restored."""
        base = state.read_base(self._given)
        if until:
            self._state = replace(self._state, seen=until)
        if until and base is not None and base.chain == self._state.chain:
            self._state = replace(self._state, until=until)
        if trouble is not None:
            self._state = replace(self._state, trouble=trouble)
        if trouble or self._clock() - self._saved >= self._every_s:
            self._saved = self._clock()
            with contextlib.suppress(OSError):
                state.save(self._given, self._state, lasting=False)
        self._on_progress(self._state)

    @contextlib.asynccontextmanager
    async def _opened(self) -> AsyncIterator[Wal]:
        """Open the WAL, which stays open unless the block fails."""
        wal = await self._in_thread(self._open)
        try:
            yield wal
        except BaseException:
            await self._in_thread(wal.close)
            raise

    def _open(self) -> Wal:
        return Wal(sqlite_path(self._given.database))

    def _secrets(self) -> str:
        return hashlib.sha256(self._given.secrets_path.read_bytes()).hexdigest()

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    async def _in_thread(self, step: Callable[[], _T]) -> _T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, step)


def _sealed(
    chain: ChangeChain, change: WalChange, first: int, at: float
) -> list[bytes]:
    parts = changes.pack(
        change.pages, page_size=change.page_size, length=change.length, made=at
    )
    return [chain.seal(number, each) for number, each in enumerate(parts, start=first)]
