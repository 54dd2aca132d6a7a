"""People's subscriptions to emails about events of organizations."""

from datetime import datetime

from leyden.base.database.statements import Row, Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.values import Struct

sql = SqlFile(__file__)


class EmailSubscription(Struct, frozen=True, kw_only=True):
    """A person's subscription, and how many emails were sent recently."""

    subscription_id: str
    user_id: str
    organization_id: str
    hour_began: datetime
    hour_sent: int
    sending_to: int  # the last event of the email that is being sent; 0 is none


class EmailSubscriptions:
    """The rows of email_subscription."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, new: EmailSubscription) -> None:
        """Store a person's subscription."""
        await self._run(
            sql.add,
            subscription_id=new.subscription_id,
            user_id=new.user_id,
            organization_id=new.organization_id,
            hour_began=to_us(new.hour_began),
        )

    async def find(self, subscription_id: str) -> EmailSubscription | None:
        """Return a person's subscription; None if it is not a person's."""
        rows = await self._run(sql.get, subscription_id=subscription_id)
        return _of(rows[0]) if rows else None

    async def list_(self, user_id: str) -> list[EmailSubscription]:
        """Return a person's subscriptions."""
        return [_of(row) for row in await self._run(sql.list, user_id=user_id)]

    async def hold(self, subscription_id: str, sending_to: int) -> None:
        """Fix the content of the next email: the events up to this number."""
        await self._run(
            sql.hold, subscription_id=subscription_id, sending_to=sending_to
        )

    async def count_sent(
        self, subscription_id: str, *, hour_began: datetime, hour_sent: int
    ) -> None:
        """Store how many emails were sent since then, and that none is being sent."""
        await self._run(
            sql.count_sent,
            subscription_id=subscription_id,
            hour_began=to_us(hour_began),
            hour_sent=hour_sent,
        )


def _of(row: Row) -> EmailSubscription:
    subscription_id, user_id, organization_id, began, sent, sending_to = row
    return EmailSubscription(
        subscription_id=subscription_id,
        user_id=user_id,
        organization_id=organization_id,
        hour_began=from_us(began),
        hour_sent=sent,
        sending_to=sending_to,
    )
