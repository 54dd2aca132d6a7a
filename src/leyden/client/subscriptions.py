"""Subscriptions: webhook endpoints of one organization."""

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from leyden.client.calls import Calls, word
from leyden.schemas.subscriptions import (
    DeletedSubscription,
    EventDeliveriesAnswer,
    EventDelivery,
    NewSubscriptionAnswer,
    ResendFrom,
    SubscriptionItem,
    SubscriptionsAnswer,
    SubscriptionSecret,
)


class Subscriptions:
    """The subscriptions of one organization."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def list(self) -> builtins.list[SubscriptionItem]:
        """List all subscriptions, oldest first."""
        return self._calls.get(_path(), SubscriptionsAnswer).subscriptions

    list_ = list  # noqa: A003  its former name

    def create(
        self,
        url: str,
        types: Sequence[str] = ("*",),
        *,
        description: str = "",
        format_: str = "standard",
        key: str | None = None,
    ) -> NewSubscriptionAnswer:
        """Create a subscription; its secret is in the answer, and only there.

        With the format `slack`, `discord`, `telegram` or `ntfy` people get sentences.
        """
        body = {
            "url": url,
            "types": [*types],
            "description": description,
            "format": format_,
        }
        return self._calls.post_once(_path(), NewSubscriptionAnswer, body, key)

    def get(self, subscription_id: str) -> SubscriptionItem:
        """Return a subscription."""
        return self._calls.get(_path(subscription_id), SubscriptionItem)

    def update(self, subscription_id: str, **changes: Any) -> SubscriptionItem:
        """Change `url`, `types`, `description`, or whether it is `paused`."""
        return self._calls.post(_path(subscription_id), SubscriptionItem, changes)

    change = update  # its former name

    def delete(self, subscription_id: str) -> None:
        """Delete a subscription."""
        self._calls.delete(_path(subscription_id), DeletedSubscription)

    def test(self, subscription_id: str, *, type_: str = "") -> EventDelivery:
        """Send a test event now."""
        body = {"type": type_} if type_ else {}
        return self._calls.post(_path(subscription_id, "test"), EventDelivery, body)

    def resend(self, subscription_id: str, after: str) -> SubscriptionItem:
        """Send everything after this event again, in order."""
        path = _path(subscription_id, "resend")
        return self._calls.post(path, SubscriptionItem, ResendFrom(after))

    def rotate_secret(self, subscription_id: str) -> SubscriptionSecret:
        """Create a new secret."""
        path = _path(subscription_id, "rotate-secret")
        return self._calls.post(path, SubscriptionSecret)

    def deliveries(
        self, subscription_id: str, *, at_a_time: int = 50
    ) -> Iterator[EventDelivery]:
        """Yield all that it was sent, newest first."""
        path = _path(subscription_id, "deliveries")
        cursor = 0
        while True:
            page = self._calls.get(
                path, EventDeliveriesAnswer, limit=at_a_time, cursor=cursor or None
            )
            yield from page.deliveries
            if not (cursor := page.next_cursor):
                return

    def redeliver(self, subscription_id: str, delivery_id: str) -> EventDelivery:
        """Send an event again now."""
        path = _path(subscription_id, "deliveries", delivery_id, "redeliver")
        return self._calls.post(path, EventDelivery)


def _path(*words: str) -> str:
    return "".join(f"/{word(each)}" for each in ("subscriptions", *words))
