"""Emails that notify people of changes to their account."""

from datetime import datetime

from leyden.base.database.stores import Stores
from leyden.base.platform import Platform
from leyden.events import letters
from leyden.events.rules.letters import Letter


def is_on(platform: Platform) -> bool:
    """Return whether the settings name a mail server."""
    return bool(platform.settings.smtp_host)


async def tell(
    platform: Platform, tx: Stores, kind: str, *, to: str, now: datetime
) -> None:
    """Queue a notice of a change that was made, where emails are sent."""
    if is_on(platform):
        letter = Letter(kind=kind, facts={})
        await letters.queue(
            tx, platform.sealer, letter, to=to, is_limited=False, now=now
        )
