"""Compare the purse's channels with lnd's history and the books, once a day."""

import logging
from datetime import timedelta
from typing import Final

from leyden.base.rules.alarms import AlarmKind, Finding
from leyden.base.tasks.steps import ClaimedTask
from leyden.channels.books import purse_rules
from leyden.channels.services import ChannelServices
from leyden.errors import SellerAway

PURSE_CHECK: Final = "purse comparison"  # a kind of task
_MAX_FINDINGS: Final = 200
_EVERY: Final = timedelta(days=1)
_AGAIN: Final = timedelta(hours=1)  # after one that could not be finished
_WHAT_TO_DO: Final = (
    "take jit out of market until you know why, see docs/operators/just-in-time.md"
)

log = logging.getLogger(__name__)


async def compare(channels: ChannelServices, work: ClaimedTask) -> None:
    """Compare, at each start and then daily; differences become alarms."""
    if channels.purse is None:
        return
    began = channels.clock()
    try:
        broken = [
            each
            async for each in purse_rules.broken_by(
                channels.database.reader, channels.purse, now=began
            )
        ]
    except SellerAway as error:
        log.warning("can't compare the purse with the books", extra={"why": str(error)})
        async with work.transaction() as tx:
            await work.reschedule(tx, due=began + _AGAIN)
        return
    found = [
        Finding(
            kind=AlarmKind.PURSE_DIFFERS,
            subject=each.subject,
            what=f"{each.where}: {_WHAT_TO_DO}",
        )
        for each in broken[:_MAX_FINDINGS]
    ]
    now = channels.clock()
    async with work.transaction() as tx:
        await tx.findings.replace(AlarmKind.PURSE_DIFFERS, found, now=now, since=began)
        await work.reschedule(tx, due=now + _EVERY)
    log.info("compared the purse with the books", extra={"differences": len(broken)})
