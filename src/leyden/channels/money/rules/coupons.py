"""Coupons: credit that can be claimed once."""

import uuid
from datetime import datetime

from leyden.base.rules.units import Sats
from leyden.values import Struct

SUFFIX = "FC"


class Coupon(Struct, frozen=True, kw_only=True):
    """An amount of satoshis for one organization to claim, once."""

    id: str
    sats: Sats
    organization_id: str | None  # None: for the first who claims it
    created: datetime
    expires: datetime | None = None
    note: str = ""
    claimed_by: str | None = None
    claimed_at: datetime | None = None

    @property
    def claimed(self) -> bool:
        """Whether the coupon has been claimed."""
        return self.claimed_at is not None


def new_coupon_id() -> str:
    """Return a new unguessable id, which is enough to claim the coupon."""
    return f"{uuid.uuid4()}{SUFFIX}"
