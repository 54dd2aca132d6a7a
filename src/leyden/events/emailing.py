"""What sending emails needs, wired by events/wiring/emailing.py and passed down."""

from datetime import timedelta
from typing import Final

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.rules.times import Clock
from leyden.events.limits import Concurrency
from leyden.events.rules.deliveries import RETRIES
from leyden.events.rules.emails import Email, compose
from leyden.events.smtp import SmtpServer
from leyden.values import Struct, field

# Connections to the mail server at a time; an organization gets at most half of them.
AT_ONCE: Final = 8
# A task that finds no free connection is rescheduled after this long.
PUT_OFF: Final = timedelta(seconds=1)
# The server says no for good: an address may be created a moment later, but not ten.
REFUSALS: Final = 3
# After so many failed attempts, some minutes, an alarm is raised.
FAILING: Final = 4
_LONGEST_WAIT: Final = timedelta(hours=1)


class Emailing(Struct, frozen=True, kw_only=True):
    """The dependencies of emails."""

    database: Database
    sealer: Sealer
    server: SmtpServer
    clock: Clock
    origin: str  # of the dashboard, for links
    per_hour: int  # emails about the events of one organization to one person
    concurrency: Concurrency = field(default_factory=lambda: Concurrency(AT_ONCE))

    async def send(self, email: Email) -> None:
        """Send an email, with no transaction open."""
        sender = self.server.sender
        message = compose(email, sender=sender, now=self.clock())
        await self.server.send(message, to=email.to)


def retry_after(attempts: int) -> timedelta:
    """Return how long to wait after so many attempts that failed."""
    return min(RETRIES[min(attempts, len(RETRIES)) - 1], _LONGEST_WAIT)
