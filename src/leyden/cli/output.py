"""How commands speak: tables for people, one object for machines."""

import asyncio
import getpass
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

import click
import msgspec
from rich.console import Console
from rich.table import Table

from leyden import settings as knobs
from leyden.app import opened
from leyden.services.platform import Platform

Result = TypeVar("Result")

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def on_platform(step: Callable[[Platform], Awaitable[Result]]) -> Result:
    """Run one step on this installation's database, beside a running server or not."""

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
    for name in rows[0]:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(_shown(value) for value in row.values()))
    Console().print(table)


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)
