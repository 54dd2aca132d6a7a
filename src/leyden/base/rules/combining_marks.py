"""Limit the number of combining marks on one letter.

Unicode normalization orders the marks on a letter, and Python uses an
insertion sort: 43,000 marks on one letter take 1.4 s, four times as many 20 s.
"""

import unicodedata
from itertools import groupby
from typing import Final

_WRITTEN_AS: Final = 4
MAX_MARKS: Final = 30  # on one letter, as Unicode's Stream-Safe Text Format has it


def compose(text: str, *, limit: int) -> str | None:
    """Return the text composed (NFC) and trimmed, or None if it is too long.

    At most `limit` characters are allowed. One letter can be written as four, so
    no more than four times as many are ever composed.
    """
    if len(text) > _WRITTEN_AS * limit:
        return None
    found = unicodedata.normalize("NFC", text).strip()
    return found if len(found) <= limit else None


def limit_marks(text: str) -> str:
    """Return the text without marks beyond what any language uses on a letter."""
    if text.isascii() or not any(map(unicodedata.combining, text)):
        return text
    parts: list[str] = []
    for combining, run in groupby(text, lambda c: bool(unicodedata.combining(c))):
        part = "".join(run)
        parts.append(part[:MAX_MARKS] if combining else part)
    return "".join(parts)
