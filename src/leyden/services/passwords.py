"""Passwords: digested and checked slowly on purpose, beside the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, TypeVar

from leyden.errors import Away, Malformed

if TYPE_CHECKING:
    from argon2 import PasswordHasher

_SHORTEST = 10
_LONGEST = 1_000
# Each takes 64 MiB and most of a processor; whoever comes third waits, for a few
# seconds at most: more than that is a flood, and those in it are asked to come back.
_SLOWLY = ThreadPoolExecutor(2, thread_name_prefix="password")
MOST = 20
_PLACES = BoundedSemaphore(MOST)
_BUSY = "Too many people sign in just now; try again in a moment."
_COME_BACK_S = 5

_Done = TypeVar("_Done")


def check(password: str) -> str:
    """Give the password back, or say what is wrong with it."""
    if len(password) < _SHORTEST:
        raise Malformed(f"password: must have at least {_SHORTEST} characters")
    if len(password) > _LONGEST:
        raise Malformed(f"password: must have at most {_LONGEST} characters")
    return password


def check_room() -> None:
    """Raise Away when so many wait that one more would be turned away."""
    if not _PLACES.acquire(blocking=False):
        raise Away(_BUSY, retry_after_s=_COME_BACK_S)
    _PLACES.release()


async def digest(password: str) -> str:
    """Digest a password; Malformed when it is no good."""
    check(password)
    return await _slowly(lambda: _hasher().hash(password))


async def is_right(password: str, kept: str | None) -> bool:
    """Tell whether it is the one; where there is none, take as long to say no."""
    return await _slowly(partial(_verify, password[:_LONGEST], kept))


async def _slowly(work: Callable[[], _Done]) -> _Done:
    """Do it when its turn comes; Away when too many wait already."""
    if not _PLACES.acquire(blocking=False):
        raise Away(_BUSY, retry_after_s=_COME_BACK_S)
    doing = _SLOWLY.submit(work)
    # When it is over, not when nobody waits for it any more: it is done all the same.
    doing.add_done_callback(lambda _: _PLACES.release())
    return await asyncio.wrap_future(doing)


def _verify(password: str, kept: str | None) -> bool:
    from argon2.exceptions import (  # noqa: PLC0415  as late as the hasher
        InvalidHashError,
        VerificationError,
    )

    try:
        _hasher().verify(kept or _nobodys(), password)
    except (VerificationError, InvalidHashError):
        return False
    return kept is not None


@cache
def _hasher() -> "PasswordHasher":
    from argon2 import PasswordHasher  # noqa: PLC0415  most starts see no password

    return PasswordHasher()


@cache
def _nobodys() -> str:
    return _hasher().hash("nobody has this password, nor ever will")
