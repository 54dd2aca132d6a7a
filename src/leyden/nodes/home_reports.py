"""Reports of companions: what lnds in a cluster leave in their homes.

A companion reports again until a report was taken, so each may come twice: a backup is
known by its digest, macaroons are counted from the companion's start on, and lines of
the log count only from the position on up to which the log was read.

Companion and platform are upgraded one after the other, in either order: a field that
one of them does not know is ignored, and a field that is new is optional.
"""

import zlib
from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import Meta

from leyden.base.database.stores import Stores
from leyden.errors import Forbidden, Malformed, NotFound
from leyden.nodes import backups, home_events
from leyden.nodes.fleet import Fleet
from leyden.nodes.lnd.log import out_of_order
from leyden.nodes.rows.node_reports import NodeReport
from leyden.nodes.rules.log_positions import LogPosition
from leyden.nodes.rules.nodes import Node
from leyden.nodes.runtimes.base import Usage
from leyden.values import Struct

_MAX_BACKUP: Final = 4 << 20
MAX_TAIL: Final = 64 << 10
_LARGEST: Final = (1 << 63) - 1
_Number = Annotated[int, Meta(ge=0, le=10**9)]
_Size = Annotated[int, Meta(ge=0, le=_LARGEST)]


class ReportedPosition(Struct, frozen=True, kw_only=True):
    """How far a log was read, as a companion writes it."""

    inode: _Size
    offset: Annotated[int, Meta(ge=-1, le=_LARGEST)]
    head: Annotated[bytes, Meta(max_length=64)]


class LogLines(Struct, frozen=True, kw_only=True):
    """The lines that matter between two places of a log."""

    since: ReportedPosition | None
    until: ReportedPosition
    lines: Annotated[
        tuple[Annotated[str, Meta(max_length=300)], ...], Meta(max_length=10)
    ]


class Report(Struct, frozen=True, kw_only=True):
    """What a companion reports."""

    run: Annotated[str, Meta(pattern=r"\A[0-9a-f]{16}\Z")]
    macaroons_removed: _Number
    disk: _Size
    height: _Number
    channel_backup: bytes = b""
    log: LogLines | None = None
    # The end of the log, if an lnd has ended or is about to start.
    log_tail: Annotated[bytes, Meta(max_length=MAX_TAIL)] = b""
    # Once lnd has written it down, which is when its wallet is first unlocked.
    public_key: Annotated[str, Meta(pattern=r"\A(0[23][0-9a-f]{64})?\Z")] = ""


class ReportReceipt(Struct, frozen=True, kw_only=True):
    """The answer to a report that was taken: how far the log counts as read."""

    log: ReportedPosition | None


async def take(fleet: Fleet, node: Node, report: Report) -> ReportReceipt:
    """Store a report on a node; raise Malformed for what no lnd leaves."""
    _check(report)
    _refuse_deleted(node)
    if report.channel_backup:
        await backups.keep_channels(fleet, node, report.channel_backup)
    now = fleet.clock()
    async with fleet.database.transaction() as tx:
        node = await tx.nodes.lock(node.id)
        _refuse_deleted(node)
        before = await tx.node_reports.find(node.id)
        known = before.macaroons_removed if before and before.run == report.run else 0
        if (new := report.macaroons_removed - known) > 0:
            await home_events.record_removed(tx, node, number=new, now=now)
        position = await _log_read(tx, fleet, node, report.log)
        await tx.node_reports.keep(
            NodeReport(
                node_id=node.id,
                run=report.run,
                macaroons_removed=max(known, report.macaroons_removed),
                disk=report.disk,
                height=report.height,
                at=now,
            )
        )
        if report.public_key:
            await tx.node_keys.keep(node.id, report.public_key)
        if report.log_tail:
            await tx.node_reports.keep_log_tail(node.id, zlib.compress(report.log_tail))
    return ReportReceipt(log=position)


class Reported:
    """What companions have reported, as it is stored."""

    def __init__(self, reader: Stores) -> None:
        self._reader = reader

    async def usage(self, node_id: str) -> Usage:
        """Return what a node uses, as far as its companion has reported it."""
        found = await self._reader.node_reports.find(node_id)
        return Usage(disk=found.disk, height=found.height) if found else Usage()

    async def heights(self) -> Mapping[str, int]:
        """Return the last height that each node's companion has reported."""
        return await self._reader.node_reports.heights()

    async def channel_backup(self, node_id: str) -> bytes | None:
        """Return the node's newest backup of channels, if one was reported.

        So long as its lnd runs it is the one in its home: a companion reports each.
        """
        try:
            return (await self._reader.backups.latest_channels(node_id)).content
        except NotFound:
            return None

    async def log_tail(self, node_id: str) -> bytes:
        """Return the end of a node's log as it was last reported; empty before."""
        stored = await self._reader.node_reports.log_tail(node_id)
        return zlib.decompress(stored) if stored else b""


def _check(report: Report) -> None:
    if len(report.channel_backup) > _MAX_BACKUP:
        raise Malformed("channel_backup: must have at most 4 MiB")
    for number, line in enumerate(report.log.lines if report.log else ()):
        # They go to the node's owner in full.
        if out_of_order(line.encode()) != [line]:
            raise Malformed(
                f"log.lines[{number}]: must be lnd's line on a block out of order"
            )


def _refuse_deleted(node: Node) -> None:
    if node.is_destroyed:
        raise Forbidden("the node is deleted")


async def _log_read(
    tx: Stores, fleet: Fleet, node: Node, reported: LogLines | None
) -> ReportedPosition | None:
    """Announce what a log has said since it was last read; return how far it is."""
    stored = await tx.log_positions.find(node.id)
    known = _shown(stored.position) if stored else None
    if reported is None or reported.since != known:
        return known  # the companion reads on from there
    until = reported.until
    position = LogPosition(until.inode, until.offset, until.head)
    if not await tx.log_positions.move(
        node.id, position, was=stored.edition if stored else 0
    ):
        return known
    if reported.lines:
        await home_events.announce_out_of_order(
            tx, node, reported.lines[0], now=fleet.clock()
        )
    return until


def _shown(position: LogPosition) -> ReportedPosition:
    return ReportedPosition(
        inode=position.inode, offset=position.offset, head=position.head
    )
