"""Local nodes belong to one home: who may look after them, and who may not.

The database remembers the home: its identity, its place and its authority. A process of
another home, or of a copy of this one, is refused at its start. Beside it, each process
of the home says every few seconds that it lives; one in another container, or of a
machine that was started anew, waits until those before it are silent, for it cannot see
their nodes. No clock is compared with another machine's: silence is waited for.

On SQLite there is one process, which holds the home and the file locked.
"""

import asyncio
import os
import secrets
import signal
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

from leyden import logs
from leyden.app import identity
from leyden.app.identity import Here
from leyden.domain.nodes import Node
from leyden.errors import Away, SetupError, Stale
from leyden.gateway.certificates import Authority
from leyden.services.platform import Platform
from leyden.settings import Settings
from leyden.storage.homes import Hold, Home, Process
from leyden.storage.nouns import Nouns
from leyden.values import Struct, field

# Who says nothing for so long has died.
SILENT: Final = timedelta(seconds=15)
_BEAT_S: Final = SILENT.total_seconds() / 3
_LOOK_EVERY_S: Final = 0.5
_FORGOTTEN: Final = timedelta(hours=1)
_INSTEAD: Final = (
    "Local nodes run in one home, on one machine: start `leyden serve` and `leyden "
    "worker` there. To move the home here, stop it and its nodes there, copy the "
    "whole folder, and run `leyden home adopt`. Nodes on several machines need the "
    "Kubernetes runtime (docs/operating.md, On several machines)"
)

log = logs.get()


class Ownership(Struct, eq=False):
    """What a process of the home may do, for as long as it says that it lives."""

    hold: Hold
    # Called with how many processes look after nodes, each time they are counted.
    counted: list[Callable[[int], None]] = field(default_factory=list)
    watchers: int = 1


def has_local_nodes(given: Settings) -> bool:
    """Tell whether the settings ask for nodes on this machine."""
    return bool(given.testnet_chain or given.mainnet_backend)


@asynccontextmanager
async def owned(platform: Platform, *, watches: bool) -> AsyncIterator[Ownership]:
    """Be a process of the home that nodes belong to; refuse to be one of another."""
    holder = secrets.token_hex(8)
    if not has_local_nodes(platform.settings):
        yield Ownership(hold=Hold(holder=holder))
        return
    here = identity.read(platform.settings.home_path)
    await _belong(platform, here)
    hold = Hold(holder=holder, identity=here.identity, place=here.place)
    ownership = Ownership(hold=hold)
    if platform.database.is_alone:
        yield ownership
        return
    await _enter(platform, here, ownership, watches=watches)
    beating = asyncio.create_task(_beat(platform, ownership), name="home")
    try:
        yield ownership
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)
        try:
            async with platform.database.transaction() as tx:
                await tx.homes.leave(holder)
        except (Away, Stale) as error:
            log.info("that we end could not be said", why=error.message)


def as_home(here: Here, given: Settings) -> Home:
    """Return what the database is to remember of a home."""
    return Home(
        identity=here.identity,
        authority=Authority(given.home_path / "authority").digest,
        place=here.place,
        host=here.host,
    )


def missing(here: Here, nodes: Sequence[Node]) -> list[Node]:
    """List the nodes that have run, and have no folder in this home."""
    return [
        node
        for node in nodes
        if (node.has_process or node.has_wallet)
        and not (here.folder / "nodes" / node.id).is_dir()
    ]


async def _belong(platform: Platform, here: Here) -> None:
    """Refuse a home that is not the database's; take the first one there is."""
    ours = as_home(here, platform.settings)
    known = await platform.database.reader.homes.find()
    if known is None:
        lost = missing(here, await platform.database.reader.nodes.all_())
        if lost:
            raise SetupError(
                f"{len(lost)} nodes of this database have no folder in {here.folder}, "
                f"the first of them {lost[0].id}: this is not their home, or not all "
                f"of it. {_INSTEAD}"
            )
        async with platform.database.transaction() as tx:
            await tx.homes.add(ours)
        known = await platform.database.reader.homes.find()
    refuse(known or ours, ours, here)


def refuse(known: Home, ours: Home, here: Here) -> None:
    """Refuse a home that is not the one the database remembers."""
    if known.identity != ours.identity:
        raise SetupError(
            f"the nodes of this database belong to another home, last on {known.host}, "
            f"not to {here.folder}. {_INSTEAD}"
        )
    if known.place != ours.place:
        raise SetupError(
            f"{here.folder} is a copy of the home that the nodes of this database "
            f"belong to, which was last on {known.host}, or it was moved here. Two "
            "lnds of one node lose its money: make sure that no node runs there any "
            "more, then run `leyden home adopt`"
        )
    refuse_another_authority(known, ours, here)


def refuse_another_authority(known: Home, ours: Home, here: Here) -> None:
    """Refuse a home whose authority nobody trusts."""
    if known.authority != ours.authority:
        raise SetupError(
            f"{here.folder / 'authority'} is not the authority that clients of these "
            "nodes trust; restore it from your backup, or run `leyden home adopt "
            "--new-authority` and give clients the new root"
        )


async def _enter(
    platform: Platform, here: Here, ownership: Ownership, *, watches: bool
) -> None:
    """Say that we are there, once nobody else is who cannot see what we see."""
    silence = Silence()
    while True:
        async with platform.database.transaction() as tx:
            known = await tx.homes.lock()
            ours = as_home(here, platform.settings)
            refuse(known or ours, ours, here)
            others = [
                each
                for each in await tx.homes.processes()
                if each.session != here.session
            ]
            if not await silence.left(tx, others):
                now = platform.clock()
                process = Process(
                    id=ownership.hold.holder,
                    session=here.session,
                    host=here.host,
                    pid=os.getpid(),
                    beat=0,
                    until=now + SILENT,
                )
                await tx.homes.enter(
                    process, watches=watches, forget_before=now - _FORGOTTEN
                )
                ownership.watchers = await tx.homes.watching(now=now)
                return
        await asyncio.sleep(_LOOK_EVERY_S)


class Silence:
    """Waits until processes are known to have died; refuses where one lives."""

    def __init__(self) -> None:
        self._heard: dict[str, tuple[int, float]] = {}

    async def left(self, tx: Nouns, others: Sequence[Process]) -> list[Process]:
        """Return those of which it is not known yet; forget those that have died."""
        found = []
        for each in others:
            if each.id not in self._heard:
                self._heard[each.id] = (each.beat, time.monotonic())
                log.warning(
                    "a process of this home may live where we cannot see it; waiting",
                    host=each.host,
                    pid=each.pid,
                    longest_s=SILENT.total_seconds(),
                )
            beat, since = self._heard[each.id]
            if each.beat != beat:
                raise SetupError(
                    f"this home is in use by process {each.pid} on {each.host}, in "
                    "another container or on another machine, and nodes there are not "
                    f"seen from here; stop that one first. {_INSTEAD}"
                )
            if time.monotonic() - since > SILENT.total_seconds():
                await tx.homes.forget_silent(each)
            else:
                found.append(each)
        return found


async def _beat(platform: Platform, ownership: Ownership) -> None:
    """Say every few seconds that we live, and hear how many do; end where we may not.

    Whoever was silent for long enough to be taken for dead ends: started anew it looks
    who is there before it touches a node.
    """
    while True:
        await asyncio.sleep(_BEAT_S)
        now, hold = platform.clock(), ownership.hold
        try:
            async with platform.database.transaction() as tx:
                lives = await tx.homes.beat(hold.holder, hold, until=now + SILENT)
                ownership.watchers = await tx.homes.watching(now=now)
        except (Away, Stale) as error:
            log.warning("that we live could not be said", why=error.message)
            continue
        if not lives:
            log.error("this home is not ours any more: another one has its nodes")
            os.kill(os.getpid(), signal.SIGTERM)
            return
        for tell in ownership.counted:
            tell(ownership.watchers)
