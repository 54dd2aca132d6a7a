"""What a bitcoin costs, as pages show it beside amounts.

Nothing is charged, converted or stored by it.
"""

from datetime import datetime, timedelta
from typing import Final

from leyden.values import Struct

_KNOWN_FOR: Final = timedelta(minutes=10)


class Price(Struct, frozen=True):
    """The price of a bitcoin at a moment."""

    currency: str
    per_bitcoin: float
    at: datetime


class Prices:
    """The last price, in this process; it is lost at its end."""

    def __init__(self) -> None:
        self._last: Price | None = None

    def keep(self, price: Price) -> None:
        """Replace the last price."""
        self._last = price

    def last(self, now: datetime) -> Price | None:
        """Return the last price; None if there is none, or it is too old."""
        known = self._last
        return known if known is not None and now - known.at <= _KNOWN_FOR else None
