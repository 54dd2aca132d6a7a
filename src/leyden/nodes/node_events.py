"""Events of nodes, for the event log of their organization.

A node's own webhook gets some of them, as the contract has them (announcements.py).
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from leyden.base.database.stores import Stores
from leyden.base.rules.times import to_iso
from leyden.events.rules.events import Event
from leyden.nodes.rules.nodes import DesiredState, Node, Status

_TOLD: Final = frozenset(
    {
        Status.WAITING_INIT,
        Status.WAITING_UNLOCK,
        Status.RUNNING,
        Status.STOPPED,
        Status.FAILED,
    }
)


def of_new(node: Node) -> Event:
    """Return the event of a new node."""
    return _event(
        node,
        "created",
        network=node.network,
        type=node.type,
        version=str(node.version),
    )


def of_change(before: Node, after: Node) -> Iterator[Event]:
    """Return the events of a change, in the order in which they happened."""
    if after.version != before.version:
        yield _event(
            after,
            "updated",
            from_version=str(before.version),
            version=str(after.version),
        )
    if after.process not in ("", before.process):
        yield _event(after, "started", status=after.status)
    if after.wanted is DesiredState.DELETED is not before.wanted:
        yield _event(after, "deleted", status=after.status)
    elif before.wanted is DesiredState.DELETED is not after.wanted:
        yield _event(after, "restored", status=after.status)
    elif after.status is not before.status and after.status in _TOLD:
        yield _event(after, after.status, status=after.status, **_why(after))


def _why(node: Node) -> dict[str, str]:
    """Return why a node stopped or failed; empty texts if somebody wanted that."""
    if node.status not in {Status.STOPPED, Status.FAILED}:
        return {}
    if node.trouble is None:
        return {"cause": "", "reason": ""}
    return {"cause": node.trouble.cause.value, "reason": node.trouble.reason}


def of_settings(node: Node, names: Iterable[str]) -> Event:
    """Return the event of changed settings: their names, as values may be secrets."""
    return _event(node, "settings_changed", settings=sorted(names))


def of_update(node: Node, version: str, service_version: str) -> Event:
    """Return the event of a newer lnd version, logged once for each."""
    once = f"{node.id} update {version}"
    return _event(
        node,
        "update_available",
        once=once,
        version=version,
        service_version=service_version,
    )


def of_blocks(node: Node, line: str) -> Event:
    """Return the event of blocks out of order, in lnd's words."""
    return _event(node, "out_of_order_block", once=f"{node.id} blocks", log=line)


async def record_certificate(
    tx: Stores, node: Node, *, until: datetime, now: datetime
) -> None:
    """Announce once that a certificate expires; the node is locked."""
    once = certificate_once(node.id, until)
    if await tx.events.logged_at(node.organization_id, once) is None:
        ends = to_iso(until)
        tx.events.add(
            _event(node, "certificate_expiring", once=once, expires=ends), at=now
        )


async def record_backup(
    tx: Stores, node: Node, *, taken: datetime | None, now: datetime
) -> None:
    """Log once that lnd's backup of channels is missing; the node is locked.

    `taken` is when the copy that is kept was made: it grows stale.
    """
    kind, when = ("missing", "") if taken is None else ("stale", to_iso(taken))
    once = f"{node.id} backup {kind} {when}"
    if await tx.events.logged_at(node.organization_id, once) is None:
        data = {"node_id": node.id, "name": node.name, "kept": when}
        of = node.organization_id
        event = Event(organization_id=of, type=f"backup.{kind}", data=data, once=once)
        tx.events.add(event, at=now)


def record_drill(
    tx: Stores, node: Node, *, drilled: datetime | None, now: datetime
) -> None:
    """Log that the node's backups have to be proved again; the node is locked."""
    when = "" if drilled is None else to_iso(drilled)
    data = {"node_id": node.id, "name": node.name, "drilled": when}
    event = Event(
        organization_id=node.organization_id, type="backup.drill_due", data=data
    )
    tx.events.add(event, at=now)


def certificate_once(node_id: str, until: datetime) -> str:
    """Return the key under which a certificate's end is logged only once."""
    return f"{node_id} certificate {to_iso(until)}"


def _event(node: Node, kind: str, *, once: str = "", **data: str | list[str]) -> Event:
    return Event(
        organization_id=node.organization_id,
        type=f"node.{kind}",
        data={"node_id": node.id, "name": node.name, **data},
        once=once,
    )
