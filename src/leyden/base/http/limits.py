"""Rate limits: a token bucket for each client, refilled evenly.

The buckets are in memory, so each replica counts for itself. A limit that
must hold across replicas (coupon guesses) is stored in the database by the
code that enforces it.
"""

import asyncio
from collections import Counter
from math import ceil
from typing import Final, NamedTuple

from leyden.errors import TooMany

MAX_BUCKETS: Final = 50_000
# An organization may have twenty keys, and a hundred people at the dashboard: together
# they get what so many may do.
TOGETHER: Final = 5
# Many people may be behind one address, each with a program that has a wrong key.
_PER_ADDRESS = 10
# A client that obeys Retry-After is refused once a second at most.
_REFUSED_AT_ONCE: Final = 60  # a minute
_REFUSED_AFTER_S: Final = 1.0
# A refusal that waits holds a connection, which nobody else can have meanwhile.
_MAX_WAITING: Final = 100


class Allowance(NamedTuple):
    """How many requests a caller may still send, and when all of them again."""

    limit: int  # a minute
    remaining: int
    reset_s: int


class RateLimit:
    """Limit requests per minute; a burst is at most a minute's worth."""

    def __init__(self, per_minute: int) -> None:
        self._most = float(per_minute)
        self._per_second = per_minute / 60
        self._buckets: dict[str, tuple[float, float]] = {}  # (tokens, at)

    def take(self, who: str, *, at_s: float, number: int = 1) -> None:
        """Count a request; raise TooMany, with the time to wait, over the limit.

        Several requests may be counted together, at most a minute's worth: a
        full bucket allows them.
        """
        cost = max(1.0, min(number, self._most))
        tokens = self._left(who, at_s)
        if tokens < cost:
            self._keep(who, tokens, at_s)
            raise TooMany(
                retry_after_s=self._wait_s(tokens - cost + 1), limit=int(self._most)
            )
        self._keep(who, tokens - cost, at_s)

    def allowance(self, who: str, *, at_s: float) -> Allowance:
        """Return what is left, without counting."""
        tokens = self._left(who, at_s)
        missing_s = (self._most - tokens) / self._per_second if self._per_second else 60
        return Allowance(int(self._most), int(tokens), ceil(missing_s))

    def check(self, who: str, *, at_s: float) -> None:
        """Raise TooMany as `take` would, without counting."""
        if self._buckets and (tokens := self._left(who, at_s)) < 1:
            raise TooMany(retry_after_s=self._wait_s(tokens), limit=int(self._most))

    def _left(self, who: str, at_s: float) -> float:
        tokens, before = self._buckets.get(who, (self._most, at_s))
        # A clock that was set back by an hour would take an hour's worth of tokens.
        passed_s = max(0.0, at_s - before)
        return min(self._most, tokens + passed_s * self._per_second)

    def _keep(self, who: str, tokens: float, at_s: float) -> None:
        self._buckets.pop(who, None)  # so that the one used last comes last
        if len(self._buckets) >= MAX_BUCKETS:
            # Unused for the longest time, it is the likeliest to be full again.
            del self._buckets[next(iter(self._buckets))]
        self._buckets[who] = tokens, at_s

    def _wait_s(self, tokens: float) -> int:
        return max(1, ceil((1 - tokens) / self._per_second)) if self._per_second else 60


class Requests:
    """Requests of a key or a person, and of all of their organization together."""

    def __init__(self, per_minute: int) -> None:
        self._of_one = RateLimit(per_minute)
        self._of_all = RateLimit(per_minute * TOGETHER)

    def take(self, who: str, organization_id: str, *, at_s: float) -> None:
        """Count a request; raise TooMany, with the time to wait, over a limit."""
        self._of_one.take(who, at_s=at_s)
        try:
            self._of_all.take(organization_id, at_s=at_s)
        except TooMany as error:
            raise TooMany(
                "your organization sends too many requests; wait "
                f"{error.retry_after_s} s and try again",
                retry_after_s=error.retry_after_s,
                limit=error.limit,
            ) from None

    def allowance(self, who: str, organization_id: str, *, at_s: float) -> Allowance:
        """Return what is left of the limit that is nearer."""
        return min(
            self._of_one.allowance(who, at_s=at_s),
            self._of_all.allowance(organization_id, at_s=at_s),
            key=lambda each: each.remaining,
        )


class Refusals:
    """Delays of refusals, so that callers who retry at once cause few of them.

    A refusal costs nearly as much as any response. An organization gets one a second
    without delay; after that, a connection is refused once a second.
    """

    def __init__(self, *, after_s: float = _REFUSED_AFTER_S) -> None:
        self._at_once = RateLimit(_REFUSED_AT_ONCE)
        self._waiting: Counter[str] = Counter()
        self._after_s = after_s

    async def wait(self, organization_id: str, *, at_s: float) -> None:
        """Wait until a refusal may be sent."""
        try:
            self._at_once.take(organization_id, at_s=at_s)
        except TooMany:
            if self._waiting[organization_id] >= _MAX_WAITING:
                return
            self._waiting[organization_id] += 1
            try:
                await asyncio.sleep(self._after_s)
            finally:
                self._waiting[organization_id] -= 1
                self._waiting += Counter()  # which forgets who has none


class Failures:
    """Failed attempts, by address and value tried, and by address alone.

    Callers check the value first and count only failures, so that a correct
    value is never delayed by others at the same address.
    """

    def __init__(self, per_minute: int) -> None:
        self._of_one = RateLimit(per_minute)
        self._of_all = RateLimit(per_minute * _PER_ADDRESS)

    def take(self, address: str, tried: str, *, at_s: float) -> None:
        """Count a failure; raise TooMany, with the time to wait, over the limit."""
        self._of_all.take(address, at_s=at_s)  # first: it bounds how many are kept
        self._of_one.take(f"{address} {tried}", at_s=at_s)
