"""A node's peer address, in each answer that tells where it is."""

from typing import Any

import pytest

from tests.base.api.conftest import Caller
from tests.nodes.api.nodes.conftest import NEW_NODE, refusal
from tests.nodes.fleet_harness import SETTINGS, FleetHarness


@pytest.fixture
async def fleet_harness(fleet_harness: FleetHarness) -> FleetHarness:
    """One whose platform has one peer port."""
    fleet_harness.offer_peer_ports("21000", host="2001:db8::1")
    return fleet_harness


async def test_it_is_in_list_item_single_and_connect(
    alice: Caller, nodes: str, path: str
) -> None:
    (item,) = (await alice.get(nodes)).json()["nodes"]
    shown = (await alice.get(path)).json()
    way = (await alice.get(f"{path}/connect")).json()
    addresses = {each["peer_address"] for each in (item, shown, way)}
    assert addresses == {"[2001:db8::1]:21000"}
    assert shown["settings"]["listen"] is True


async def test_connecting_tells_the_public_key_once_it_is_known(
    alice: Caller, path: str, node: dict[str, Any], fleet_harness: FleetHarness
) -> None:
    assert (await alice.get(f"{path}/connect")).json()["public_key"] == ""
    async with fleet_harness.fleet.database.transaction() as tx:
        await tx.node_keys.keep(node["node_id"], "02" + "ab" * 32)
    way = (await alice.get(f"{path}/connect")).json()
    assert way["public_key"] == "02" + "ab" * 32


async def test_when_all_are_in_use_the_answer_says_what_to_do(
    alice: Caller, nodes: str, node: dict[str, Any]
) -> None:
    assert node
    wish = {**NEW_NODE, "name": "pier"}
    answer = await alice.post(nodes, wish)
    assert refusal(answer) == (
        409,
        (
            "listen: all 1 peer ports of this platform are in use; set listen to "
            "false, or ask the operator for more (peer_ports)"
        ),
    )
    silent = await alice.post(
        nodes, {**wish, "settings": {**SETTINGS, "listen": False}}
    )
    assert silent.status == 200


@pytest.mark.parametrize("listen", ["yes", 1, None, [], "21000"])
async def test_it_is_on_or_off_and_nobody_chooses_a_port(
    alice: Caller, path: str, listen: object
) -> None:
    status, message = refusal(await alice.post(f"{path}/settings", {"listen": listen}))
    assert status == 400
    assert "listen" in message
