"""Render lnd.conf, and parse it back as lnd does.

lnd's parser (go-flags) ends a value only at the end of its line, and parses
a value that begins with a quote as a Go string. So a line break in an alias
injects an option ("restcors=*" was injected that way), and a node with a
leading quote in a value never starts. The writer rejects both. Before lnd
starts, the file is parsed and compared with what was meant, by a reader that
shares no code with the writer.
"""

import re
from collections.abc import Collection, Iterable

from leyden.errors import Malformed

Lines = tuple[tuple[str, str], ...]

_SECTION = "[Application Options]"
_HEAD = f"; Overwritten at every start: edit the node's settings instead.\n{_SECTION}\n"
_KEY = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")
# Control characters, line and paragraph separators, and lone surrogates.
_UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_MAX_BYTES = 1 << 20
# The white space that Go's strings.TrimSpace removes.
_BLANKS = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)


def write(lines: Iterable[tuple[str, str]]) -> bytes:
    """Render the options; raise Malformed for one that lnd would read differently."""
    return (_HEAD + "".join(map(_line, lines))).encode()


def read(content: bytes) -> Lines:
    """Parse options as lnd does; raise Malformed for anything but plain options."""
    if len(content) > _MAX_BYTES:
        raise Malformed("lnd.conf: the file is too large")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise Malformed("lnd.conf: the file is not UTF-8") from None
    found: list[tuple[str, str]] = []
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip(_BLANKS)
        if not line or line[0] in ";#":
            continue
        if line[0] == "[":
            if line != _SECTION:
                raise Malformed(f"lnd.conf: line {number} starts another section")
            continue
        key, equals, value = line.partition("=")
        key, value = key.strip(_BLANKS), value.strip(_BLANKS)
        if not equals or value.startswith('"'):
            raise Malformed(f"lnd.conf: line {number} is not a plain option")
        found.append((key, value))
    return tuple(found)


def verify(content: bytes, lines: Lines, *, repeatable: Collection[str]) -> None:
    """Raise Malformed unless lnd will read exactly these options, each once."""
    found = read(content)
    if found != lines:
        raise Malformed("lnd.conf: lnd would read other options than intended")
    keys = [key for key, _ in found if key not in repeatable]
    if len(keys) != len(set(keys)):
        raise Malformed("lnd.conf: an option is set twice")


def _line(line: tuple[str, str]) -> str:
    key, value = line
    if not _KEY.fullmatch(key):
        raise Malformed(f"lnd.conf: {key!r} is not the name of an option")
    if not value or value != value.strip() or value.startswith('"'):
        raise Malformed(f"{key}: lnd would read this value differently")
    if _UNWRITABLE.search(value):
        raise Malformed(f"{key}: must not contain control characters or line breaks")
    return f"{key}={value}\n"
