"""Parsing customers' uploads in helpers, with a rate limit.

Parsing a certificate, seed or macaroon takes up to 0.1 s of CPU. This is
done by helpers that organizations use in turns, and at most so often a
minute for each.
"""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from leyden.errors import TooMany
from leyden.services.shared.fair_pool import UPLOADS
from leyden.services.shared.limits import RateLimit

USUAL: Final = 600  # a minute

_Read = TypeVar("_Read")


class Uploads:
    """A parser of uploads that serves organizations in turn."""

    def __init__(
        self, per_minute: int = USUAL, *, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = RateLimit(per_minute)
        self._now_s = now_s

    def count(self, organization_id: str, number: int = 1) -> None:
        """Count uploads before parsing; raise TooMany over the limit."""
        try:
            self._rate.take(organization_id, at_s=self._now_s(), number=number)
        except TooMany as error:
            raise TooMany(
                "your organization uploads too many certificates, seeds and macaroons; "
                f"wait {error.retry_after_s} s and try again",
                retry_after_s=error.retry_after_s,
            ) from None

    async def read(self, organization_id: str, work: Callable[[], _Read]) -> _Read:
        """Run the parsing in a helper, on this organization's turn."""
        return await UPLOADS.run(organization_id, work)
