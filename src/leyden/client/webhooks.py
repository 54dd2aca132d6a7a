"""A node's webhook: what was told to it, and trying it out."""

from collections.abc import Callable, Iterator

import msgspec

from leyden.client.calls import Calls, word


class EventItem(msgspec.Struct, kw_only=True):
    """An event as it is sent."""

    type: str
    details: dict[str, str]
    api: str


class AttemptItem(msgspec.Struct, kw_only=True):
    """One attempt: what came back, or the error."""

    time: str
    took_ms: int
    status: int | None
    answer: str
    error: str


class Delivery(msgspec.Struct, kw_only=True):
    """An event on its way, with its attempts, oldest first."""

    delivery_id: str
    event: EventItem
    test: bool
    created: str
    status: str
    next_attempt: str
    attempts: list[AttemptItem]


class Receiver(msgspec.Struct, kw_only=True):
    """How the receiver does: active, or paused, and why."""

    webhook: str
    status: str
    reason: str
    failing_since: str


class Deliveries(msgspec.Struct, kw_only=True):
    """A page of deliveries, newest first; `next_cursor` is 0 on the last."""

    node_id: str
    receiver: Receiver
    deliveries: list[Delivery]
    next_cursor: int


class Secret(msgspec.Struct, kw_only=True):
    """The new secret, and until when the old one signs beside it."""

    node_id: str
    webhook_secret: str
    old_secret_signs_until: str


class Webhooks:
    """The webhooks of one organization's nodes."""

    def __init__(self, calls: Calls, organization: Callable[[], str]) -> None:
        self._calls = calls
        self._organization = organization

    def page(self, node_id: str, *, limit: int = 50, cursor: int = 0) -> Deliveries:
        """Give one page of what was told, and how the receiver does."""
        path = self._path(node_id, "deliveries")
        return self._calls.get(path, Deliveries, limit=limit, cursor=cursor or None)

    def deliveries(self, node_id: str, *, at_a_time: int = 50) -> Iterator[Delivery]:
        """Go through all that was told, newest first."""
        cursor = 0
        while True:
            page = self.page(node_id, limit=at_a_time, cursor=cursor)
            yield from page.deliveries
            if not (cursor := page.next_cursor):
                return

    def redeliver(self, node_id: str, delivery_id: str) -> Delivery:
        """Send an event once more, now."""
        path = self._path(node_id, "deliveries", delivery_id, "redeliver")
        return self._calls.post(path, Delivery)

    def test(self, node_id: str, *, status: str | None = None) -> Delivery:
        """Send a status now: this one, else the node's own where it is ever sent."""
        body = None if status is None else {"status": status}
        return self._calls.post(self._path(node_id, "test"), Delivery, body)

    def rotate_secret(self, node_id: str) -> Secret:
        """Make a new webhook secret."""
        return self._calls.post(self._path(node_id, "rotate-secret"), Secret)

    def _path(self, node_id: str, *words: str) -> str:
        organization = self._organization()
        parts = ("organizations", organization, "nodes", node_id, "webhooks", *words)
        return "".join(f"/{word(each)}" for each in parts)
