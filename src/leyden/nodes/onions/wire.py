"""Tor's control protocol: one connection, commands and their answers.

Nothing that Tor says is believed to be short, to end, or to be text: whatever listens
at the control port may be another program. Nothing that it says is repeated either,
where we have told it a secret: it may have told us the secret back.
"""

import asyncio
from typing import Final

from leyden.errors import TorAway
from leyden.values import Struct

# A service takes a line of 58 bytes; Tor is slow long before it has so many.
_MAX_LINES: Final = 20_000
_LONGEST_LINE: Final = 4_096
_CODE_DIGITS: Final = 3
OK: Final = 250


class TorReply(Struct, frozen=True, kw_only=True):
    """What Tor answered: a code, and lines without it."""

    code: int
    lines: tuple[str, ...]

    @property
    def well(self) -> bool:
        """Whether Tor did what it was told."""
        return self.code == OK

    def values(self, key: str) -> tuple[str, ...]:
        """Return what stands behind `KEY=`, on its line or on those below it."""
        for number, line in enumerate(self.lines):
            name, equals, value = line.partition("=")
            if name == key and equals:
                return (value,) if value else self.lines[number + 1 : -1]
        return ()


class TorConnection:
    """A connection to a control port."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._reader = reader
        self._writer = writer

    @property
    def is_open(self) -> bool:
        """Whether the other side has not hung up, as far as we have heard."""
        return not self._reader.at_eof() and not self._writer.is_closing()

    def close(self) -> None:
        """Hang up, without waiting for the other side."""
        self._writer.close()

    async def ask(self, command: str) -> TorReply:
        """Send one line; return the answer, or raise TorAway if that is none."""
        self._writer.write(command.encode("ascii") + b"\r\n")
        await self._writer.drain()
        lines: list[str] = []
        while True:
            code, kind, text = _parsed(await self._line())
            lines.append(text)
            if kind == " ":
                return TorReply(code=code, lines=tuple(lines))
            while kind == "+" and (data := await self._line()) != ".":
                lines.append(data)
                _check_number(lines)
            _check_number(lines)

    async def _line(self) -> str:
        try:
            line = await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            raise TorAway("hung up in the middle of an answer") from None
        except asyncio.LimitOverrunError:
            raise _other() from None
        try:
            return line.decode("ascii").rstrip("\r\n")
        except UnicodeDecodeError:
            raise _other() from None


async def connect(address: str) -> TorConnection:
    """Connect to HOST:PORT or unix:PATH; raise OSError."""
    if address.startswith("unix:"):
        path = address.removeprefix("unix:")  # which may have a colon, too
        opened = await asyncio.open_unix_connection(path, limit=_LONGEST_LINE)
    else:
        host, _, port = address.rpartition(":")
        opened = await asyncio.open_connection(
            host.strip("[]"), int(port), limit=_LONGEST_LINE
        )
    return TorConnection(*opened)


def _parsed(line: str) -> tuple[int, str, str]:
    code, kind = line[:_CODE_DIGITS], line[_CODE_DIGITS : _CODE_DIGITS + 1]
    if len(code) < _CODE_DIGITS or not code.isdecimal() or kind not in {" ", "-", "+"}:
        raise _other()
    return int(code), kind, line[_CODE_DIGITS + 1 :]


def _check_number(lines: list[str]) -> None:
    if len(lines) > _MAX_LINES:
        raise _other()


def _other() -> TorAway:
    return TorAway("what listens there does not speak Tor's control protocol")
