"""Replicas that serve gateways hear of changed routes, and need not ask for them."""

import asyncio

from leyden.base.database.database import open_database
from leyden.base.database.secrets import Sealer
from leyden.nodes.certificates.authority import Authority
from leyden.nodes.routes import Routes
from leyden.values import replace
from tests.fakes.gateway import FakeGateway
from tests.nodes.fleet_harness import FleetHarness
from tests.waiting import until


async def test_another_process_hears_of_a_changed_whitelist(
    postgres_url: str, sealer: Sealer, authority: Authority
) -> None:
    ours, theirs = await open_database(postgres_url), await open_database(postgres_url)
    theirs.look_every_s = 60.0
    fleet_harness = FleetHarness(ours, sealer, authority)
    await fleet_harness.found()
    node = await fleet_harness.running()
    gateway = FakeGateway()
    follower = Routes(replace(fleet_harness.fleet, database=theirs), gateway)
    following = asyncio.create_task(follower.follow())
    await until(lambda: node.id in gateway.routes)
    node = await fleet_harness.set(node, whitelist=["203.0.113.9"])
    await until(lambda: gateway.routes[node.id].whitelist == node.settings.whitelist)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    await fleet_harness.watching.close()
    await ours.close()
    await theirs.close()
