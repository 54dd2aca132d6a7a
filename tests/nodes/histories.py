"""Long histories of replaced backups."""

import base64
import os
from datetime import datetime

from leyden.nodes import backups, resealing
from leyden.nodes.ciphertext.recognition import MACAROON_LIMIT
from leyden.nodes.fleet import Fleet
from leyden.nodes.resealing import Replaced
from tests.nodes.fleet_harness import FleetHarness

_NAMES, _TIMES = 50, 12  # which takes ten minutes of all that may be uploaded


async def replaced_often(fleet_harness: FleetHarness, node_id: str) -> None:
    """Replace macaroons of a node six hundred times, each as large as may be."""
    fleet = fleet_harness.fleet
    value = base64.b64encode(os.urandom(MACAROON_LIMIT // 4 * 3))
    for number in range(_NAMES):
        name = f"macaroon {number}"
        purpose = backups.macaroon_purpose(node_id, name)
        async with fleet.database.transaction() as tx:
            for _ in range(_TIMES):
                was = fleet.sealer.seal(value, purpose=purpose)
                now = fleet_harness.now
                await tx.replaced_backups.add(node_id, name, was, now=now)


async def history(
    fleet: Fleet, organization_id: str, node_id: str, *, now: datetime
) -> list[Replaced]:
    """Return all of a node's replaced backups, newest first."""
    pages = await resealing.replaced(fleet, organization_id, node_id, now=now)
    return [each async for page in pages for each in page]
