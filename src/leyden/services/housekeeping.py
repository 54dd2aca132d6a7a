"""Looking after what lnds leave in their folders, and telling owners what is new."""

import asyncio
from datetime import datetime, timedelta
from typing import Final

from leyden import logs
from leyden.domain import versions
from leyden.domain.nodes import Node, Status
from leyden.domain.webhooks import BlocksOutOfOrder, UpdateAvailable
from leyden.errors import Stale
from leyden.lnd.tail import News
from leyden.services import backups, resealing, webhooks
from leyden.services.due import Due
from leyden.services.fleet import Fleet
from leyden.services.log_places import LogPlaces
from leyden.services.nodes import get
from leyden.storage.nouns import Nouns
from leyden.values import Struct

log = logs.get()

# Nobody else waits for longer than these few take: 5 µs each.
_AT_A_TIME: Final = 50
# A wallet that is unlocked carelessly leaves macaroons at that moment; whatever else
# may leave some is not worth a walk through every folder more often.
_SWEEP_EVERY: Final = timedelta(minutes=10)
_REMOVED: Final = "macaroons removed"
_TOLD_FOR: Final = timedelta(days=30)
_MOST_TOLD: Final = 10


class Housekeeping:
    """Looks at every node that runs, and remembers what it saw: looking is cheap."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._swept: dict[str, tuple[Status, str, datetime]] = {}
        self._places = LogPlaces()

    async def look(self, work: Due) -> None:
        """Look once at every node, and come back later."""
        nodes = await self._fleet.roll.call(self._fleet.database.reader.nodes)
        for node_id in self._swept.keys() - {node.id for node in nodes}:
            del self._swept[node_id]
        running = [node for node in nodes if node.has_process]
        await self._places.learn(self._fleet.database.reader, running)
        for number, node in enumerate(running, start=1):
            await self._look_at(node)
            if number % _AT_A_TIME == 0:
                await asyncio.sleep(0)
        async with work.transaction() as tx:
            now = self._fleet.clock()
            await tx.replaced_backups.forget_old(until=now - resealing.KEPT_FOR)
            await self._places.keep_far(tx)
            due = now + self._fleet.rules.look_every
            await work.again(tx, due=due)

    async def _look_at(self, node: Node) -> None:
        found = self._fleet.homes.look(node, self._places.of(node))
        if found.channel_backup is not None:
            await backups.keep_channels(self._fleet, node, found.channel_backup)
        if found.log is not None:
            await self._take_in(node, found.log)
        now = self._fleet.clock()
        last = self._swept.get(node.id)
        if (
            last is None
            or last[:2] != (node.status, node.process)
            or now - last[2] >= _SWEEP_EVERY
        ):
            self._swept[node.id] = (node.status, node.process, now)
            await _sweep(self._fleet, node, now)

    async def _take_in(self, node: Node, news: News) -> None:
        """Tell what its log says; of what was told it is kept how far that was read."""
        if news.behind:
            news = await self._fleet.homes.catch_up(node, news.place)
        if not news.complete:
            log.warning("node %s: a part of its log was not read", node.id)
        if not news.complaints:
            self._places.note(node, news.place)
            return
        log.warning("node %s: its blocks come out of order", node.id)
        try:
            async with self._fleet.database.transaction() as tx:
                event = BlocksOutOfOrder(news.complaints[0])
                await webhooks.announce(tx, node, [event], now=self._fleet.clock())
                await self._places.keep(tx, node, news.place)
        except Stale as error:
            log.info("node %s: told by another", node.id, why=error.message)


class FoundInClear(Struct, frozen=True, kw_only=True):
    """Macaroons that lay on our disk for anyone to use, until they were removed."""

    at: datetime
    number: int


async def found_in_clear(
    fleet: Fleet, organization_id: str, node_id: str
) -> list[FoundInClear]:
    """Tell the owner when that was, of the last 30 days, newest first."""
    await get(fleet, organization_id, node_id)
    lines = await fleet.database.reader.audit.of_subject(
        organization_id,
        node_id,
        _REMOVED,
        since=fleet.clock() - _TOLD_FOR,
        most=_MOST_TOLD,
    )
    return [
        FoundInClear(at=line.at, number=int(str(line.detail["number"])))
        for line in lines
    ]


async def tell_of_updates(fleet: Fleet) -> None:
    """Tell owners whose nodes could run something newer; once for each version."""
    now = fleet.clock()
    for node in await fleet.database.reader.nodes.all_():
        if update_for(fleet, node) is not None and node.settings.webhook:
            async with fleet.database.transaction() as tx:
                await announce_update(fleet, tx, node, now=now)


async def announce_update(
    fleet: Fleet, tx: Nouns, node: Node, *, now: datetime
) -> None:
    """Announce what the node could be updated to, if there is anything."""
    if (event := update_for(fleet, node)) is not None:
        await webhooks.announce(tx, node, [event], now=now)


def update_for(fleet: Fleet, node: Node) -> UpdateAvailable | None:
    """Say what the node could be updated to."""
    newer = versions.newest_for(node.version, fleet.rules.catalogue)
    if newer is None:
        return None
    return UpdateAvailable(
        lnd_version=str(newer), service_version=fleet.rules.service_version
    )


async def _sweep(fleet: Fleet, node: Node, now: datetime) -> None:
    swept = await fleet.homes.sweep(node)
    if not swept:
        return
    log.warning("node %s: macaroons lay there in clear", node.id, number=len(swept))
    async with fleet.database.transaction() as tx:
        await tx.audit.add(
            at=now,
            actor="platform",
            action=_REMOVED,
            subject=node.id,
            organization_id=node.organization_id,
            number=len(swept),
        )
