"""Responses as CSV, streamed page by page as rows are read.

No cell is run as a formula: a cell that a spreadsheet would take for one is
prefixed with an apostrophe.
"""

import csv
import io
from collections.abc import AsyncIterator, Sequence

from leyden.base.http.responses import NO_STORE, Stream
from leyden.base.rules.spreadsheets import escape_formula

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
        self.headers = (
            (b"content-type", b"text/csv; charset=utf-8; header=present"),
            (b"content-disposition", f'attachment; filename="{name}.csv"'.encode()),
            (b"vary", b"accept"),
            NO_STORE,
        )
        self._first = [headline, *first]
        self._rest = rest

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the rows, page by page; a truncated response is noticed."""
        yield _lines(self._first)
        async for page in self._rest:
            yield _lines(page)


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
