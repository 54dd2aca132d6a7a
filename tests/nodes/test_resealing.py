"""What is left of backups whose place others took, whoever did that and how often."""

import asyncio
import base64
import os
from datetime import timedelta
from hashlib import sha256
from itertools import pairwise

from leyden.nodes import backups, resealing
from leyden.nodes.resealing import BackupReplacement
from tests.nodes.fleet_harness import HARBOUR, FleetHarness
from tests.nodes.histories import history


def ciphertext() -> str:
    return base64.b64encode(b"Salted__" + os.urandom(88)).decode()


async def test_a_stolen_key_pushes_out_nothing_that_was_in_use_for_a_day(
    fleet_harness: FleetHarness,
) -> None:
    """Twice its owner changes the password, then somebody puts garbage there."""
    node = await fleet_harness.create()
    whose, now = (fleet_harness.fleet, HARBOUR, node.id), fleet_harness.now
    theirs = [ciphertext() for _ in range(3)]
    values = [*theirs, *(ciphertext() for _ in range(60))]
    await backups.keep_seed(*whose, theirs[0], actor="key:own", now=now)
    days, minutes = timedelta(days=2), timedelta(minutes=7)
    for before, value in pairwise(values):
        now += days if before in theirs else minutes
        digest = sha256(before.encode()).hexdigest()
        anew = BackupReplacement(name=None, replaces=digest, value=value)
        await resealing.reseal(*whose, [anew], actor="key:stolen", now=now)
    found = await history(*whose, now=now)
    assert {*theirs} <= {each.value for each in found}
    assert len(found) == len(theirs) + 20


async def test_each_backup_has_a_history_of_its_own(
    fleet_harness: FleetHarness,
) -> None:
    node = await fleet_harness.create()
    whose, now = (fleet_harness.fleet, HARBOUR, node.id), fleet_harness.now
    original = ciphertext()
    for name in ("admin", "read"):
        await backups.keep_macaroon(*whose, name, original, actor="key:own", now=now)
    for name, times in (("admin", 1), ("read", 30)):
        value = original
        for _ in range(times):
            digest, value = sha256(value.encode()).hexdigest(), ciphertext()
            anew = BackupReplacement(name=name, replaces=digest, value=value)
            await resealing.reseal(*whose, [anew], actor="key:stolen", now=now)
    found = await history(*whose, now=now)
    assert [each.value for each in found if each.name == "admin"] == [original]
    assert len([each for each in found if each.name == "read"]) == 21


async def test_checks_of_one_organization_take_turns_on_the_loop() -> None:
    value = base64.b64encode(bytes(range(256))).decode()
    checks = [
        asyncio.create_task(backups.check("harbour", value, kind="macaroon"))
        for _ in range(8)
    ]
    done = 0
    while done < len(checks):
        await asyncio.sleep(0)
        before, done = done, sum(each.done() for each in checks)
        assert done - before <= 1
    await asyncio.gather(*checks)
