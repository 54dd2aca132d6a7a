"""A list of words as one parameter: JSON, which both databases can take apart.

A statement is written once, so it cannot have a place for each of any number.
"""

from collections.abc import Iterable

import msgspec


def written_words(words: Iterable[str]) -> str:
    """Write the words as such a parameter."""
    return msgspec.json.encode(list(words)).decode()
