"""Long responses in JSON, written page by page as rows are read."""

from collections.abc import AsyncIterator, Sequence

import msgspec

from leyden.base.http.responses import NO_STORE, Stream

_encode = msgspec.json.Encoder().encode
_END = b"]}"


async def write(
    answer: msgspec.Struct, pages: AsyncIterator[Sequence[msgspec.Struct]]
) -> AsyncIterator[bytes]:
    """Yield an answer, whose last field is an empty list, with these items in it."""
    comma = b""
    yield _encode(answer).removesuffix(_END)
    async for page in pages:
        if page:
            yield comma + b",".join(map(_encode, page))
            comma = b","
    yield _END


class JsonPages(Stream):
    """A response that is streamed as `write` yields it."""

    headers = ((b"content-type", b"application/json"), NO_STORE)

    def __init__(self, pages: AsyncIterator[bytes]) -> None:
        self._pages = pages

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the pages; a truncated response is noticed."""
        return self._pages
