"""The event log of one organization: pages, all there is, and what comes."""

from collections.abc import Iterable, Iterator
from datetime import datetime
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
        node_id: str | None = None,
        order_id: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        limit: int = 100,
        wait_s: int = 0,
    ) -> EventsAnswer:
        """Return events after a cursor; wait for the first one if asked to."""
        return self._calls.get(
            "/events",
            EventsAnswer,
            after=after or None,
            type=",".join(types) or None,
            node_id=node_id,
            order_id=order_id,
            created_after=created_after,
            created_before=created_before,
            limit=limit,
            wait=wait_s or None,
        )

    def list(
        self,
        after: str = "",
        *,
        types: Iterable[str] = (),
        node_id: str | None = None,
        order_id: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> Iterator[LoggedEvent]:
        """Yield all events after a cursor that match, oldest first, up to now."""
        types = tuple(types)
        has_more = True
        while has_more:
            page = self.page(
                after,
                types=types,
                node_id=node_id,
                order_id=order_id,
                created_after=created_after,
                created_before=created_before,
            )
            yield from page.events
            after, has_more = page.cursor, page.has_more

    all_ = list  # noqa: A003  its former name

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
