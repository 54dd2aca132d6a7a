"""Knowing the treasury again: its lnd has a key, and another lnd has another.

The first one that is seen is remembered. Another one in its place may be meant (then
the setting `treasury_pubkey` names it) or not; either way nobody else would tell: the
payments of the lnd from before are in that one.
"""

from leyden import figures, logs
from leyden.errors import Stale, TreasuryAway
from leyden.services.shop import Shop
from leyden.storage.database import Database
from leyden.storage.treasury import Remembered

_STRANGE = figures.gauge(
    "leyden_treasury_is_another",
    "1 while another lnd than the one from before answers as the treasury.",
)

log = logs.get()


async def recognise(shop: Shop) -> None:
    """See who the treasury is; warn of one that it should not be.

    The second time nothing is written. One that does not answer is not another.
    """
    try:
        found = await shop.payments.identity()
    except TreasuryAway:
        return
    known = await _remembered(shop, found)
    stranger = found if found != known.pubkey else ""
    if stranger != known.stranger:
        async with shop.database.transaction() as tx:
            await tx.treasury.notice(stranger)
    _STRANGE.set(bool(stranger))
    if stranger:
        log.warning(
            "the treasury is another lnd than the one from before",
            found=stranger,
            before=known.pubkey,
        )


async def _remembered(shop: Shop, found: str) -> Remembered:
    """Give who it should be: whom the operator names, or else the first one seen."""
    named = shop.rules.treasury
    known = await shop.database.reader.treasury.find()
    if known is not None and named in {"", known.pubkey}:
        return known
    async with shop.database.transaction() as tx:
        if known is not None:
            await tx.treasury.take(named)
        else:
            await tx.treasury.add(named or found)
        kept = await tx.treasury.find()
    if kept is None:
        raise Stale
    return kept


async def alarm(database: Database) -> str:
    """Say what is amiss with the treasury; empty is nothing."""
    known = await database.reader.treasury.find()
    if known is None or not known.stranger:
        return ""
    return (
        f"the treasury is another lnd ({known.stranger}) than the one that took our "
        f"payments ({known.pubkey}); where that is meant, set treasury_pubkey"
    )
