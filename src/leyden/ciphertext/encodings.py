"""Decoders for the encodings in which a text may be hidden.

Decoding is tried wherever it could apply. A wrong guess does no harm,
because only a plaintext that is really there is ever found.
"""

import base64
import binascii
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from html import unescape
from typing import Final
from urllib.parse import unquote_to_bytes

from leyden.ciphertext import private_keys
from leyden.ciphertext.compression import decompress
from leyden.ciphertext.randomness import evenly_written, is_text, unevenness
from leyden.domain.combining_marks import limit_marks
from leyden.values import Struct

_BYTES = 256
# Ciphertext stays below this but once in a hundred thousand times, plaintext seldom
# does; above it, further ways of reading are worth their while.
_SUSPICIOUS = {64: 120.0, 16: 45.0}
_LONGEST_BASE58 = 256  # reading it takes the square of its length


class Layer(Struct, frozen=True):
    """A decoded layer; `even` if its encoding could be that of ciphertext."""

    content: str | bytes
    even: bool = False


def peel(layer: Layer) -> Iterator[Layer]:
    """Yield what each possible outermost encoding decodes to."""
    if isinstance(layer.content, str):
        text = _whole(layer.content)
        for undo in _TEXT:
            yield from undo(text)
    else:
        yield from _read(layer.content)
        for inside, real in decompress(layer.content):
            yield Layer(inside, even=real)


def _whole(text: str) -> str:
    """Return text that UTF-8 can write: escapes may have left halves of characters."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def objects(text: str) -> list[dict[str, object]]:
    """Return every object in a text of JSON, however deep; none when it is no JSON."""
    found: list[dict[str, object]] = []
    _parse(text, lambda pairs: found.append(dict(pairs)))
    return found


_BLOCK = re.compile(r"[A-Za-z0-9+/_-]{16,}(?:\r?\n[A-Za-z0-9+/_-]+)*")
_WRAPPED = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_HEX = re.compile(r"[0-9A-Fa-f]{2}(?:[\s:,;.|_-]{0,2}(?:0x|\\x)?[0-9A-Fa-f]{2}){15,}")
_NO_HEX = re.compile(r"0x|[^0-9A-Fa-f]")
_BASE32 = re.compile(r"(?<![\w+/-])(?:[A-Z2-7]{26,}|[a-z2-7]{26,})(?![\w+/-])")
_BASE58 = re.compile(r"(?<![\w+/-])[1-9A-HJ-NP-Za-km-z]{16,}(?![\w+/=-])")
_NUMBERS = re.compile(r"\d{1,3}(?:[\s,;]+\d{1,3}){15,}")
_BITS = re.compile(r"[01]{8}(?:[\s,]*[01]{8}){15,}")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([0-7]{3}))")
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_EQUALS = re.compile(r"=[0-9A-Fa-f]{2}")
_PRINTABLE = re.compile(rb"[\x20-\x7e\t\r\n]{16,}")


def _base64(text: str) -> Iterator[Layer]:
    blocks = dict.fromkeys("".join(block.split()) for block in _BLOCK.findall(text))
    compact = "".join(text.split())
    if _WRAPPED.fullmatch(compact):
        blocks[compact.rstrip("=")] = None
    for block in blocks:
        letters = block.replace("-", "+").replace("_", "/")
        yield Layer(_decode64(letters), evenly_written(letters, 64))
        if (
            unevenness(letters, 64) > _SUSPICIOUS[64]
        ):  # it may be reversed, or glued to something
            yield Layer(_decode64(letters[::-1]))
            for glued in (1, 2, 3):
                yield Layer(_decode64(letters[glued:]))


def _decode64(letters: str) -> bytes:
    whole = letters[: len(letters) - (len(letters) % 4 == 1)]
    return binascii.a2b_base64(whole + "=" * (-len(whole) % 4))


def _hex(text: str) -> Iterator[Layer]:
    for match in _HEX.findall(text):
        digits = _NO_HEX.sub("", match).lower()
        digits = digits[: len(digits) // 2 * 2]
        yield Layer(bytes.fromhex(digits), evenly_written(digits, 16))
        if unevenness(digits, 16) > _SUSPICIOUS[16]:
            yield Layer(bytes.fromhex(digits[::-1]))


def _base32(text: str) -> Iterator[Layer]:
    for match in _BASE32.findall("".join(text.split())):
        whole = match[: len(match) // 8 * 8]
        yield Layer(base64.b32decode(whole, casefold=True))


def _base58(text: str) -> Iterator[Layer]:
    for match in _BASE58.findall(text):
        yield Layer(private_keys.from_base58(match[:_LONGEST_BASE58]))


def _base85(text: str) -> Iterator[Layer]:
    compact = "".join(text.split()).removeprefix("<~").removesuffix("~>")
    if _WRAPPED.fullmatch(compact):
        return
    for decode in (base64.b85decode, base64.a85decode):
        try:
            yield Layer(decode(compact))
        except ValueError:
            continue


def _numbers(text: str) -> Iterator[Layer]:
    for match in _NUMBERS.findall(text):
        numbers = [int(number) for number in re.findall(r"\d+", match)]
        if max(numbers) < _BYTES:
            yield Layer(bytes(numbers), even=True)
    for match in _BITS.findall(text):
        bits = re.sub(r"[^01]", "", match)
        yield Layer(int(bits, 2).to_bytes(len(bits) // 8))


def _escapes(text: str) -> Iterator[Layer]:
    if _PERCENT.search(text):
        yield Layer(unquote_to_bytes(text))
    if _EQUALS.search(text):
        yield Layer(binascii.a2b_qp(text.encode()))
    if _ESCAPE.search(text):
        yield Layer(_ESCAPE.sub(_escaped, text))
    if "&" in text:
        yield Layer(unescape(text))
    if not text.isascii():
        composed = unicodedata.normalize("NFKC", limit_marks(text))
        yield Layer("".join(c for c in composed if unicodedata.category(c) != "Cf"))


def _escaped(match: re.Match[str]) -> str:
    code, byte, octal = match.groups()
    return chr(int(octal, 8) if octal else int(code or byte, 16))


def _strings(text: str) -> Iterator[Layer]:
    """Yield the strings of a JSON text one by one, and as the list they may be."""
    strings: list[str] = []

    def note(value: object) -> None:
        if isinstance(value, str):
            strings.append(value)
        elif isinstance(value, list):
            for item in value:
                note(item)

    note(_parse(text, lambda pairs: note([value for _, value in pairs])))
    if strings:
        yield Layer(" ".join(strings))
        yield from map(Layer, strings)


def _parse(text: str, see: Callable[[list[tuple[str, object]]], object]) -> object:
    """Parse JSON; pass each object's pairs, duplicates included, to `see`."""
    if not text.lstrip().startswith(("{", "[", '"')):
        return None
    try:
        return json.loads(text, object_pairs_hook=see)
    except (ValueError, RecursionError):
        return None


_TEXT: Final = (_base64, _hex, _base32, _base58, _base85, _numbers, _escapes, _strings)


def _read(data: bytes) -> Iterator[Layer]:
    """Yield bytes decoded as text, whole or wherever a part is readable."""
    if is_text(data):
        yield Layer(data.decode())
        return
    for match in _PRINTABLE.findall(data):
        yield Layer(match.decode())
    if data.count(0) >= len(data) // 4:  # UTF-16 or UTF-32 of plain letters
        yield Layer(data.replace(b"\0", b"").decode("latin-1"))
