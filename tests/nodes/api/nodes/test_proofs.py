"""How old a node's backups are, and when its owner opened them last."""

from datetime import timedelta
from typing import Any

import pytest

from leyden.backups.rows.backup_results import BackupResult
from leyden.base.database.database import Database
from leyden.base.rules.times import to_iso
from leyden.values import replace
from tests.base.api.conftest import Caller
from tests.nodes.api.nodes.conftest import refusal
from tests.nodes.fleet_harness import FleetHarness

SIGNATURE = "y" * 104


async def shown(alice: Caller, path: str) -> dict[str, Any]:
    answer = await alice.get(f"{path}/proofs")
    assert answer.status == 200
    return dict(answer.json())


async def copied(
    db: Database, fleet_harness: FleetHarness, *, ok: bool = True, took_ms: int = 1
) -> None:
    at = fleet_harness.now
    done = BackupResult(kind="channels", ok=ok, at=at, took_ms=took_ms)
    async with db.transaction() as tx:
        await tx.backup_results.keep(done)


async def test_a_drill_is_kept_in_words_that_the_node_signed(
    alice: Caller, path: str, node: dict[str, Any], fleet_harness: FleetHarness
) -> None:
    assert (await shown(alice, path))["drill"] is None
    body = {"time": to_iso(fleet_harness.now), "signature": SIGNATURE}
    stored_backups = (await alice.post(f"{path}/drill", body)).json()
    words = f"The backups of node {node['node_id']} were opened at {body['time']}."
    assert stored_backups == {**body, "message": words}
    assert (await shown(alice, path))["drill"] == stored_backups


async def test_it_is_due_after_ninety_days(
    alice: Caller,
    path: str,
    node: dict[str, Any],
    fleet_harness: FleetHarness,
    db: Database,
) -> None:
    assert not (await shown(alice, path))["drill_is_due"]  # it has no wallet yet
    async with db.transaction() as tx:
        before = await tx.nodes.lock(node["node_id"])
        await tx.nodes.save(before, replace(before, has_wallet=True))
    assert (await shown(alice, path))["drill_is_due"]
    async with db.transaction() as tx:  # keys that a signer has are not in a backup
        before = await tx.nodes.lock(node["node_id"])
        signed = replace(before.settings, remotesigning=True)
        await tx.nodes.save(before, replace(before, settings=signed))
    assert not (await shown(alice, path))["drill_is_due"]
    async with db.transaction() as tx:
        after = await tx.nodes.lock(node["node_id"])
        await tx.nodes.save(after, replace(after, settings=before.settings))
    at = to_iso(fleet_harness.now - timedelta(days=89))
    await alice.post(f"{path}/drill", {"time": at, "signature": SIGNATURE})
    assert not (await shown(alice, path))["drill_is_due"]
    at = to_iso(fleet_harness.now - timedelta(days=91))
    await alice.post(f"{path}/drill", {"time": at, "signature": SIGNATURE})
    assert (await shown(alice, path))["drill_is_due"]


async def test_whether_a_channel_backup_has_left_is_shown_and_asked(
    alice: Caller,
    path: str,
    node: dict[str, Any],
    fleet_harness: FleetHarness,
    db: Database,
) -> None:
    here = node["node_id"]
    assert (await shown(alice, path))["channels_created"] is None
    async with db.transaction() as tx:
        await tx.backups.add_channels(
            here, b"a channel", b"digest", now=fleet_harness.now
        )
    assert (await shown(alice, path))["channels_left"] is None  # there is no store
    await copied(db, fleet_harness, ok=False)
    assert (await shown(alice, path))["channels_left"] is False
    # It came too late for a copy that had begun before.
    await copied(db, fleet_harness)
    assert (await shown(alice, path))["channels_left"] is False
    await copied(db, fleet_harness, took_ms=0)
    found = await shown(alice, path)
    assert (found["channels_left"], found["channels_created"]) == (
        True,
        to_iso(fleet_harness.now),
    )


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("time", "yesterday", 'time: must be in ISO 8601 and UTC, like "'),
        ("time", "2026-01-01T12:00:00", "time: must be in ISO 8601"),
        ("time", "9999-12-31T23:59:59Z", "time: is in the future"),
        ("time", "0001-01-01T00:00:00+14:00", "time: must be in ISO 8601"),
        (
            "signature",
            "y" * 103,
            "signature: must be a signature from lnd's signmessage",
        ),
        (
            "signature",
            "l" * 104,
            "signature: must be a signature from lnd's signmessage",
        ),
    ],
)
async def test_what_is_no_drill_is_refused(
    alice: Caller, path: str, field: str, value: str, reason: str
) -> None:
    body = {"time": "2026-01-01T12:00:00Z", "signature": SIGNATURE, field: value}
    status, message = refusal(await alice.post(f"{path}/drill", body))
    assert status == 400
    assert message.startswith(reason)
