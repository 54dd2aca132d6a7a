"""The modules that a Go program was built from, by its build info.

Go writes them into each program, with the marks that its own tools look for:
https://pkg.go.dev/debug/buildinfo.
"""

from collections.abc import Iterator
from typing import Final

_MAGIC: Final = b"\xff Go buildinf:"
_STRINGS_AT: Final = 32
_INLINE: Final = 2  # a flag in the byte after the pointer's size: strings follow
_FLAGS_AT: Final = 15
_OURS: Final = "(devel)"  # a module of the folder that was built
_MARK: Final = 16  # bytes before and after the list of modules


def modules(program: bytes) -> Iterator[tuple[str, str]]:
    """Return path and version of each module; nothing for other programs."""
    found = program.find(_MAGIC)
    while found >= 0 and not program[found + _FLAGS_AT] & _INLINE:
        found = program.find(_MAGIC, found + 1)
    if found < 0:
        return
    _, at = _string(program, found + _STRINGS_AT)
    told, _ = _string(program, at)
    last: tuple[str, str] | None = None
    for line in told[_MARK:-_MARK].decode().splitlines():
        kind, *words = line.split("\t")
        if kind in {"mod", "dep"}:
            if last:
                yield last
            last = (words[0], words[1] if words[1] != _OURS else "")
        elif kind == "=>":  # what stands in for the one before
            last = (words[0], words[1] if len(words) > 1 else "")
    if last:
        yield last


def _string(program: bytes, at: int) -> tuple[bytes, int]:
    size = shift = 0
    while True:
        byte = program[at]
        at += 1
        size |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return program[at : at + size], at + size
        shift += 7
