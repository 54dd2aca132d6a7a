"""Passwords: hashed and checked slowly on purpose, in threads."""

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from threading import Lock
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from leyden.base.rules.addresses import rate_limit_key
from leyden.errors import Away, Malformed

_SHORTEST = 10
_LONGEST = 1_000
# Each hash takes 64 MiB and most of a CPU. Others wait, for a few seconds at most: a
# longer queue is a flood, and its requests are refused.
_SLOWLY = ThreadPoolExecutor(2, thread_name_prefix="password")
LIMIT = 20
# More at once from one address are several people, or a flood: they must not take the
# places of others.
MAX_OF_ONE = 5
_BUSY = "Too many people are signing in; try again in a moment."
_COME_BACK_S = 5

_Done = TypeVar("_Done")


class _Slots:
    """Places in the queue, of which one address has some at the most."""

    def __init__(self) -> None:
        self._lock = Lock()  # they are given back in threads
        self._taken: Counter[str] = Counter()

    def check(self, address: str) -> None:
        """Raise Away if there is no place; "" is no address, and has no limit."""
        with self._lock:
            self._check(rate_limit_key(address))

    def take(self, address: str) -> None:
        """Take a place; raise Away if there is none."""
        mine = rate_limit_key(address)
        with self._lock:
            self._check(mine)
            self._taken[mine] += 1

    def give_back(self, address: str) -> None:
        """Leave a place to others."""
        with self._lock:
            self._taken[rate_limit_key(address)] -= 1
            self._taken += Counter()  # which forgets who has none

    def _check(self, mine: str) -> None:
        if self._taken.total() >= LIMIT or (mine and self._taken[mine] >= MAX_OF_ONE):
            raise Away(_BUSY, retry_after_s=_COME_BACK_S)


_SLOTS = _Slots()


def check(password: str) -> str:
    """Return the password; raise Malformed, with the reason, if unsuitable."""
    if len(password) < _SHORTEST:
        raise Malformed(f"password: must have at least {_SHORTEST} characters")
    if len(password) > _LONGEST:
        raise Malformed(f"password: must have at most {_LONGEST} characters")
    return password


def check_room(address: str) -> None:
    """Raise Away if there is no place in the queue for a check from this address."""
    _SLOTS.check(address)


async def digest(password: str, *, address: str = "") -> str:
    """Hash a password; raise Malformed if it is unsuitable."""
    check(password)
    return await _slowly(lambda: _hasher().hash(password), address)


async def is_right(
    password: str, password_hash: str | None, *, address: str = ""
) -> bool:
    """Return whether the password is right; as slow if there is none."""
    return await _slowly(partial(_verify, password[:_LONGEST], password_hash), address)


async def _slowly(work: Callable[[], _Done], address: str) -> _Done:
    """Run the work on its turn; raise Away if the queue is full."""
    _SLOTS.take(address)
    doing = _SLOWLY.submit(work)
    # When it is over, not when nobody waits for it any more: it is done all the same.
    doing.add_done_callback(lambda _: _SLOTS.give_back(address))
    return await asyncio.wrap_future(doing)


def _verify(password: str, password_hash: str | None) -> bool:
    try:
        _hasher().verify(password_hash or _nobodys(), password)
    except (VerificationError, InvalidHashError):
        return False
    return password_hash is not None


@cache
def _hasher() -> PasswordHasher:
    return PasswordHasher()


@cache
def _nobodys() -> str:
    return _hasher().hash("nobody has this password, nor ever will")
