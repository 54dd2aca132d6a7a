"""A book of orders for tests of the market alone."""

from dataclasses import dataclass

from leyden.base.rules.units import Sats


@dataclass
class Pages:
    """A book of orders for one test."""

    promised: int = 0

    async def outstanding(self, order_id: str | None) -> Sats:  # noqa: ARG002
        return Sats(self.promised)
