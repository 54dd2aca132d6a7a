"""How commands speak: tables for people, one object for machines."""

import asyncio
import getpass
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from leyden import settings as knobs

if TYPE_CHECKING:
    from leyden.services.platform import Platform

Result = TypeVar("Result")

_WIDE = 10_000  # in a file or a pipe lines are as long as they have to be

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def on_platform(step: "Callable[[Platform], Awaitable[Result]]") -> Result:
    """Run one step on this installation's database, beside a running server or not.

    What a platform is made of takes a second to import; a customer's commands do not.
    """
    from leyden.app import opened  # noqa: PLC0415

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
    width = max(map(len, fields))
    for name, value in fields.items():
        print(f"{name:<{width}}  {_shown(value)}")


def print_rows(rows: Iterable[Mapping[str, Any]], *, empty: str) -> None:
    """Print many things, a row each; say what to do when there is none."""
    rows = list(rows)
    if not rows:
        print(empty)
        return
    table = Table(box=None, pad_edge=False)
    for place, name in enumerate(rows[0]):
        # The first is what one copies into the next command.
        table.add_column(name, overflow="fold", no_wrap=place == 0)
    for row in rows:
        table.add_row(*(Text(_shown(value)) for value in row.values()))
    console = Console()
    console.print(table, width=None if console.is_terminal else _WIDE)


def plain(text: str) -> str:
    """Give a text without what a terminal would take for a command."""
    return "".join(each if each.isprintable() or each == "\t" else "?" for each in text)


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return plain(", ".join(map(str, value)))
    return plain(str(value))
