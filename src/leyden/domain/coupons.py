"""Coupons: credit in an envelope, opened once."""

import uuid
from datetime import datetime

from leyden.domain.units import Sats
from leyden.values import Struct

SUFFIX = "FC"


class Coupon(Struct, frozen=True, kw_only=True):
    """So many satoshis for whoever may claim them, once."""

    id: str
    sats: Sats
    organization_id: str | None  # None: for the first one who comes
    created: datetime
    expires: datetime | None = None
    note: str = ""
    claimed_by: str | None = None
    claimed_at: datetime | None = None

    @property
    def claimed(self) -> bool:
        """Whether it has been opened."""
        return self.claimed_at is not None


def new_coupon_id() -> str:
    """Make an id that cannot be guessed: it is all one needs to claim the coupon."""
    return f"{uuid.uuid4()}{SUFFIX}"
