"""Recovery codes: their format, and parsing of what people type."""

import secrets
from typing import Final

COUNT: Final = 10
# Crockford's base 32: without letters that look like digits or like each other.
_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_LENGTH: Final = 10  # 50 bits: attempts are limited, and the digest has a key
_READ_AS: Final = str.maketrans({"o": "0", "i": "1", "l": "1", "-": None})


def new_codes() -> tuple[str, ...]:
    """Return new recovery codes, as they are shown: `4n7qk-x20bv`."""
    return tuple(_new_code() for _ in range(COUNT))


def _new_code() -> str:
    letters = "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))
    return f"{letters[: _LENGTH // 2]}-{letters[_LENGTH // 2 :]}"


def parse(typed: str) -> str | None:
    """Return the code's letters; None if this cannot be a recovery code."""
    letters = "".join(typed.split()).lower().translate(_READ_AS)
    if len(letters) != _LENGTH or not set(letters) <= set(_ALPHABET):
        return None
    return letters
