"""A way to the platform on which everything that is said to it is written down."""

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

SHORTEST = 6  # letters; what is shorter is found anywhere by chance


@dataclass
class Overheard:
    """What was said, and where to say it."""

    url: str = ""
    said: bytearray = field(default_factory=bytearray)

    def holds(self, secret: bytes) -> str | None:
        """Return in which form a secret was said, if it was."""
        for form, written in forms(secret):
            if written in self.said:
                return form
        return None


def forms(secret: bytes) -> Iterator[tuple[str, bytes]]:
    """Write a secret in every way in which it could slip out."""
    assert len(secret) >= SHORTEST
    yield "as it is", secret
    yield "reversed", secret[::-1]
    yield "hex", secret.hex().encode()
    yield "HEX", secret.hex().upper().encode()
    yield "percent", quote(secret, safe="").encode()
    yield "base32", base64.b32encode(secret).rstrip(b"=")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for shift in range(3):  # wherever it stands in a longer text
            complete = encode(bytes(shift) + secret)
            first = (0, 2, 3)[shift]
            yield f"base64, {shift}", complete[first : len(complete) // 4 * 4 - 4]


@asynccontextmanager
async def overhearing(base_url: str) -> AsyncIterator[Overheard]:
    """Stand between whoever calls and the platform."""
    platform = urlsplit(base_url)
    heard = Overheard()
    writers: list[asyncio.StreamWriter] = []

    async def carry(
        source: asyncio.StreamReader, target: asyncio.StreamWriter, *, note: bool
    ) -> None:
        with suppress(OSError):
            while part := await source.read(65536):
                if note:
                    heard.said += part
                target.write(part)
                await target.drain()
            target.write_eof()

    async def connected(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        far_reader, far_writer = await asyncio.open_connection(
            platform.hostname, platform.port
        )
        writers.extend((writer, far_writer))
        heard.said += b"\n"  # no secret spans two connections
        try:
            await asyncio.gather(
                carry(reader, far_writer, note=True),
                carry(far_reader, writer, note=False),
            )
        finally:
            far_writer.close()
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    heard.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield heard
    finally:
        server.close()
        for writer in writers:
            writer.close()
