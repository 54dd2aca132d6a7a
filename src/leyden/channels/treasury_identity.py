"""Recognize the treasury by its lnd's public key.

The public key of the first treasury is stored. Another lnd in its place may
be intended (then the setting `treasury_pubkey` names it) or a mistake. The
mistake would go unnoticed otherwise, and earlier payments are in the first
lnd.
"""

import logging

from leyden.base.database.database import Database
from leyden.channels.rows.treasury import RememberedTreasury
from leyden.channels.services import ChannelServices
from leyden.errors import Stale, TreasuryAway

log = logging.getLogger(__name__)


async def check_treasury(channels: ChannelServices) -> None:
    """Check the treasury's public key; warn if it is an unexpected one.

    A second call writes nothing. A treasury that does not respond is not
    taken for another one.
    """
    try:
        found = await channels.payments.identity()
    except TreasuryAway:
        return
    known = await _remembered(channels, found)
    stranger = found if found != known.pubkey else ""
    if stranger != known.stranger:
        async with channels.database.transaction() as tx:
            await tx.treasury.set_stranger(stranger)
    if stranger:
        log.warning(
            "the treasury is a different lnd than before",
            extra={"found": stranger, "before": known.pubkey},
        )


async def _remembered(channels: ChannelServices, found: str) -> RememberedTreasury:
    """Return the expected treasury: configured, or else the first one seen."""
    named = channels.rules.treasury
    known = await channels.database.reader.treasury.find()
    if known is not None and named in {"", known.pubkey}:
        return known
    async with channels.database.transaction() as tx:
        if known is not None:
            await tx.treasury.replace(named)
        else:
            await tx.treasury.add(named or found)
        remembered = await tx.treasury.find()
    if remembered is None:
        raise Stale
    return remembered


async def alarm(database: Database) -> str:
    """Return an alarm about the treasury; empty if it is the expected one."""
    known = await database.reader.treasury.find()
    if known is None or not known.stranger:
        return ""
    return (
        f"the treasury is a different lnd ({known.stranger}) than the one that "
        f"received our payments ({known.pubkey}); if you changed it on purpose, set "
        "treasury_pubkey"
    )
