from typing import Any

import pytest

from tests.base.api.conftest import Caller
from tests.nodes.api.nodes.conftest import ITEM_FIELDS, NEW_NODE
from tests.nodes.fleet_harness import FleetHarness


async def test_nobody_has_nodes_at_first(alice: Caller, nodes: str) -> None:
    answer = await alice.get(nodes)
    assert (answer.status, answer.json()) == (200, {"nodes": []})


async def test_items_have_the_contracts_fields_and_no_settings(
    alice: Caller, nodes: str, node: dict[str, Any]
) -> None:
    (item,) = (await alice.get(nodes)).json()["nodes"]
    assert {name: type(value) for name, value in item.items()} == ITEM_FIELDS
    endpoint = item.pop("api_endpoint")
    assert endpoint.startswith("harbour-light-")
    assert item == {
        "node_name": "harbour light",
        "status": "waiting_init",
        "node_id": node["node_id"],
        "expires": "never",
        "created": "2026-03-01T12:00:00.000Z",
        "type": "standard",
        "purchased_type": "ondemand",
        "purchase_status": "active",
        "network": "testnet",
        "lnd_version": "v0.20.2-beta",
        "service_version": "0.1.0",
        "update_available": False,
        "peer_address": "",
        "onion_address": "",
    }


async def test_nodes_come_oldest_first(
    alice: Caller, nodes: str, fleet_harness: FleetHarness
) -> None:
    for name in ("pier", "quay", "mole"):
        await alice.post(nodes, {**NEW_NODE, "name": name})
        await fleet_harness.later(seconds=1)
    found = (await alice.get(nodes)).json()["nodes"]
    assert [each["node_name"] for each in found] == ["pier", "quay", "mole"]


async def test_nodes_are_found_by_status_name_and_time(
    alice: Caller, nodes: str, fleet_harness: FleetHarness
) -> None:
    for name in ("pier", "quay"):
        await alice.post(nodes, {**NEW_NODE, "name": name})
        await fleet_harness.later(minutes=1)
    quay = (await alice.get(nodes)).json()["nodes"][1]
    for query, names in {
        "name=quay": ["quay"],
        "name=Quay": [],
        f"status={quay['status']}": ["pier", "quay"],
        "status=failed": [],
        f"created_after={quay['created']}": ["quay"],
        f"created_before={quay['created']}": ["pier"],
    }.items():
        found = (await alice.get(f"{nodes}?{query}")).json()
        assert [each["node_name"] for each in found["nodes"]] == names, query
    answer = await alice.get(f"{nodes}?status=asleep")
    assert (answer.status, answer.json()["field"]) == (400, "status")


@pytest.mark.usefixtures("node")
async def test_each_organization_sees_its_own(charlie: Caller) -> None:
    his = f"/organizations/{charlie.organization_id}/nodes"
    assert (await charlie.get(his)).json() == {"nodes": []}
    await charlie.post(his, NEW_NODE)
    assert len((await charlie.get(his)).json()["nodes"]) == 1
