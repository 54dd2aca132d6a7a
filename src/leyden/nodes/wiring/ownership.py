"""Ownership of nodes: one home looks after them, and its living processes are known.

A process of a home that the database does not record is rejected at its
start (home_record.py). Each process of the home has a row, without which it
claims no task of a node, and sends a heartbeat every few seconds. A process in
another container, or after a reboot, waits until earlier processes are silent,
because it cannot see their nodes. No clock is compared with another machine's:
the process waits for silence.

On SQLite there is one process, which holds the home and the file locked.
"""

import asyncio
import logging
import os
import secrets
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Final, Protocol

from leyden.base.background import background
from leyden.base.database.stores import Stores
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.errors import Away, SetupError, Stale
from leyden.nodes.rows.homes import Home, Process
from leyden.nodes.wiring import identity
from leyden.nodes.wiring.home_record import (
    INSTEAD,
    as_home,
    check_home,
    name_of_cluster,
    refuse,
)
from leyden.nodes.wiring.identity import Here

# Who says nothing for so long has died.
SILENT: Final = timedelta(seconds=15)
_BEAT_S: Final = SILENT.total_seconds() / 3
_LOOK_EVERY_S: Final = 0.5
_FORGOTTEN: Final = timedelta(hours=1)

log = logging.getLogger(__name__)


class Elsewhere(Protocol):
    """The interface of a place for nodes that is not on this machine."""

    here: Here

    async def mark(self, installation_id: str) -> None:
        """Mark the place as this installation's; SetupError for another one's."""
        ...


def has_nodes(settings: Settings) -> bool:
    """Return whether the settings ask for nodes."""
    return bool(settings.testnet_chain or settings.mainnet_backend)


@asynccontextmanager
async def registered(
    platform: Platform, *, elsewhere: Elsewhere | None = None
) -> AsyncIterator[str]:
    """Register this process in the home that nodes belong to; yield its id.

    Raise SetupError in another home. Where nodes are elsewhere, that place is marked
    as this installation's.
    """
    process_id = secrets.token_hex(8)
    if not has_nodes(platform.settings):
        yield process_id
        return
    if elsewhere is None or platform.settings.runs_here:
        here = identity.read(platform.settings.home_path)
        await check_home(platform, here)
    else:
        here = await check_home(platform, elsewhere.here)
    await refuse_unserved(platform)
    if elsewhere is not None:
        await elsewhere.mark(await name_of_cluster(platform))
    await _enter(platform, here, process_id)
    beat = partial(_beat, platform, process_id)
    try:
        async with background({} if platform.database.is_alone else {"home": beat}):
            yield process_id
    finally:
        try:
            async with platform.database.transaction() as tx:
                await tx.homes.leave(process_id)
        except (Away, Stale) as error:
            log.info(
                ("could not announce that this process stops"),
                extra={"why": error.message},
            )


async def refuse_unserved(platform: Platform) -> None:
    """Raise SetupError for nodes of a runtime that the settings do not name."""
    settings, runtime = platform.settings, platform.settings.runtime
    if settings.runs_here and settings.runs_in_cluster:
        return
    if found := await platform.database.reader.nodes.find_elsewhere(runtime):
        raise SetupError(
            f'runtime: must be "both" until every node is in {runtime}; node {found} '
            f"is not: leyden fleet move {found} --to {runtime}"
        )


@asynccontextmanager
async def nobody_else(
    platform: Platform, *, session: str = ""
) -> AsyncIterator[tuple[Stores, Home | None]]:
    """Open a transaction with the home locked, once no other process uses the home.

    Processes of this session may: they see the same nodes. Raise SetupError if another
    one lives.
    """
    heard: dict[str, tuple[int, float]] = {}
    while True:
        async with platform.database.transaction() as tx:
            known = await tx.homes.lock()
            if platform.database.is_alone or not await _possibly_alive(
                tx, session, heard
            ):
                yield tx, known
                return
        await asyncio.sleep(_LOOK_EVERY_S)


async def _possibly_alive(
    tx: Stores, session: str, heard: dict[str, tuple[int, float]]
) -> bool:
    """Return whether a process of another session may live; remove those that died."""
    found = False
    for each in await tx.homes.processes():
        if each.session == session:
            continue
        if each.id not in heard:
            heard[each.id] = (each.beat, time.monotonic())
            log.warning(
                "another process may use this home where we can't see it; waiting",
                extra={
                    "host": each.host,
                    "pid": each.pid,
                    "longest_s": SILENT.total_seconds(),
                },
            )
        beat, since = heard[each.id]
        if each.beat != beat:
            raise SetupError(
                f"this home is in use by process {each.pid} on {each.host}, in "
                "another container or on another machine, whose nodes this "
                f"process can't see; stop it first. {INSTEAD}"
            )
        if time.monotonic() - since > SILENT.total_seconds():
            await tx.homes.delete_silent(each)
        else:
            found = True
    return found


async def _enter(platform: Platform, here: Here, process_id: str) -> None:
    """Record this process, after processes that cannot see its nodes have ended."""
    async with nobody_else(platform, session=here.session) as (tx, known):
        ours = as_home(here, platform.settings)
        refuse(known or ours, ours, here)
        now = platform.clock()
        process = Process(
            id=process_id,
            session=here.session,
            host=here.host,
            pid=os.getpid(),
            beat=0,
            until=now + SILENT,
        )
        await tx.homes.enter(process, delete_before=now - _FORGOTTEN)


async def _beat(platform: Platform, process_id: str) -> None:
    """Record every few seconds that we live; end this process if we may not run.

    A process that was silent for so long that others consider it dead must end: after
    a restart, it checks who else lives before it touches a node.
    """
    while True:
        await asyncio.sleep(_BEAT_S)
        until = platform.clock() + SILENT
        try:
            async with platform.database.transaction() as tx:
                lives = await tx.homes.heartbeat(process_id, until=until)
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
