"""A server that begins to answer with a stream, or not at all, and is busy then.

    async with BusyServer(folder, NAME, authority).serving(LINE) as busy:
        ...                    # call it at HOST and busy.port, and leave the stream
        await busy.all_left()

It reads nothing any more: no goodbye of TLS is answered, and whoever waits for that
waits for long. That a connection was closed is what the kernel says of its own end.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, cast

from tests.authority import Authority

HOST: Final = "127.0.0.1"
_ESTABLISHED: Final = 1
_WITHIN_S: Final = 20.0  # TLS waits for a goodbye for 30


class BusyServer:
    """The server; of a certificate for `name`, by this authority."""

    def __init__(self, folder: Path, name: str, authority: Authority) -> None:
        authority.give(folder, name)
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._tls.load_cert_chain(folder / "tls.cert", folder / "tls.key")
        self._open: list[asyncio.StreamWriter] = []
        self.port = 0
        self.asked = asyncio.Event()

    @asynccontextmanager
    async def serving(self, line: bytes | None) -> AsyncIterator["BusyServer"]:
        """Answer each call with a line, or None with nothing, for the block."""

        async def answer(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            await reader.readuntil(b"\r\n\r\n")
            cast("asyncio.Transport", writer.transport).pause_reading()
            self._open.append(writer)
            self.asked.set()
            if line is not None:
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                writer.write(b"%x\r\n%b\r\n" % (len(line), line))

        server = await asyncio.start_server(answer, HOST, 0, ssl=self._tls)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            try:
                yield self
            finally:
                for each in self._open:
                    each.transport.abort()

    async def all_left(self) -> None:
        """Return once who called has closed each connection; TimeoutError if not."""
        assert self._open
        async with asyncio.timeout(_WITHIN_S):
            for each in self._open:
                while _state(each) == _ESTABLISHED:
                    await asyncio.sleep(0.005)


def _state(connection: asyncio.StreamWriter) -> int:
    taken = connection.get_extra_info("socket")
    return int(taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0])
