"""Output of commands: tables for people, JSON for programs."""

import getpass
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import click
import msgspec

from leyden.base.cli import tables
from leyden.base.rules.units import size

# Numbers with these names are satoshis, and those that end in `sat` or `sats`.
_SATS = frozenset(
    {
        *("amount", "amount_due", "available", "balance", "capacity", "confirmed"),
        *("credit", "credit_refund", "credit_used", "due", "fee", "free"),
        *("in_channels", "largest", "locked", "may_owe", "most_reserved", "premium"),
        *("outstanding", "owed", "pool_fee", "pool_fee_refund", "reserved"),
        *("self_chan_balance", "self_chan_balance_fee", "service_fee", "total_fee"),
        *("unconfirmed", "local", "remote"),
    }
)
# As the API writes times: in UTC.
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")

_Command = TypeVar("_Command", bound=Callable[..., Any])

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def limit_option(usual: int, largest: int) -> Callable[[_Command], _Command]:
    """Return the option that limits a list."""
    return click.option(
        "-n",
        "--limit",
        type=click.IntRange(1, largest),
        default=usual,
        show_default=True,
        help="Maximum number to list.",
    )


def operator() -> str:
    """Return the operator's name for the audit log."""
    return f"operator:{getpass.getuser()}"


def print_json(value: object) -> None:
    """Print one object as indented JSON."""
    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def print_line(value: object) -> None:
    """Print one object as a line of JSON, which whoever reads a pipe has at once."""
    print(msgspec.json.encode(value).decode(), flush=True)


def print_fields(fields: Mapping[str, Any]) -> None:
    """Print one object, one field per line."""
    print(*tables.fields(_row(fields), room=tables.room()), sep="\n")


def print_counts(heading: str, counted: Mapping[str, int]) -> None:
    """Print counts below a heading, one per line."""
    print(f"\n{heading}")
    if counted:
        print_fields({name: f"{count:,}" for name, count in counted.items()})
    else:
        print("none yet")


def print_rows(
    rows: Iterable[Mapping[str, Any]], *, empty: str, spare: Sequence[str] = ()
) -> None:
    """Print objects as a table, or the text `empty` if there are none.

    `spare` names the columns that a narrow terminal omits, first to last.
    """
    shown = [_row(row) for row in rows]
    if not shown:
        print(empty)
        return
    print(*tables.drawn(shown, room=tables.room(), spare=spare), sep="\n")


def print_one(one: Mapping[str, Any] | msgspec.Struct, *, as_json: bool) -> None:
    """Print one object as JSON or as text."""
    if as_json:
        print_json(one)
    elif isinstance(one, msgspec.Struct):
        print_fields(msgspec.structs.asdict(one))
    else:
        print_fields(one)


def print_list(
    name: str,
    rows: Iterable[Mapping[str, Any]],
    *,
    as_json: bool,
    empty: str,
    spare: Sequence[str] = (),
) -> None:
    """Print a list as one JSON object, with it under `name`, or as a table."""
    if as_json:
        print_json({name: list(rows)})
    else:
        print_rows(rows, empty=empty, spare=spare)


def print_done(one: Mapping[str, Any], said: str, *, as_json: bool) -> None:
    """Print what was done: as JSON, or in words."""
    if as_json:
        print_json(one)
    else:
        print(said)


def plain(text: str) -> str:
    """Replace characters that a terminal would interpret."""
    return "".join(each if each.isprintable() or each == "\t" else "?" for each in text)


def local_time(text: str) -> str:
    """Return a time of the API as people here read it, in this machine's zone."""
    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def _row(fields: Mapping[str, Any]) -> dict[str, str]:
    return {name: _shown(name, value) for name, value in fields.items()}


def _shown(name: str, value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number(name.split("_"), value)
    several = value if isinstance(value, list | tuple) else (value,)
    text = ", ".join(map(str, several))
    if _TIME.fullmatch(text):
        return local_time(text)
    if name.endswith("_sat") and text.isdecimal():
        return f"{int(text):,} sat"  # as LSPS1 writes numbers
    return plain(text)


def _number(words: list[str], value: float) -> str:
    """Return a number with the unit that its name says."""
    if isinstance(value, int):
        if "bytes" in words:
            return size(value)
        if "_".join(words) in _SATS or words[-1] in {"sat", "sats"}:
            return f"{value:,} sat"
        if "blocks" in words:
            return f"{value:,} blocks"
    return f"{value:,} s" if words[-1] == "s" else str(value)
