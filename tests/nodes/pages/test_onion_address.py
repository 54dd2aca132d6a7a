"""A node's onion address on its page, where the operator runs Tor."""

from html import unescape

import pytest

from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.test_nodes import filled, made


@pytest.fixture
async def fleet_harness(fleet_harness: FleetHarness) -> FleetHarness:
    """One whose platform has peer ports, and a Tor."""
    fleet_harness.offer_peer_ports("21000-21001")
    fleet_harness.offer_onions()
    return fleet_harness


async def test_it_is_shown_while_the_node_listens(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    silent = await alice.get(await made(alice, fleet_harness))
    assert ".onion" not in silent.text
    wish = filled("far light", once="0c1f2b7d-7a44-4c39-9a0e-7b0c3d1e9e55")
    answer = await alice.submit(f"{alice.root}/nodes/new", {**wish, "listen": "yes"})
    shown = unescape((await alice.get(answer.location)).text)
    nodes = await fleet_harness.fleet.database.reader.nodes.all_()
    (host,) = [node.onion for node in nodes if node.onion]
    assert f'<code id="onion">{host}:9735</code>' in shown
    assert f"<code>PUBLIC-KEY@{host}:9735</code>" in shown
