"""Cursors: a reader's position in an organization's event log.

A cursor is the id of the last event that was read; the reader continues after it. It
consists of the event's number, a mark of the organization, and random digits. After a
restore from a backup, numbers are used again, but the random digits differ.
"""

import re
import secrets
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

from leyden.errors import Malformed
from leyden.values import Struct

LATEST: Final = "latest"  # the current end of the log

_FORM: Final = re.compile(r"evt_([0-9a-f]{12})([0-9a-f]{4})([0-9a-f]{16})")
_TAG_BYTES: Final = 8
_NO_TAG: Final = "0" * 2 * _TAG_BYTES


class Cursor(Struct, frozen=True):
    """A position in a log: after the event with this number."""

    number: int
    tag: str

    @property
    def is_start(self) -> bool:
        """Whether it is before the first event."""
        return self.number == 0


START: Final = Cursor(0, _NO_TAG)


def new_tags(count: int) -> Iterator[str]:
    """Yield random digits for the ids of `count` new events."""
    digits = secrets.token_hex(count * _TAG_BYTES)
    for start in range(0, len(digits), 2 * _TAG_BYTES):
        yield digits[start : start + 2 * _TAG_BYTES]


def write(organization_id: str, number: int, tag: str) -> str:
    """Return the id of an event, which is also the cursor after it."""
    return f"evt_{number:012x}{_mark(organization_id)}{tag}"


def parse(organization_id: str, text: str, *, field: str = "after") -> Cursor:
    """Parse a cursor; raise Malformed if it is not one, or is of another log."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise Malformed(
            f"{field}: must be the id of an event, a `cursor` that this API returned, "
            f"or `{LATEST}`"
        )
    number, mark, tag = match.groups()
    if mark != _mark(organization_id):
        raise Malformed(f"{field}: this cursor belongs to another organization")
    return Cursor(int(number, 16), tag)


def _mark(organization_id: str) -> str:
    return blake2b(organization_id.encode(), digest_size=2).hexdigest()
