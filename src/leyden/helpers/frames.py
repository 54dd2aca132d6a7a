"""The frames between us and a helper: a length, and so many bytes."""

import socket
import struct
from typing import Final

_LENGTH: Final = struct.Struct("!Q")


def send(connection: socket.socket, content: bytes) -> None:
    """Send one frame."""
    connection.sendall(_LENGTH.pack(len(content)) + content)


def receive(connection: socket.socket) -> bytes:
    """Receive one frame; raise EOFError if the other side has ended."""
    (length,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    return _exactly(connection, length)


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = connection.recv(min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
