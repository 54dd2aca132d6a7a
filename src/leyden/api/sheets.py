"""Responses as CSV, streamed page by page as rows are read.

No cell is run as a formula: a cell that a spreadsheet would take for one is
prefixed with an apostrophe.
"""

import csv
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from leyden.api.streams import Stream
from leyden.api.whole import NO_STORE
from leyden.domain.spreadsheets import escape_formula

_Send = Callable[[dict[str, Any]], Awaitable[None]]
Cells = Sequence[int | str]

TYPE = "text/csv"


class Sheet(Stream):
    """CSV rows under a header; the first page is loaded, the rest streams."""

    def __init__(
        self,
        name: str,
        headline: Sequence[str],
        first: Sequence[Cells],
        rest: AsyncIterator[Sequence[Cells]],
    ) -> None:
        self._name = name
        self._first = [headline, *first]
        self._rest = rest

    async def send(self, send: _Send, *, head: bool) -> None:
        """Send the rows in chunks, so that a truncated response is noticed."""
        filename = f'attachment; filename="{self._name}.csv"'.encode()
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [
                    (b"content-type", b"text/csv; charset=utf-8; header=present"),
                    (b"content-disposition", filename),
                    (b"vary", b"accept"),
                    NO_STORE,
                ],
            }
        )
        if not head:
            await send(_part(_lines(self._first), more=True))
            async for page in self._rest:
                await send(_part(_lines(page), more=True))
        await send(_part(b"", more=False))


def wants_csv(accept: bytes) -> bool:
    """Return whether the Accept header names CSV and does not name JSON."""
    named = {each.partition(b";")[0].strip() for each in accept.lower().split(b",")}
    return TYPE.encode() in named and b"application/json" not in named


def _lines(page: Sequence[Cells]) -> bytes:
    written = io.StringIO()
    writer = csv.writer(written)  # commas, quotes and CRLF as RFC 4180 has them
    for cells in page:
        writer.writerow(
            [escape_formula(each) if isinstance(each, str) else each for each in cells]
        )
    return written.getvalue().encode()


def _part(body: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}
