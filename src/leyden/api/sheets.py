"""Answers as CSV: lines for a spreadsheet, sent page by page as they are read.

Nothing a cell says is run as a formula: what a spreadsheet would take for one is
written behind an apostrophe.
"""

import csv
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from leyden.api.whole import NO_STORE
from leyden.domain.spreadsheets import harmless

_Send = Callable[[dict[str, Any]], Awaitable[None]]
Cells = Sequence[int | str]

TYPE = "text/csv"


class Sheet:
    """Lines under a headline; the first page is read already, the rest is not."""

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
        """Send it, in chunks: one that breaks off is seen to be no whole one."""
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


def is_asked_for(accept: bytes) -> bool:
    """Tell whether a caller names CSV, and JSON not as well."""
    named = {each.partition(b";")[0].strip() for each in accept.lower().split(b",")}
    return TYPE.encode() in named and b"application/json" not in named


def _lines(page: Sequence[Cells]) -> bytes:
    written = io.StringIO()
    writer = csv.writer(written)  # commas, quotes and CRLF as RFC 4180 has them
    for cells in page:
        writer.writerow(
            [harmless(each) if isinstance(each, str) else each for each in cells]
        )
    return written.getvalue().encode()


def _part(body: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}
