"""A node's onion address, in each answer that tells where it is."""

from typing import Any

import pytest

from tests.base.api.conftest import Caller
from tests.nodes.fleet_harness import FleetHarness


@pytest.fixture
async def fleet_harness(fleet_harness: FleetHarness) -> FleetHarness:
    """One whose platform has peer ports, and a Tor."""
    fleet_harness.offer_peer_ports("21000-21001")
    fleet_harness.offer_onions()
    return fleet_harness


async def test_it_is_in_list_item_single_and_connect(
    alice: Caller,
    nodes: str,
    path: str,
    node: dict[str, Any],
    fleet_harness: FleetHarness,
) -> None:
    (item,) = (await alice.get(nodes)).json()["nodes"]
    shown = (await alice.get(path)).json()
    way = (await alice.get(f"{path}/connect")).json()
    address = f"{(await fleet_harness.node(node['node_id'])).onion}:9735"
    assert len(address) == 67
    assert {each["onion_address"] for each in (item, shown, way)} == {address}
