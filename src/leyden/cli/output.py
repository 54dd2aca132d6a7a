"""How commands speak: tables for people, one object for machines."""

import asyncio
import getpass
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from leyden import settings as knobs
from leyden.cli import tables

if TYPE_CHECKING:
    from leyden.services.platform import Platform

Result = TypeVar("Result")

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def on_platform(step: "Callable[[Platform], Awaitable[Result]]") -> Result:
    """Run one step on this installation's database, beside a running server or not.

    What a platform is made of takes a second to import; a customer's commands do not.
    """
    from leyden import logs  # noqa: PLC0415
    from leyden.app import opened  # noqa: PLC0415

    logs.configure(form="text", level="warning")

    async def run() -> Result:
        async with opened(knobs.load(os.environ)) as platform:
            return await step(platform)

    return asyncio.run(run())


def operator() -> str:
    """Name who types, for the audit."""
    return f"operator:{getpass.getuser()}"


def print_json(value: object) -> None:
    """Print one object, indented."""
    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def print_fields(fields: Mapping[str, Any]) -> None:
    """Print one thing, a field a line."""
    print(*tables.fields(_row(fields), room=tables.room()), sep="\n")


def print_rows(
    rows: Iterable[Mapping[str, Any]], *, empty: str, spare: Sequence[str] = ()
) -> None:
    """Print many things, a row each; say what to do when there is none.

    `spare` names the columns that a narrow terminal does without, first to last.
    """
    shown = [_row(row) for row in rows]
    if not shown:
        print(empty)
        return
    print(*tables.drawn(shown, room=tables.room(), spare=spare), sep="\n")


def print_one(fields: Mapping[str, Any], *, as_json: bool) -> None:
    """Print one thing, for a machine or for a person."""
    if as_json:
        print_json(fields)
    else:
        print_fields(fields)


def print_list(
    name: str,
    rows: Iterable[Mapping[str, Any]],
    *,
    as_json: bool,
    empty: str,
    spare: Sequence[str] = (),
) -> None:
    """Print many things: one object with all of them under `name`, or a table."""
    if as_json:
        print_json({name: list(rows)})
    else:
        print_rows(rows, empty=empty, spare=spare)


def plain(text: str) -> str:
    """Give a text without what a terminal would take for a command."""
    return "".join(each if each.isprintable() or each == "\t" else "?" for each in text)


def _row(fields: Mapping[str, Any]) -> dict[str, str]:
    return {name: _shown(value) for name, value in fields.items()}


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return plain(", ".join(map(str, value)))
    return plain(str(value))
