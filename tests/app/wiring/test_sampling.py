"""An API server has figures for its own pages, whoever looks after the nodes."""

import asyncio
import os
from pathlib import Path

from leyden.app.installation import running
from leyden.app.migration import migrate
from leyden.base.opening import opened
from leyden.base.processes import identify
from leyden.nodes.certificates.authority import Authority
from leyden.values import replace
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.wiring.test_authority import settings


async def test_an_api_server_without_background_jobs_samples_the_nodes(
    tmp_path: Path,
) -> None:
    given = settings(tmp_path)
    migrate(given)
    here = identify(os.getpid())
    assert here is not None
    async with running(given, loops=False):
        pass  # this is the home of the nodes from now on
    async with opened(given) as platform:
        authority = Authority(given.home_path / "authority")
        harness = FleetHarness(platform.database, platform.sealer, authority)
        await harness.found()
        node = await harness.running()
        async with platform.database.transaction() as tx:
            before = await tx.nodes.lock(node.id)
            await tx.nodes.save(before, replace(before, process=here.written))
        await harness.watching.close()
    async with running(given, loops=False) as platform, asyncio.timeout(10):
        while not (sample := platform.samples.of(node.id)):
            await asyncio.sleep(0.01)
    assert sample[0].memory is not None
    assert sample[0].memory > 1 << 20
