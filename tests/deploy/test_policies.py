"""Who may reach whom in a cluster, by the policies of the chart."""

import json
from itertools import product
from pathlib import Path

import pytest
import yaml

from leyden.base.rules.addresses import PUBLIC_V6, SPECIAL_V4, SPECIAL_V6
from leyden.nodes.rules.versions import OFFERED
from leyden.nodes.runtimes.kubernetes import manifests
from leyden.nodes.runtimes.kubernetes.template import Template
from tests.deploy.policies import End, passes
from tests.deploy.test_chart import rendered
from tests.nodes.rules.nodes import a_node

MANIFEST = Path(__file__).parents[2] / "deploy/kubernetes/leyden.yaml"
BESIDE = MANIFEST.with_name("nodes-policy.yaml")
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
        if each["metadata"]["name"] == f"leyden-{name}"
        and "template" in each.get("spec", {})
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
METADATA_V6 = End(address="fd00:ec2::254")
MACHINE = End(address="192.168.0.11")
DATABASE = End(address="10.1.2.4")
BACKEND = End(address="10.1.2.3")
OURS = End(address="198.41.0.4")  # public, and closed by the operator
CUSTOMER = End(address="8.8.4.4")
CUSTOMER_V6 = End(address="2606:4700::1111")
PEER_IN_DISGUISE = End(address="2002:0a09::1")

PLACES = {name: end for name, end in list(globals().items()) if isinstance(end, End)}
PORTS = (
    *(53, 443, 6443, 5432, 8000, 8010, 8020, 8080, 9735, REST, GRPC, PEER, 18332),
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
    for source in (CUSTOMER, CUSTOMER_V6, STRANGER):
        assert [port for port in PORTS if reached(source, API, port)] == [8000]
    # Which ask for their routes.
    assert [port for port in PORTS if reached(GATEWAY, API, port)] == [8000, 8020]
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


PLATFORM = ("API", "WORKER", "MIGRATION")


@pytest.mark.parametrize("part_", PLATFORM)
def test_no_part_of_the_platform_asks_a_cloud_for_a_machines_credentials(
    part_: str,
) -> None:
    source = PLACES[part_]
    link_local = End(address="fe80::1")
    for target, port in product((METADATA, METADATA_V6, link_local), (80, 443)):
        assert not reached(source, target, port)
    for target, port in (
        *((API_SERVER, 443), (DATABASE, 5432), (DNS, 53), (CUSTOMER, 443)),
        (CUSTOMER_V6, 443),
    ):
        assert reached(source, target, port)
    assert reached(source, DNS, 53, "UDP")
    assert reached(source, NODE, REST) == (part_ == "WORKER")


def test_the_platform_reaches_what_is_named_when_something_is() -> None:
    named = [("10.96.0.1/32", 443), ("10.1.2.4/32", 5432)]
    may_reach = [{"cidr": cidr, "port": port} for cidr, port in named]
    done = rendered("--set-json", f"platform.mayReach={json.dumps(may_reach)}")
    assert done.returncode == 0, done.stderr
    objects = [each for each in yaml.safe_load_all(done.stdout) if each]
    policies = [each for each in objects if each["kind"] == "NetworkPolicy"]

    def found(source: End) -> set[tuple[str, int]]:
        return {
            (name, port)
            for (name, target), port in product(PLACES.items(), PORTS)
            if port != 53 and passes(policies, source, target, port, "TCP")
        }

    private = {("API_SERVER", 443), ("DATABASE", 5432)}
    assert found(API) == private
    for source in (WORKER, MIGRATION):
        public = {name for name, _ in found(source) - private}
        others = {"NODE", "OTHER_NODE"} if source is WORKER else set()
        assert public == {"CUSTOMER", "CUSTOMER_V6", "OURS", *others}


def test_nodes_beside_the_platform_reach_this_and_nothing_else() -> None:
    policies = [yaml.safe_load(BESIDE.read_text())]
    blocks = {
        block["cidr"]: set(block["except"])
        for rule in policies[0]["spec"]["egress"]
        for peer in rule["to"]
        if "except" in (block := peer.get("ipBlock", {}))
    }
    assert blocks == {
        "0.0.0.0/0": {*map(str, SPECIAL_V4)},
        str(PUBLIC_V6): {*map(str, SPECIAL_V6)},
    }
    platform = End(address="192.0.2.10")
    others = [
        OTHER_NODE,
        *(STRANGER, API_SERVER, METADATA, METADATA_V6, MACHINE, DATABASE, BACKEND),
    ]

    def passing(source: End, target: End) -> list[int]:
        return [port for port in PORTS if passes(policies, source, target, port, "TCP")]

    assert passing(NODE, platform) == [8010, FIRST, LAST, LAST + 1]
    assert passing(NODE, CUSTOMER) == [*PORTS]
    assert passing(NODE, BACKEND) == [18332]
    assert passing(NODE, DNS) == [53]
    for other in others:
        assert passing(NODE, other) == ([18332] if other is BACKEND else [])
        assert passing(other, NODE) == []
    assert passing(platform, NODE) == [REST, GRPC, PEER]
