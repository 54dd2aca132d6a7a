"""After a rotation: clients are given both roots until no node shows the one before."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from leyden.certificates import previous_authorities, signing
from leyden.certificates.authority import Authority, open_or_create
from leyden.domain.nodes import Action
from leyden.services.nodes import certificate_expiry, connecting, views
from leyden.storage.database import Database
from leyden.storage.secrets import Sealer
from leyden.values import replace
from tests.conftest import NOW
from tests.services.yard import HARBOUR, Yard


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "authority"


@pytest.fixture
async def yard(db: Database, sealer: Sealer, folder: Path) -> AsyncIterator[Yard]:
    yard = Yard(db, sealer, open_or_create(folder, now=NOW))
    await yard.found()
    yield yard
    await yard.watching.close()


async def rotate(yard: Yard, folder: Path) -> tuple[bytes, bytes]:
    """Replace the authority while the program stands still; give both roots."""
    before = yard.fleet.authority.root_pem
    signing.create(folder / previous_authorities.NEXT, NOW)
    previous_authorities.complete(folder)
    yard.fleet = replace(yard.fleet, authority=Authority(folder))
    await yard.watching.close()
    yard.begin_anew()
    await yard.watch()
    return before, yard.fleet.authority.root_pem


async def told(yard: Yard, node_id: str) -> bytes:
    return await views.certificate(yard.fleet, HARBOUR, node_id)


async def test_both_roots_are_given_until_every_node_has_started_anew(
    yard: Yard, folder: Path
) -> None:
    first, second = [await yard.running(name=name) for name in ("first", "second")]
    chain = yard.runtime.homes[first.id].tls.chain_pem
    old, new = await rotate(yard, folder)
    third = await yard.running(name="third")

    # Nobody was restarted: they show what they showed, and it goes on to be trusted.
    assert await told(yard, first.id) == chain + old + new
    assert (await told(yard, third.id)).endswith(new + old)
    way = await connecting.connect(yard.fleet, HARBOUR, first.id)
    assert way.certificate == chain + old + new

    await yard.ask(first, Action.RESTART)
    await yard.work()
    served = yard.runtime.homes[first.id].tls.chain_pem
    assert yard.fleet.authority.is_current(served)
    assert await told(yard, first.id) == served + new + old
    await certificate_expiry.forget_former(yard.fleet)
    assert await told(yard, first.id) == served + new + old
    reader = yard.fleet.database.reader
    assert await certificate_expiry.still_shown(yard.fleet.authority, reader) == [
        second.id
    ]

    await yard.ask(second, Action.RESTART)
    await yard.work()
    await certificate_expiry.forget_former(yard.fleet)
    assert await told(yard, first.id) == served + new
    assert not Authority(folder).has_former
    assert previous_authorities.anchors_path(folder).read_bytes() == new


async def test_a_node_that_is_deleted_keeps_no_former_authority(
    yard: Yard, folder: Path
) -> None:
    node = await yard.running()
    await rotate(yard, folder)
    await yard.ask(node, Action.DELETE)
    await yard.work()
    await certificate_expiry.forget_former(yard.fleet)
    assert not Authority(folder).has_former
