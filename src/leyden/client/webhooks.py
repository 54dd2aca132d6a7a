"""A node's webhook: deliveries, test events and secrets."""

from collections.abc import Callable, Iterator

from leyden.client.calls import Calls, word
from leyden.schemas.webhooks import DeliveriesAnswer, DeliveryItem, SecretAnswer


class Webhooks:
    """The webhooks of one organization's nodes."""

    def __init__(self, calls: Calls, organization: Callable[[], str]) -> None:
        self._calls = calls
        self._organization = organization

    def page(
        self, node_id: str, *, limit: int = 50, cursor: int = 0
    ) -> DeliveriesAnswer:
        """Return one page of deliveries, with the webhook's status."""
        path = self._path(node_id, "deliveries")
        return self._calls.get(
            path, DeliveriesAnswer, limit=limit, cursor=cursor or None
        )

    def deliveries(
        self, node_id: str, *, at_a_time: int = 50
    ) -> Iterator[DeliveryItem]:
        """Yield all deliveries, newest first."""
        cursor = 0
        while True:
            page = self.page(node_id, limit=at_a_time, cursor=cursor)
            yield from page.deliveries
            if not (cursor := page.next_cursor):
                return

    def redeliver(self, node_id: str, delivery_id: str) -> DeliveryItem:
        """Redeliver an event now."""
        path = self._path(node_id, "deliveries", delivery_id, "redeliver")
        return self._calls.post(path, DeliveryItem)

    def test(self, node_id: str, *, status: str | None = None) -> DeliveryItem:
        """Send a test event with this status now.

        By default the node's current status is sent, if events exist for
        it.
        """
        body = None if status is None else {"status": status}
        return self._calls.post(self._path(node_id, "test"), DeliveryItem, body)

    def rotate_secret(self, node_id: str) -> SecretAnswer:
        """Create a new webhook secret."""
        return self._calls.post(self._path(node_id, "rotate-secret"), SecretAnswer)

    def _path(self, node_id: str, *words: str) -> str:
        organization = self._organization()
        parts = ("organizations", organization, "nodes", node_id, "webhooks", *words)
        return "".join(f"/{word(each)}" for each in parts)
