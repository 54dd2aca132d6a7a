"""A book of orders for tests of the market alone."""

from collections.abc import Collection
from dataclasses import dataclass, field

from leyden.domain.pricing import Channel
from leyden.domain.units import Sats


@dataclass
class Pages:
    """A book of orders for one test."""

    kept: set[str] = field(default_factory=set)
    promised: int = 0
    others: set[tuple[int, str]] = field(default_factory=set)

    async def outstanding(self, order_id: str | None) -> Sats:  # noqa: ARG002
        return Sats(self.promised)

    async def owned(self, refs: Collection[str]) -> set[str]:
        return self.kept & set(refs)

    async def unanswered(self, channel: Channel) -> set[tuple[int, str]]:  # noqa: ARG002
        return self.others
