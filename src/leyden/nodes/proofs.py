"""How safe a node is: how old its newest channel backup is, and its owner's last drill.

The drill is the owner's word: it was made on their machine, with a password that we
never see. It is signed by the node's own key, so that anybody can verify it with any
lnd (`verifymessage`).
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from leyden.base import rights
from leyden.base.database.stores import Stores
from leyden.base.rules.sign_in import Right
from leyden.base.rules.times import to_iso
from leyden.errors import Malformed, NotFound
from leyden.nodes.fleet import Fleet
from leyden.nodes.rows.node_drills import NodeDrill
from leyden.nodes.views import get
from leyden.values import Struct

DRILL_INTERVAL: Final = timedelta(days=90)
_ZBASE32: Final = re.compile(r"[13-9a-km-uw-z]{104}")
_APART: Final = timedelta(minutes=10)  # two clocks


class Proofs(Struct, frozen=True, kw_only=True):
    """What is known of a node's backups."""

    channels_at: datetime | None  # None: the node has none
    channels_left: bool | None  # whether it is in the store; None: there is no store
    drill: NodeDrill | None
    drill_is_due: bool


async def show(
    fleet: Fleet, organization_id: str, node_id: str, now: datetime
) -> Proofs:
    """Return what is known of a node's backups."""
    node = await get(fleet, organization_id, node_id)
    reader = fleet.database.reader
    try:
        taken = (await reader.backups.latest_channels(node_id)).taken
    except NotFound:
        taken = None
    drill = await reader.node_drills.find(node_id)
    return Proofs(
        channels_at=taken,
        channels_left=None if taken is None else await _has_left(reader, taken),
        drill=drill,
        drill_is_due=node.needs_drills
        and (drill is None or now - drill.at > DRILL_INTERVAL),
    )


async def keep_drill(
    fleet: Fleet,
    organization_id: str,
    node_id: str,
    time: str,
    signature: str,
    *,
    actor: str,
    now: datetime,
) -> NodeDrill:
    """Store a drill; raise Malformed unless time and signature look right."""
    await get(fleet, organization_id, node_id)
    if not _ZBASE32.fullmatch(signature):
        raise Malformed("signature: must be a signature from lnd's signmessage")
    at = _at(time, now)
    drill = NodeDrill(at=at, message=message_of(node_id, at), signature=signature)
    async with fleet.database.transaction() as tx:
        await rights.confirm(tx, actor, organization_id, Right.NODES)
        await tx.node_drills.keep(node_id, drill)
        await tx.audit.add(
            at=now,
            actor=actor,
            action="backups opened",
            subject=node_id,
            organization_id=organization_id,
        )
    return drill


def message_of(node_id: str, at: datetime) -> str:
    """Return the words that a node signs after a drill."""
    return f"The backups of node {node_id} were opened at {to_iso(at)}."


def _at(text: str, now: datetime) -> datetime:
    try:
        given = datetime.fromisoformat(text)
        at = given.astimezone(UTC) if given.tzinfo is not None else None
    except (ValueError, OverflowError):  # the first day of all, east of Greenwich
        at = None
    if at is None:
        raise Malformed(f'time: must be in ISO 8601 and UTC, like "{to_iso(now)}"')
    if at > now + _APART:
        raise Malformed(
            "time: is in the future; check the clock of the machine that runs the drill"
        )
    return at


async def _has_left(reader: Stores, taken: datetime) -> bool | None:
    """Return whether a channel backup is in the store; None where there is none."""
    results = await reader.backup_results.all_()
    good = [
        each.began for each in results if each.ok and each.kind in {"channels", "run"}
    ]
    if not results:
        return None
    return any(began >= taken for began in good)
