"""`leyden audit`: the audit log."""

from typing import Any

import click

from leyden.base.cli.database import on_platform
from leyden.base.cli.output import as_json, limit_option, print_json, print_rows
from leyden.base.platform import Platform
from leyden.base.rows.audit import Line
from leyden.base.rules.times import to_iso


@click.command()
@limit_option(50, 10_000)
@as_json
def audit(limit: int, *, as_json: bool) -> None:
    """Print the audit log of who changed what, newest first.

    \b
    leyden audit --limit 500
    """

    async def read(platform: Platform) -> tuple[list[Line], dict[str, str]]:
        reader = platform.database.reader
        people = await reader.accounts.people()
        return (
            await reader.audit.latest(limit=limit),
            {f"user:{each.id}": each.email for each in people},
        )

    lines, people = on_platform(read)
    if as_json:
        print_json({"audit": list(map(_line, lines))})
        return
    print_rows(
        (
            {
                "at": to_iso(each.at),
                "who": people.get(each.actor) or _short(each.actor),
                "what": each.action,
                "detail": _detail(each),
                "subject": each.subject,
                "organization_id": each.organization_id,
            }
            for each in lines
        ),
        empty="no entries yet",
        spare=("organization_id", "subject", "detail"),
    )


def _detail(line: Line) -> str:
    changes = [
        f"{name} {_or_none(old)} → {_or_none(new)}"
        for name, (old, new) in line.changes.items()
    ]
    return ", ".join(
        [*changes, *(f"{name} {_or_none(is_)}" for name, is_ in line.facts.items())]
    )


def _or_none(is_: object) -> object:
    return "none" if is_ is None or is_ == "" else is_


def _line(line: Line) -> dict[str, Any]:
    return {
        "at": to_iso(line.at),
        "actor": line.actor,
        "action": line.action,
        "subject": line.subject,
        "organization_id": line.organization_id,
        "detail": dict(line.detail),
    }


def _short(actor: str) -> str:
    """Return a short name for the actor: for a key its first digits.

    `leyden api-keys list` prints keys by the same digits.
    """
    kind, _, id_ = actor.partition(":")
    return f"{kind} {id_[:8]}" if kind == "key" else actor
