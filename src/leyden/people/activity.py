"""The audit log of an organization, as its owners see it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from leyden.base.platform import Platform
from leyden.base.rows.audit import NODE_FAILED, PLATFORM, Line
from leyden.values import Struct

LIMIT: Final = 50  # entries of one page
# What is written for operators (paths of the machine, notes) stays with them.
_SHOWN: Final = frozenset(
    {
        *("name", "email", "role", "version", "scopes", "expires"),
        *("sats", "count", "number", "credit_refund"),
    }
)


class ActivityEntry(Struct, frozen=True, kw_only=True):
    """Who did what to what, and what changed."""

    at: datetime
    actor: str
    action: str
    subject: str
    node_id: str  # empty if the subject is no node that exists
    changes: Mapping[str, tuple[object, object]]
    facts: Mapping[str, object]


class ActivityPage(Struct, frozen=True):
    """Some entries, newest first, and the place of the last if there are more."""

    entries: list[ActivityEntry]
    after: tuple[int, str] | None


async def list_(
    platform: Platform, organization_id: str, *, after: tuple[int, str] | None
) -> ActivityPage:
    """Return one page of an organization's audit log, newest first."""
    reader = platform.database.reader
    lines = await reader.audit.of_organization(
        organization_id, after=after, limit=LIMIT + 1
    )
    more, lines = len(lines) > LIMIT, lines[:LIMIT]
    people = await reader.audit.people(organization_id)
    keys = {each.id: each.name for each in await reader.keys.list_(organization_id)}
    nodes = await reader.nodes.names(organization_id, {line.subject for line in lines})
    return ActivityPage(
        [_entry(line, people, keys, nodes) for line in lines],
        lines[-1].position if more else None,
    )


def _entry(
    line: Line,
    people: Mapping[str, str],
    keys: Mapping[str, str],
    nodes: Mapping[str, str],
) -> ActivityEntry:
    shown = _SHOWN | {"reason"} if line.action == NODE_FAILED else _SHOWN
    return ActivityEntry(
        at=line.at,
        actor=_actor(line.actor, people, keys),
        action=line.action,
        subject=_subject(line, people, keys, nodes),
        node_id=line.subject if line.subject in nodes else "",
        changes=line.changes,
        facts={name: is_ for name, is_ in line.facts.items() if name in shown},
    )


def _actor(actor: str, people: Mapping[str, str], keys: Mapping[str, str]) -> str:
    kind, _, id_ = actor.partition(":")
    if kind == "key":
        return f"API key {keys.get(id_, id_[:8])}"
    if actor == PLATFORM:
        return "Leyden"
    return people.get(actor, "Operator")


def _subject(
    line: Line,
    people: Mapping[str, str],
    keys: Mapping[str, str],
    nodes: Mapping[str, str],
) -> str:
    if name := nodes.get(line.subject):
        return name
    if line.subject == line.organization_id:
        return "this organization"
    email = people.get(f"user:{line.subject}")
    return email or keys.get(line.subject) or line.subject
