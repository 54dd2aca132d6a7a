"""Passwords: hashed and checked slowly on purpose, in threads."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from threading import BoundedSemaphore
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from leyden.errors import Away, Malformed

_SHORTEST = 10
_LONGEST = 1_000
# Each takes 64 MiB and most of a processor. Others wait, for a few seconds at most: a
# longer queue is a flood, and its requests are refused.
_SLOWLY = ThreadPoolExecutor(2, thread_name_prefix="password")
MOST = 20
_PLACES = BoundedSemaphore(MOST)
_BUSY = "Too many people are signing in; try again in a moment."
_COME_BACK_S = 5

_Done = TypeVar("_Done")


def check(password: str) -> str:
    """Return the password; raise Malformed, with the reason, if unsuitable."""
    if len(password) < _SHORTEST:
        raise Malformed(f"password: must have at least {_SHORTEST} characters")
    if len(password) > _LONGEST:
        raise Malformed(f"password: must have at most {_LONGEST} characters")
    return password


def check_room() -> None:
    """Raise Away if the queue for password checks is full."""
    if not _PLACES.acquire(blocking=False):
        raise Away(_BUSY, retry_after_s=_COME_BACK_S)
    _PLACES.release()


async def digest(password: str) -> str:
    """Hash a password; raise Malformed if it is unsuitable."""
    check(password)
    return await _slowly(lambda: _hasher().hash(password))


async def is_right(password: str, kept: str | None) -> bool:
    """Return whether the password is right; as slow if there is none."""
    return await _slowly(partial(_verify, password[:_LONGEST], kept))


async def _slowly(work: Callable[[], _Done]) -> _Done:
    """Run the work on its turn; raise Away if the queue is full."""
    if not _PLACES.acquire(blocking=False):
        raise Away(_BUSY, retry_after_s=_COME_BACK_S)
    doing = _SLOWLY.submit(work)
    # When it is over, not when nobody waits for it any more: it is done all the same.
    doing.add_done_callback(lambda _: _PLACES.release())
    return await asyncio.wrap_future(doing)


def _verify(password: str, kept: str | None) -> bool:
    try:
        _hasher().verify(kept or _nobodys(), password)
    except (VerificationError, InvalidHashError):
        return False
    return kept is not None


@cache
def _hasher() -> PasswordHasher:
    return PasswordHasher()


@cache
def _nobodys() -> str:
    return _hasher().hash("nobody has this password, nor ever will")
