"""Passwords: digested and checked slowly on purpose, beside the event loop."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from leyden.errors import Malformed

_SHORTEST = 10
_LONGEST = 1_000
# Each takes 64 MiB and most of a processor; whoever comes third waits.
_SLOWLY = ThreadPoolExecutor(2, thread_name_prefix="password")


def check(password: str) -> str:
    """Give the password back, or say what is wrong with it."""
    if len(password) < _SHORTEST:
        raise Malformed(f"password: must have at least {_SHORTEST} characters")
    if len(password) > _LONGEST:
        raise Malformed(f"password: must have at most {_LONGEST} characters")
    return password


async def digest(password: str) -> str:
    """Digest a password; Malformed when it is no good."""
    check(password)
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_SLOWLY, PasswordHasher().hash, password)


async def is_right(password: str, kept: str | None) -> bool:
    """Tell whether it is the one; where there is none, take as long to say no."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_SLOWLY, _verify, password[:_LONGEST], kept)


def _verify(password: str, kept: str | None) -> bool:
    try:
        PasswordHasher().verify(kept or _nobodys(), password)
    except (VerificationError, InvalidHashError):
        return False
    return kept is not None


@cache
def _nobodys() -> str:
    return PasswordHasher().hash("nobody has this password, nor ever will")
