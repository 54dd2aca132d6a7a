"""Texts with so many accents on one letter that composing them takes for ever.

Unicode puts the marks on a letter in an order of their own, and Python sorts them by
insertion: 43,000 on one letter take 1.4 s, four times as many 20 s.
"""

import unicodedata
from itertools import groupby
from typing import Final

_WRITTEN_AS: Final = 4
MOST_MARKS: Final = 30  # on one letter, as Unicode's Stream-Safe Text Format has it


def composed(text: str, *, most: int) -> str | None:
    """Return the text composed (NFC) and trimmed, None if it has more characters.

    One letter can be written as four, so no more than that is ever composed.
    """
    if len(text) > _WRITTEN_AS * most:
        return None
    found = unicodedata.normalize("NFC", text).strip()
    return found if len(found) <= most else None


def with_few_marks(text: str) -> str:
    """Return the text without the marks that no letter of any language has."""
    if text.isascii() or not any(map(unicodedata.combining, text)):
        return text
    parts: list[str] = []
    for combining, run in groupby(text, lambda c: bool(unicodedata.combining(c))):
        part = "".join(run)
        parts.append(part[:MOST_MARKS] if combining else part)
    return "".join(parts)
