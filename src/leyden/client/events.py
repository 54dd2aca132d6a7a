"""The event log of one organization: pages, all there is, and what comes."""

from collections.abc import Iterable, Iterator
from typing import Final

from leyden.client.calls import Calls
from leyden.schemas.events import EventsAnswer, LoggedEvent

LATEST: Final = "latest"
_WAIT_S: Final = 25


class Events:
    """The events of one organization."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def page(
        self,
        after: str = "",
        *,
        types: Iterable[str] = (),
        limit: int = 100,
        wait_s: int = 0,
    ) -> EventsAnswer:
        """Return events after a cursor; wait for the first one if asked to."""
        return self._calls.get(
            "/events",
            EventsAnswer,
            after=after or None,
            type=",".join(types) or None,
            limit=limit,
            wait=wait_s or None,
        )

    def all_(
        self, after: str = "", *, types: Iterable[str] = ()
    ) -> Iterator[LoggedEvent]:
        """Yield all events after a cursor, oldest first, up to now."""
        types = tuple(types)
        has_more = True
        while has_more:
            page = self.page(after, types=types)
            yield from page.events
            after, has_more = page.cursor, page.has_more

    def follow(
        self, after: str = LATEST, *, types: Iterable[str] = (), wait_s: int = _WAIT_S
    ) -> Iterator[EventsAnswer]:
        """Yield pages of events for ever, as they happen; keep the `cursor` of each.

        A page is empty where nothing happened for a while.
        """
        types = tuple(types)
        while True:
            page = self.page(after, types=types, wait_s=wait_s)
            yield page
            after = page.cursor
