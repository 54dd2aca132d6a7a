"""Who may reach whom in a cluster, by the policies of the chart."""

from itertools import product
from pathlib import Path

import pytest
import yaml

from leyden.domain.addresses import PUBLIC_V6, SPECIAL_V4, SPECIAL_V6
from leyden.domain.versions import OFFERED
from leyden.runtimes.kubernetes import manifests
from leyden.runtimes.kubernetes.template import Template
from tests.deploy.policies import End, passes
from tests.domain.nodes import a_node

MANIFEST = Path(__file__).parents[2] / "deploy/kubernetes/leyden.yaml"
OBJECTS = [each for each in yaml.safe_load_all(MANIFEST.read_text()) if each]
POLICIES = [each for each in OBJECTS if each["kind"] == "NetworkPolicy"]
USUAL = Template(grounds={}, images={OFFERED.default: ""}, storage_class="")
REST, GRPC, PEER = USUAL.rest_port, USUAL.grpc_port, USUAL.peer_port
FIRST, LAST = 21_000, 21_002  # of the ports of nodes' peers


def part(name: str, address: str) -> End:
    """Return a pod of the platform, labelled as the chart does."""
    [template] = [
        each["spec"]["template"]
        for each in OBJECTS
        if each["metadata"]["name"] == f"leyden-{name}" and "template" in each["spec"]
    ]
    [container] = template["spec"]["containers"]
    return End(
        address=address,
        namespace="leyden",
        labels=template["metadata"]["labels"],
        ports={p["name"]: p["containerPort"] for p in container.get("ports", ())},
    )


def a_nodes_pod(address: str) -> End:
    return End(
        address=address,
        namespace="leyden-nodes",
        labels=manifests.labels(a_node().id),
        ports={"rest": REST, "grpc": GRPC},
    )


NODE, OTHER_NODE = a_nodes_pod("10.9.0.1"), a_nodes_pod("10.9.0.2")
API, WORKER = part("api", "10.9.1.1"), part("worker", "10.9.1.2")
GATEWAY, MIGRATION = part("gateway", "10.9.1.3"), part("migrate", "10.9.1.4")
DNS = End(address="10.9.2.1", namespace="kube-system", labels={"k8s-app": "kube-dns"})
STRANGER = End(address="10.9.3.1", namespace="shop", labels={"app": "shop"})
API_SERVER = End(address="10.96.0.1")
METADATA = End(address="169.254.169.254")
MACHINE = End(address="192.168.0.11")
DATABASE = End(address="10.1.2.4")
BACKEND = End(address="10.1.2.3")
OURS = End(address="198.41.0.4")  # public, and closed by the operator
CUSTOMER = End(address="8.8.4.4")
CUSTOMER_V6 = End(address="2606:4700::1111")
PEER_IN_DISGUISE = End(address="2002:0a09::1")

PLACES = {name: end for name, end in list(globals().items()) if isinstance(end, End)}
PORTS = (
    *(53, 443, 6443, 5432, 8000, 8010, 8080, 9735, REST, GRPC, PEER, 18332),
    *(FIRST - 1, FIRST, LAST, LAST + 1),
)

# All that a node may reach, and all that may reach it.
FROM_A_NODE = {
    ("DNS", 53),
    ("API", 8010),
    ("BACKEND", 18332),
    *(("GATEWAY", port) for port in (FIRST, LAST)),
    *(("CUSTOMER", port) for port in PORTS),
    *(("CUSTOMER_V6", port) for port in PORTS),
}
TO_A_NODE = {*(("GATEWAY", port) for port in (REST, GRPC, PEER)), ("WORKER", REST)}


def reached(source: End, target: End, port: int, protocol: str = "TCP") -> bool:
    return passes(POLICIES, source, target, port, protocol)


def test_a_node_reaches_this_and_nothing_else() -> None:
    found = {
        (name, port)
        for (name, target), port in product(PLACES.items(), PORTS)
        if target is not NODE and reached(NODE, target, port)
    }
    assert found == FROM_A_NODE
    assert reached(NODE, DNS, 53, "UDP")
    assert not reached(NODE, DNS, 443, "UDP")


def test_a_node_is_reached_by_these_and_nobody_else() -> None:
    found = {
        (name, port)
        for (name, source), port in product(PLACES.items(), PORTS)
        if source is not NODE and reached(source, NODE, port)
    }
    assert found == TO_A_NODE


@pytest.mark.parametrize("source", [*PLACES.values()], ids=[*PLACES])
def test_nobody_reaches_a_worker(source: End) -> None:
    for port, target in product(PORTS, (WORKER, MIGRATION)):
        assert not reached(source, target, port)


def test_everybody_but_nodes_reaches_api_and_gateways_at_their_ports() -> None:
    for source in (CUSTOMER, CUSTOMER_V6, STRANGER, GATEWAY):
        assert [port for port in PORTS if reached(source, API, port)] == [8000]
    for source in (CUSTOMER, CUSTOMER_V6, STRANGER):
        found = [port for port in PORTS if reached(source, GATEWAY, port)]
        assert found == [8080, FIRST, LAST]
        assert reached(source, GATEWAY, 10_009)


def test_what_is_closed_to_nodes_of_one_machine_is_closed_in_a_cluster() -> None:
    [spec] = [
        each["spec"]
        for each in POLICIES
        if each["metadata"]["namespace"] == "leyden-nodes"
    ]
    assert spec["podSelector"] == {}, "whatever else runs there"
    blocks = {
        block["cidr"]: set(block.get("except", ()))
        for rule in spec["egress"]
        for peer in rule["to"]
        if (block := peer.get("ipBlock"))
    }
    assert blocks.pop("10.1.2.3/32") == set()
    assert blocks == {
        "0.0.0.0/0": {*map(str, SPECIAL_V4), "198.41.0.0/24"},
        str(PUBLIC_V6): {*map(str, SPECIAL_V6)},
    }
