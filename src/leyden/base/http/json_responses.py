"""Long responses in JSON, streamed page by page as rows are read."""

from collections.abc import AsyncIterator

from leyden.base.http.responses import NO_STORE
from leyden.base.http.streams import Stream


class Pages(Stream):
    """A response that base/http/json_pages.py writes."""

    headers = ((b"content-type", b"application/json"), NO_STORE)

    def __init__(self, pages: AsyncIterator[bytes]) -> None:
        self._pages = pages

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the pages; a truncated response is noticed."""
        return self._pages
