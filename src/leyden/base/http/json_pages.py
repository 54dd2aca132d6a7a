"""Long responses in JSON, written page by page."""

from collections.abc import AsyncIterator, Sequence

import msgspec

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
