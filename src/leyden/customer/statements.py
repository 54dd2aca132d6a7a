"""Ledger rows for spreadsheets, and invoices as QR codes."""

import csv
import io
import sys
from collections.abc import Iterable
from typing import Any

import msgspec
import segno

from leyden.schemas.credit import LedgerEntry

# A spreadsheet takes what begins with these for a formula.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def row(entry: LedgerEntry) -> dict[str, Any]:
    """Return a ledger entry as a table row."""
    return msgspec.structs.asdict(entry)


def write_csv(entries: Iterable[LedgerEntry]) -> None:
    """Print entries as CSV, newest first; a note is never a formula."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(LedgerEntry.__struct_fields__)
    for entry in entries:
        writer.writerow(map(_cell, msgspec.structs.astuple(entry)))


def _cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULAS):
        return f"'{value}"
    return value


def picture(text: str) -> str:
    """Render a text as a QR code for a terminal."""
    drawn = io.StringIO()
    segno.make(text, micro=False).terminal(drawn, compact=True)
    return drawn.getvalue()
