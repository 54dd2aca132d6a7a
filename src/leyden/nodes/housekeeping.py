"""Node housekeeping: lnd's files, logs, and notices of new versions."""

import asyncio
import logging
from datetime import datetime, timedelta
from typing import Final

from leyden.base.database.stores import Stores
from leyden.base.rules.times import is_recent
from leyden.base.tasks.steps import ClaimedTask
from leyden.errors import Stale
from leyden.events.rules.events import Event
from leyden.nodes import backups, home_events, node_events, resealing
from leyden.nodes.backup_watch import BackupWatch, DrillWatch
from leyden.nodes.fleet import Fleet
from leyden.nodes.home_events import MACAROONS_REMOVED
from leyden.nodes.lnd.tail import NewLines
from leyden.nodes.log_positions import LogPositions
from leyden.nodes.rules import versions
from leyden.nodes.rules.nodes import DesiredState, Node, NodeStatus
from leyden.nodes.views import get
from leyden.values import Struct

log = logging.getLogger(__name__)

# Other tasks of the event loop wait for this many nodes at most, at 5 µs each.
_AT_A_TIME: Final = 50
# Unlocking a wallet carelessly leaves macaroons, and triggers a sweep by itself. Other
# causes are too rare to walk through every folder more often.
_SWEEP_EVERY: Final = timedelta(minutes=10)
_SHOWN_FOR: Final = timedelta(days=30)
_MAX_SHOWN: Final = 10


class Housekeeping:
    """Checks all running nodes, remembering the last state of each."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._swept: dict[str, tuple[NodeStatus, str, datetime]] = {}
        self._unstored: set[str] = set()  # nodes with a channel backup that has to be
        self._positions = LogPositions()
        self._backups = BackupWatch(fleet)
        self._drills = DrillWatch(fleet)

    async def run(self, work: ClaimedTask) -> None:
        """Check every running node once, and schedule the next check."""
        nodes = await self._fleet.node_cache.nodes(self._fleet.database.reader.nodes)
        known = {node.id for node in nodes}
        self._unstored &= known
        for node_id in self._swept.keys() - known:
            del self._swept[node_id]
            self._backups.forget(node_id)
        running = [node for node in nodes if node.has_process]
        await self._positions.load(self._fleet.database.reader, running)
        for number, node in enumerate(running, start=1):
            try:
                await self._look_at(node)
            except OSError as error:
                # Its disk may be broken; the backups of all others must not wait.
                log.warning(
                    "node %s: its files cannot be read",
                    node.id,
                    extra={"why": str(error)},
                )
            if number % _AT_A_TIME == 0:
                await asyncio.sleep(0)
        await self._drills.check(running)
        async with work.transaction() as tx:
            now = self._fleet.clock()
            await tx.replaced_backups.delete_old(until=now - resealing.KEPT_FOR)
            await self._positions.flush(tx)
            due = now + self._fleet.rules.look_every
            await work.reschedule(tx, due=due)

    async def _look_at(self, node: Node) -> None:
        found = self._fleet.node_files.read_changes(node, self._positions.of(node))
        if found.channel_backup is not None:
            self._unstored.add(node.id)
        if node.id in self._unstored:
            await self._store_channels(node, found.channel_backup)
        if found.log is not None:
            await self._announce_log_events(node, found.log)
        await self._backups.check(node)
        now = self._fleet.clock()
        last = self._swept.get(node.id)
        if (
            last is None
            or last[:2] != (node.status, node.process)
            or not is_recent(last[2], now=now, within=_SWEEP_EVERY)
        ):
            self._swept[node.id] = (node.status, node.process, now)
            await _sweep(self._fleet, node, now)
            await _store_key(self._fleet, node)

    async def _store_channels(self, node: Node, content: bytes | None) -> None:
        """Store a channel backup; read it again if it could not be stored last time."""
        await backups.copy_channels(self._fleet, node, content)
        self._unstored.discard(node.id)

    async def _announce_log_events(self, node: Node, read: NewLines) -> None:
        """Announce what the node's log reports; store how far it was read."""
        if read.behind:
            read = await self._fleet.node_files.catch_up(node, read.position)
        if not read.complete:
            log.warning("node %s: skipped a part of its log", node.id)
        if not read.complaints:
            self._positions.note(node, read.position)
            return
        now = self._fleet.clock()
        try:
            async with self._fleet.database.transaction() as tx:
                await home_events.announce_out_of_order(
                    tx, node, read.complaints[0], now=now
                )
                await self._positions.keep(tx, node, read.position)
        except Stale as error:
            log.info("node %s: told by another", node.id, extra={"why": error.message})


class SweptMacaroons(Struct, frozen=True, kw_only=True):
    """Plaintext macaroons found on disk, and removed."""

    at: datetime
    number: int


async def found_in_clear(
    fleet: Fleet, organization_id: str, node_id: str
) -> list[SweptMacaroons]:
    """Return the plaintext macaroons removed in 30 days, newest first."""
    await get(fleet, organization_id, node_id)
    lines = await fleet.database.reader.audit.of_subject(
        organization_id,
        node_id,
        MACAROONS_REMOVED,
        since=fleet.clock() - _SHOWN_FOR,
        limit=_MAX_SHOWN,
    )
    return [
        SweptMacaroons(at=line.at, number=int(str(line.detail["number"])))
        for line in lines
    ]


async def notify_of_updates(fleet: Fleet) -> None:
    """Notify owners whose nodes can be updated, once for each version."""
    now, reader = fleet.clock(), fleet.database.reader
    for node in await reader.nodes.all_():
        update = _update_for(fleet, node)
        if update is None or node.wanted is DesiredState.DELETED:
            continue
        if node.settings.webhook or not await _is_logged(reader, update):
            async with fleet.database.transaction() as tx:
                locked = await tx.nodes.lock(node.id)
                await announce_update(fleet, tx, locked, now=now)


async def announce_update(
    fleet: Fleet, tx: Stores, node: Node, *, now: datetime
) -> None:
    """Announce the version that the node can be updated to, if any, once for each.

    Its webhook may have been set after the log has it, and gets it, too.
    """
    if (update := _update_for(fleet, node)) is not None:
        await node_events.announce(tx, node, [update], now=now)
        if not await _is_logged(tx, update):
            tx.events.add(update, at=now)


def _update_for(fleet: Fleet, node: Node) -> Event | None:
    newer = versions.newest_for(node.version, fleet.rules.catalogue)
    if newer is None:
        return None
    return node_events.of_update(node, str(newer), fleet.rules.service_version)


async def _is_logged(stores: Stores, event: Event) -> bool:
    return await stores.events.logged_at(event.organization_id, event.once) is not None


async def _store_key(fleet: Fleet, node: Node) -> None:
    """Store the public key that lnd has written down, which direct orders need."""
    found = await fleet.node_files.public_key(node)
    if found and found != await fleet.database.reader.node_keys.find(node.id):
        async with fleet.database.transaction() as tx:
            await tx.node_keys.keep(node.id, found)


async def _sweep(fleet: Fleet, node: Node, now: datetime) -> None:
    swept = await fleet.node_files.sweep(node)
    if not swept:
        return
    async with fleet.database.transaction() as tx:
        await home_events.record_removed(tx, node, number=len(swept), now=now)
