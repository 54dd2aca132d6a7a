"""Alarms for certificates that expire before they are renewed.

A node's certificate is renewed when the node is started, past half of its
life, and a start locks the wallet. So a node that is not restarted for
eleven months raises an alarm, and so does an uploaded certificate. The
owner restarts the node, or uploads another certificate.
"""

import asyncio
import logging
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from prometheus_client import Gauge

from leyden.base.database.stores import Stores
from leyden.errors import Away, Stale
from leyden.nodes import node_events
from leyden.nodes.certificates.authority import Authority
from leyden.nodes.certificates.expiry import (
    NOTICE,
    CertificateState,
    ExpiryAlarm,
    alarms,
)
from leyden.nodes.fleet import Fleet
from leyden.nodes.rules.nodes import Node

_AUTHORITY: Final = "the platform's authority"
_LOOK_EVERY_S: Final = 3600.0
# Nobody else waits for longer than these few take: 0.1 ms each.
_AT_A_TIME: Final = 25
_ENDING: Final = Gauge(
    "leyden_certificates_ending",
    "Certificates in use that end within 30 days, or have ended.",
    ["standing"],
)

log = logging.getLogger(__name__)


async def watch(fleet: Fleet) -> None:
    """Look every hour until cancelled; log each certificate once, count them all."""
    said: frozenset[ExpiryAlarm] = frozenset()
    while True:
        try:
            said = await check(fleet, said)
            await forget_former(fleet)
        except (Away, Stale) as error:
            log.info("could not check certificates", extra={"why": error.message})
        await asyncio.sleep(_LOOK_EVERY_S)


async def check(
    fleet: Fleet, said: frozenset[ExpiryAlarm] = frozenset()
) -> frozenset[ExpiryAlarm]:
    """Count certificates that expire soon; warn of those not warned of yet."""
    of_nodes = await _of_nodes(fleet)
    found = _alarms(fleet, of_nodes)
    await _announce(fleet, of_nodes)
    for standing in (CertificateState.EXPIRING, CertificateState.EXPIRED):
        number = sum(each.state is standing for each in found)
        _ENDING.labels(standing.value).set(number)
    for each in found:
        if each not in said:
            log.warning(
                "a certificate expires: restart the node, or upload another",
                extra={
                    "of": each.what,
                    "standing": each.state,
                    "until": each.until.isoformat(),
                },
            )
    return frozenset(found)


async def forget_former(fleet: Fleet) -> None:
    """Delete the roots from before a rotation, once no node shows them."""
    if fleet.authority.has_former:
        waiting = await still_shown(fleet.authority, fleet.database.reader)
        if not waiting:
            fleet.authority.forget_former()
            log.info("no node uses an old authority any more; deleted it")


async def still_shown(authority: Authority, reader: Stores) -> list[str]:
    """List the nodes whose certificate is of a former authority."""
    found = []
    if authority.has_former:
        for number, node in enumerate(await reader.nodes.all_(), start=1):
            if number % _AT_A_TIME == 0:
                await asyncio.sleep(0)
            if not node.is_gone:
                chain = (await reader.launch_specs.get(node.id)).certificate
                if authority.issued(chain) and not authority.is_current(chain):
                    found.append(node.id)
    return found


async def ending(fleet: Fleet) -> tuple[ExpiryAlarm, ...]:
    """Return alarms for certificates in use that end soon, the most urgent first.

    A node that does not run gets a new one when it is started.
    """
    return _alarms(fleet, await _of_nodes(fleet))


async def _of_nodes(fleet: Fleet) -> list[tuple[Node, datetime]]:
    reader = fleet.database.reader
    soon = await reader.launch_specs.endings(before=fleet.clock() + NOTICE)
    found = []
    for node_id, until in soon.items():
        node = await reader.nodes.find(node_id)
        if node is not None and node.has_process:
            found.append((node, until))
    return found


async def _announce(fleet: Fleet, of_nodes: Iterable[tuple[Node, datetime]]) -> None:
    """Announce each certificate once to the nodes' organizations."""
    logged_at = fleet.database.reader.events.logged_at
    for node, until in of_nodes:
        once = node_events.certificate_once(node.id, until)
        if await logged_at(node.organization_id, once) is None:
            async with fleet.database.transaction() as tx:
                locked = await tx.nodes.lock(node.id)
                now = fleet.clock()
                await node_events.record_certificate(tx, locked, until=until, now=now)


def _alarms(
    fleet: Fleet, of_nodes: Iterable[tuple[Node, datetime]]
) -> tuple[ExpiryAlarm, ...]:
    endings = {f"node {node.id}": until for node, until in of_nodes}
    authority = fleet.authority
    for certificate in (authority.root, authority.intermediate):
        until = certificate.not_valid_after_utc
        endings[_AUTHORITY] = min(until, endings.get(_AUTHORITY, until))
    return alarms(endings, fleet.clock())
