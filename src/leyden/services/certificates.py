"""Certificates that end before anybody renews them: an alarm, in time.

A node's is renewed when it is started, past half of its life, and a start locks the
wallet; so one that nobody restarts for eleven months raises an alarm, and so does one
that was handed in. Its owner restarts it, or sends another.
"""

import asyncio
from typing import Final

from leyden import figures, logs
from leyden.errors import Away
from leyden.gateway.expiry import NOTICE, Alarm, Standing, alarms
from leyden.services.fleet import Fleet

_AUTHORITY: Final = "the platform's authority"
_LOOK_EVERY_S: Final = 3600.0
_ENDING = figures.gauge(
    "leyden_certificates_ending",
    "Certificates in use that end within 30 days, or have ended.",
    "standing",
)

log = logs.get()


async def watch(fleet: Fleet) -> None:
    """Look every hour until cancelled; say it once, and count it each time."""
    said: frozenset[Alarm] = frozenset()
    while True:
        try:
            said = await look(fleet, said)
        except Away as error:
            log.info("certificates were not looked at", why=error.message)
        await asyncio.sleep(_LOOK_EVERY_S)


async def look(fleet: Fleet, said: frozenset[Alarm] = frozenset()) -> frozenset[Alarm]:
    """Count the certificates that end too soon, and warn of those not yet spoken of."""
    found = await ending(fleet)
    for standing in (Standing.EXPIRING, Standing.EXPIRED):
        number = sum(each.standing is standing for each in found)
        _ENDING.set(number, standing.value)
    for each in found:
        if each not in said:
            log.warning(
                "a certificate ends: restart the node, or hand in another",
                of=each.what,
                standing=each.standing,
                until=each.until.isoformat(),
            )
    return frozenset(found)


async def ending(fleet: Fleet) -> tuple[Alarm, ...]:
    """Give those in use that have ended or are about to, the most urgent first.

    A node that does not run gets a new one when it is started.
    """
    now = fleet.clock()
    reader = fleet.database.reader
    endings = {}
    for node_id, until in (await reader.outfits.endings(before=now + NOTICE)).items():
        node = await reader.nodes.find(node_id)
        if node is not None and node.has_process:
            endings[f"node {node_id}"] = until
    authority = fleet.authority
    for certificate in (authority.root, authority.intermediate):
        until = certificate.not_valid_after_utc
        endings[_AUTHORITY] = min(until, endings.get(_AUTHORITY, until))
    return alarms(endings, now)
