"""Ownership of local nodes: one home looks after them.

A process of a home that the database does not record is rejected at its
start (home_record.py). In addition each process of the home sends a
heartbeat every few seconds. A process in another container, or after a
reboot, waits until earlier processes are silent, because it cannot see their
nodes. No clock is compared with another machine's: the process waits for
silence.

On SQLite there is one process, which holds the home and the file locked.
"""

import asyncio
import logging
import os
import secrets
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Protocol

from leyden.app import identity, liveness
from leyden.app.background import background
from leyden.app.home_record import as_home, check_home, name_of_cluster, refuse
from leyden.app.identity import Here
from leyden.errors import Away, SetupError, Stale
from leyden.services.platform import Platform
from leyden.settings import Settings
from leyden.storage.homes import Hold, Process
from leyden.storage.stores import Stores
from leyden.values import Struct, field

_BEAT_S: Final = liveness.SILENT.total_seconds() / 3
_LOOK_EVERY_S: Final = 0.5
_SOON: Final = 0.1  # seconds
_FORGOTTEN: Final = timedelta(hours=1)

log = logging.getLogger(__name__)


class Elsewhere(Protocol):
    """The interface of a place for nodes that is not on this machine."""

    here: Here

    async def mark(self, installation_id: str) -> None:
        """Mark the place as this installation's; SetupError for another one's."""
        ...


class Ownership(Struct, eq=False):
    """A process's right to look after nodes, while its heartbeat lasts."""

    hold: Hold
    # Called with how many processes look after nodes, each time they are counted.
    counted: list[Callable[[int], None]] = field(default_factory=list)
    watchers: int = 1
    counts_until: datetime | None = None  # one of them has died, unless it says not

    async def count(self, tx: Stores, *, now: datetime) -> None:
        """Count the processes that look after nodes."""
        self.watchers, self.counts_until = await tx.homes.watching(now=now)

    def pause_s(self, now: datetime) -> float:
        """Return the seconds until the next heartbeat, and the next count.

        Shards of one that died wait for it: the count is not late by a heartbeat.
        """
        if self.counts_until is None:
            return _BEAT_S
        return min(_BEAT_S, max(0.0, (self.counts_until - now).total_seconds()) + _SOON)


def has_nodes(settings: Settings) -> bool:
    """Return whether the settings ask for nodes."""
    return bool(settings.testnet_chain or settings.mainnet_backend)


@asynccontextmanager
async def owned(
    platform: Platform, *, watches: bool, elsewhere: Elsewhere | None = None
) -> AsyncIterator[Ownership]:
    """Join the home that nodes belong to; raise SetupError in another one.

    Where nodes are elsewhere, that place is marked as this installation's.
    """
    holder = secrets.token_hex(8)
    if not has_nodes(platform.settings):
        yield Ownership(hold=Hold(holder=holder))
        return
    if elsewhere is None or platform.settings.runtime == "both":
        here = identity.read(platform.settings.home_path)
        await check_home(platform, here)
    else:
        here = await check_home(platform, elsewhere.here)
    await refuse_unserved(platform)
    if elsewhere is not None:
        await elsewhere.mark(await name_of_cluster(platform))
    hold = Hold(holder=holder, identity=here.identity, place=here.place)
    ownership = Ownership(hold=hold)
    if platform.database.is_alone:
        yield ownership
        return
    await _enter(platform, here, ownership, watches=watches)
    try:
        async with background({"home": partial(_beat, platform, ownership)}):
            yield ownership
    finally:
        try:
            async with platform.database.transaction() as tx:
                await tx.homes.leave(holder)
        except (Away, Stale) as error:
            log.info(
                ("could not announce that this process stops"),
                extra={"why": error.message},
            )


async def refuse_unserved(platform: Platform) -> None:
    """Raise SetupError for nodes of a runtime that the settings do not name."""
    runtime = platform.settings.runtime
    if runtime == "both":
        return
    if found := await platform.database.reader.nodes.find_elsewhere(runtime):
        raise SetupError(
            f'runtime: must be "both" until every node is in {runtime}; node {found} '
            f"is not: leyden fleet move {found} --to {runtime}"
        )


async def _enter(
    platform: Platform, here: Here, ownership: Ownership, *, watches: bool
) -> None:
    """Record this process, after processes that cannot see its nodes have ended."""
    check = liveness.LivenessCheck()
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
            if not await check.possibly_alive(tx, others):
                now = platform.clock()
                process = Process(
                    id=ownership.hold.holder,
                    session=here.session,
                    host=here.host,
                    pid=os.getpid(),
                    beat=0,
                    until=now + liveness.SILENT,
                )
                await tx.homes.enter(
                    process, watches=watches, delete_before=now - _FORGOTTEN
                )
                await ownership.count(tx, now=now)
                return
        await asyncio.sleep(_LOOK_EVERY_S)


async def _beat(platform: Platform, ownership: Ownership) -> None:
    """Record every few seconds that we live, and count who does; end if we may not run.

    A process that was silent for so long that others consider it dead must end: after
    a restart, it checks who else lives before it touches a node.
    """
    while True:
        await asyncio.sleep(ownership.pause_s(platform.clock()))
        now, hold = platform.clock(), ownership.hold
        try:
            async with platform.database.transaction() as tx:
                lives = await tx.homes.heartbeat(
                    hold.holder, hold, until=now + liveness.SILENT
                )
                await ownership.count(tx, now=now)
        except (Away, Stale) as error:
            log.warning(
                ("could not announce that this process is alive"),
                extra={"why": error.message},
            )
            continue
        if not lives:
            log.error("this home no longer owns its nodes: another home does")
            signal.raise_signal(signal.SIGTERM)
            return
        for tell in ownership.counted:
            tell(ownership.watchers)
