"""What Envoy is told, letter by letter where it matters."""

import json
from typing import Any

import pytest

from leyden.nodes.gateway.envoy import Documents
from leyden.nodes.gateway.listener_options import ListenerOptions
from leyden.nodes.gateway.routes import Listener, Route, UpstreamAddress
from leyden.values import replace

PORTS = {Listener.REST: 8080, Listener.GRPC: 10009}
HARBOUR = Route(
    node_id="5f3e",
    name="harbour.nodes.test",
    whitelist=("198.51.100.7", "2001:db8::/32"),
    rest=UpstreamAddress("127.8.0.1", 8080),
    grpc=UpstreamAddress("127.8.0.1", 10009),
)
LIGHTHOUSE = replace(HARBOUR, node_id="77aa", name="lighthouse.nodes.test")


def documents_of(
    *routes: Route, listening: ListenerOptions | None = None
) -> dict[str, Any]:
    listeners = Documents(listening or ListenerOptions(ports=PORTS))
    content: dict[str, Any] = json.loads(listeners.document(routes).content)
    return content


def chains(document: dict[str, Any], listener: Listener) -> dict[str, Any]:
    (found,) = [it for it in document["resources"] if it["name"] == listener.value]
    return {chain["name"]: chain for chain in found["filter_chains"]}


def test_the_filter_that_caps_is_in_use_before_the_first_node() -> None:
    for listener in Listener:
        (nobody,) = chains(documents_of(), listener).values()
        # Equal filters share one machine; unequal ones would not keep it warm.
        for chain in chains(documents_of(HARBOUR), listener).values():
            assert chain["filters"][0] == nobody["filters"][0]
            assert "connection_limits.wasm" in json.dumps(chain["filters"][0])


def test_no_chain_lets_in_by_name_alone() -> None:
    nobody = replace(HARBOUR, node_id="00", name="nobody.nodes.test", whitelist=())
    for listener in Listener:
        found = chains(documents_of(HARBOUR, LIGHTHOUSE, nobody), listener)
        del found["nobody"]
        assert len(found) == 4
        for chain in found.values():
            assert chain["filter_chain_match"]["source_prefix_ranges"]
            assert chain["filter_chain_match"]["server_names"]


def test_what_is_remembered_is_what_is_written_afresh() -> None:
    listeners = Documents(ListenerOptions(ports=PORTS))
    listeners.document([HARBOUR])
    document = listeners.document([LIGHTHOUSE, HARBOUR])
    fresh = Documents(ListenerOptions(ports=PORTS)).document([HARBOUR, LIGHTHOUSE])
    assert document == fresh
    assert listeners.document([LIGHTHOUSE]).version != document.version


@pytest.mark.parametrize("anyone", ["0.0.0.0/0", "::/0"])
def test_not_everybody_can_be_a_load_balancer(anyone: str) -> None:
    with pytest.raises(ValueError, match="may not be a load balancer"):
        ListenerOptions(ports=PORTS, balancers=(anyone,))


@pytest.mark.parametrize("cap", [0, -1, 2**31])
def test_a_cap_is_a_number_that_the_counter_can_reach(cap: int) -> None:
    with pytest.raises(ValueError, match="is no number of connections"):
        ListenerOptions(ports=PORTS, connections_per_source=cap)
