"""`leyden audit`: who changed what."""

from typing import Any

import click

from leyden.cli.output import as_json, on_platform, print_json, print_rows
from leyden.domain.times import to_iso
from leyden.services.platform import Platform
from leyden.storage.audit import Line


@click.command()
@click.option(
    "--most",
    type=click.IntRange(1, 10_000),
    default=50,
    show_default=True,
    help="How many lines.",
)
@as_json
def audit(most: int, *, as_json: bool) -> None:
    """Show who changed what, newest first.

    \b
    leyden audit --most 500
    """

    async def look(platform: Platform) -> tuple[list[Line], dict[str, str]]:
        reader = platform.database.reader
        people = await reader.accounts.people()
        return (
            await reader.audit.latest(most=most),
            {f"user:{each.id}": each.email for each in people},
        )

    lines, people = on_platform(look)
    if as_json:
        print_json({"audit": list(map(_line, lines))})
        return
    print_rows(
        (
            {
                "at": to_iso(each.at)[:19],
                "who": people.get(each.actor) or _short(each.actor),
                "what": each.action,
                "detail": ", ".join(
                    f"{name} {is_}" for name, is_ in each.detail.items()
                ),
                "subject": each.subject,
                "organization_id": each.organization_id,
            }
            for each in lines
        ),
        empty="nothing was changed yet",
        spare=("organization_id", "subject", "detail"),
    )


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
    """Name who did it; of a key its first digits, by which `leyden key list` has it."""
    kind, _, id_ = actor.partition(":")
    return f"{kind} {id_[:8]}" if kind == "key" else actor
