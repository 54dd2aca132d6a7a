"""Orders that were just paid, as they were written: whoever makes a ticket knows them.

Nothing hangs on it. Who finds an order here need not read it, and looks at it again,
locked, before anything is written; who does not find it reads it.
"""

from collections.abc import Iterable

from leyden.domain.orders import Order

# Another process may make the tickets: then nobody ever takes an order from here.
_MOST = 8_192


class Paid:
    """What this process booked and nobody took up yet."""

    def __init__(self) -> None:
        self._orders: dict[str, Order] = {}

    def keep(self, orders: Iterable[Order]) -> None:
        """Remember these, for a while."""
        if len(self._orders) >= _MOST:
            self._orders.clear()
        self._orders.update((order.id, order) for order in orders)

    def take(self, order_id: str) -> Order | None:
        """Give an order to whoever asks first."""
        return self._orders.pop(order_id, None)
