"""Limits on what organizations have us send: at the same time, and by hand."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from leyden.base.http.limits import RateLimit
from leyden.errors import TooMany

# Many names may lead to one receiver: all of an organization's together get as much.
_HOSTS = 3


class Concurrency:
    """A number of permits for concurrent work in one process, shared fairly.

    A receiver that accepts and never answers keeps a delivery in flight for 15 s. An
    organization may have as many in flight as there is still room for, and no more: one
    whose receivers all hang takes half of the room, two such take a third each, and
    there is always some left for the next.
    """

    def __init__(self, limit: int) -> None:
        self._room = limit
        self._under_way: Counter[str] = Counter()

    @contextmanager
    def enter(self, organization_id: str) -> Iterator[bool]:
        """Hold a permit for the block; yield False past the fair share.

        Nothing is held then.
        """
        if self._under_way[organization_id] >= self._room:
            yield False
            return
        self._room -= 1
        self._under_way[organization_id] += 1
        try:
            yield True
        finally:
            self._room += 1
            self._under_way[organization_id] -= 1
            if not self._under_way[organization_id]:
                del self._under_way[organization_id]


class ManualLimit:
    """A limit per minute for one host, and three times that for all hosts.

    It is for tests, redeliveries and resends. Each of them makes us call a host of the
    caller's choice, at once: without a limit we would be a tool to flood others with.
    The counts are in memory, as other limits' are, so each replica of the API counts
    for itself.
    """

    def __init__(self, per_minute: int = 10) -> None:
        self._per_minute = per_minute
        self._to_host = RateLimit(per_minute)
        self._to_all = RateLimit(_HOSTS * per_minute)

    def take(self, organization_id: str, url: str, *, at_s: float) -> None:
        """Count one more; raise TooMany, with the time to wait, past the limit."""
        host = (urlsplit(url).hostname or "").removesuffix(".")
        try:
            self._to_all.check(organization_id, at_s=at_s)
            self._to_host.take(f"{organization_id} {host}", at_s=at_s)
            self._to_all.take(organization_id, at_s=at_s)
        except TooMany as error:
            raise TooMany(
                f"webhook: at most {self._per_minute} tests, redeliveries and resends "
                f"per minute to one host, and {_HOSTS * self._per_minute} per "
                f"organization; try again in {error.retry_after_s} s",
                retry_after_s=error.retry_after_s,
            ) from None
