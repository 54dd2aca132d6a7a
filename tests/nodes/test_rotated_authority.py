"""After a rotation: clients are given both roots until no node shows the one before."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.nodes import certificate_expiry, connecting, views
from leyden.nodes.certificates import previous_authorities, signing
from leyden.nodes.certificates.authority import Authority, open_or_create
from leyden.nodes.rules.nodes import Action
from leyden.values import replace
from tests.conftest import NOW
from tests.nodes.fleet_harness import HARBOUR, FleetHarness


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "authority"


@pytest.fixture
async def fleet_harness(
    db: Database, sealer: Sealer, folder: Path
) -> AsyncIterator[FleetHarness]:
    fleet_harness = FleetHarness(db, sealer, open_or_create(folder, now=NOW))
    await fleet_harness.found()
    yield fleet_harness
    await fleet_harness.watching.close()


async def rotate(fleet_harness: FleetHarness, folder: Path) -> tuple[bytes, bytes]:
    """Replace the authority while the program stands still; give both roots."""
    before = fleet_harness.fleet.authority.root_pem
    signing.create(folder / previous_authorities.NEXT, NOW)
    previous_authorities.complete(folder)
    fleet_harness.fleet = replace(fleet_harness.fleet, authority=Authority(folder))
    await fleet_harness.watching.close()
    fleet_harness.begin_anew()
    await fleet_harness.watch()
    return before, fleet_harness.fleet.authority.root_pem


async def trusted_roots(fleet_harness: FleetHarness, node_id: str) -> bytes:
    return await views.certificate(fleet_harness.fleet, HARBOUR, node_id)


async def test_both_roots_are_given_until_every_node_has_started_anew(
    fleet_harness: FleetHarness, folder: Path
) -> None:
    first, second = [
        await fleet_harness.running(name=name) for name in ("first", "second")
    ]
    chain = fleet_harness.runtime.homes[first.id].tls.chain_pem
    old, new = await rotate(fleet_harness, folder)
    third = await fleet_harness.running(name="third")

    # Nobody was restarted: they show what they showed, and it goes on to be trusted.
    assert await trusted_roots(fleet_harness, first.id) == chain + old + new
    assert (await trusted_roots(fleet_harness, third.id)).endswith(new + old)
    way = await connecting.connect(fleet_harness.fleet, HARBOUR, first.id)
    assert way.certificate == chain + old + new

    await fleet_harness.ask(first, Action.RESTART)
    await fleet_harness.work()
    served = fleet_harness.runtime.homes[first.id].tls.chain_pem
    assert fleet_harness.fleet.authority.is_current(served)
    assert await trusted_roots(fleet_harness, first.id) == served + new + old
    await certificate_expiry.forget_former(fleet_harness.fleet)
    assert await trusted_roots(fleet_harness, first.id) == served + new + old
    reader = fleet_harness.fleet.database.reader
    assert await certificate_expiry.still_shown(
        fleet_harness.fleet.authority, reader
    ) == [second.id]

    await fleet_harness.ask(second, Action.RESTART)
    await fleet_harness.work()
    await certificate_expiry.forget_former(fleet_harness.fleet)
    assert await trusted_roots(fleet_harness, first.id) == served + new
    assert not Authority(folder).has_former
    assert previous_authorities.anchors_path(folder).read_bytes() == new


async def test_a_node_that_is_deleted_keeps_no_former_authority(
    fleet_harness: FleetHarness, folder: Path
) -> None:
    node = await fleet_harness.running()
    await rotate(fleet_harness, folder)
    await fleet_harness.ask(node, Action.DELETE)
    await fleet_harness.work()
    await certificate_expiry.forget_former(fleet_harness.fleet)
    assert not Authority(folder).has_former
