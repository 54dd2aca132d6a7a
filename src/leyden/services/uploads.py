"""What customers upload and has to be read: beside the event loop, and not too often.

Certificates, seeds and macaroons take up to 0.1 s of processor to be looked into. That
is done in threads that organizations take turns at, and so often a minute for each.
"""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from leyden.errors import TooMany
from leyden.services.fair_pool import UPLOADS
from leyden.services.limits import RateLimit

USUAL: Final = 60  # a minute

_Read = TypeVar("_Read")


class Uploads:
    """Reads uploads, for one organization after the other."""

    def __init__(self, per_minute: int = USUAL) -> None:
        self._rate = RateLimit(per_minute)

    def count(self, organization_id: str, number: int = 1) -> None:
        """Count uploads before they are read; TooMany when there were too many."""
        try:
            self._rate.take(organization_id, at_s=time.monotonic(), number=number)
        except TooMany as error:
            raise TooMany(
                "your organization uploads too many certificates, seeds and macaroons; "
                f"wait {error.retry_after_s} s and try again",
                retry_after_s=error.retry_after_s,
            ) from None

    async def read(self, organization_id: str, work: Callable[[], _Read]) -> _Read:
        """Do the reading in a thread, when it is this organization's turn."""
        return await UPLOADS.run(organization_id, work)
