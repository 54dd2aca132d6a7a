"""Sending the emails that wait, without a queue that runs."""

from datetime import timedelta

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.rules.times import Clock
from leyden.base.tasks.work import Work
from leyden.events import event_emails, letters
from leyden.events.emailing import Emailing
from leyden.events.rows.emails import EMAILS
from leyden.events.rows.subscriptions import SUBSCRIPTIONS
from leyden.events.smtp import SmtpServer

ORIGIN = "http://dashboard.example:8000"
_RUNS = {EMAILS: letters.send, SUBSCRIPTIONS: event_emails.deliver}


def emailing(
    database: Database,
    sealer: Sealer,
    server: SmtpServer,
    clock: Clock,
    *,
    per_hour: int = 3,
) -> Emailing:
    return Emailing(
        database=database,
        sealer=sealer,
        server=server,
        clock=clock,
        origin=ORIGIN,
        per_hour=per_hour,
    )


async def send_emails(of: Emailing) -> None:
    """Send what is due now, until nothing is."""
    for _ in range(100):
        claimed = 0
        for kind, run in _RUNS.items():
            now = of.clock()
            async with of.database.transaction() as tx:
                claims = await tx.tasks.claim(
                    kind, now=now, until=now + timedelta(seconds=30), limit=10
                )
            claimed += len(claims)
            for claim in claims:
                work = Work(of.database, claim)
                await run(of, work)
                if not work.settled:
                    async with work.transaction() as tx:
                        await work.done(tx)
        if not claimed:
            return
    raise AssertionError("the queue does not come to rest")
