"""The chart installed whole, from images built here: nodes, routes, an upgrade."""

import base64
import contextlib
import os
import secrets
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256K1,
    generate_private_key,
)
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from leyden_workshop.devcluster.images import by_digest
from tests import noise
from tests.cluster import ensure_up
from tests.images import bench
from tests.installations import SETTINGS
from tests.programs import built
from tests.workshop.devcluster import cluster_installation as quays
from tests.workshop.devcluster.cluster_installation import (
    ClusterInstallation,
    Customer,
    Owner,
    Traffic,
)
from tests.workshop.devcluster.clusters import (
    DevCluster,
    companion_image,
    lnds_of,
    processes_of,
    until,
)
from tests.workshop.devcluster.outages import DatabaseOutage

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def deployment(
    cluster: DevCluster, postgres_server: str
) -> Iterator[ClusterInstallation]:
    built("helm")
    ensure_up(cluster)
    folder = Path(tempfile.mkdtemp(prefix="quay-"))
    made = {}
    with bench() as at:
        for name in ("platform", "envoy"):
            archive = at.archive(at.build(name))
            cluster.run("load", str(archive))
            made[name] = by_digest(archive)
    name = f"quay_{secrets.token_hex(3)}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    socket_folder = postgres_server.partition("host=")[2].partition("&")[0]
    # It listens on a socket of this host alone, and pods come by a port.
    database_outage = DatabaseOutage(0, f"{socket_folder}/.s.PGSQL.5432")
    host = str(cluster.addresses.host)
    with database_outage.relayed(host) as port:
        database = f"postgresql://postgres@{host}:{port}/{name}"
        made_there = ClusterInstallation(
            cluster, folder, database, made, companion_image()
        )
        try:
            made_there.install()
            yield made_there
        finally:
            made_there.remove()


def customer_of(deployment: ClusterInstallation) -> Customer:
    team = f"team {secrets.token_hex(4)}"
    organization = deployment.leyden("orgs", "create", team)["organization_id"]
    words = ("--organization", organization, "--name", "all")
    key = deployment.leyden("api-keys", "create", *words)["api_key"]
    return Customer(deployment, organization, key)


def test_a_node_is_created_reached_and_kept_through_an_upgrade(
    deployment: ClusterInstallation,
) -> None:
    customer = customer_of(deployment)
    with quays.receiver(deployment.host) as (url, taken):
        settings = {**SETTINGS, "whitelist": [deployment.host], "webhook": url}
        node = customer.create("harbour light", {**settings, "listen": False})
        customer.is_(node, "waiting_init")
        until("its webhook", lambda: taken)
        assert taken[0]["details"] == {"status": "waiting_init"}

        chain = customer.call("GET", f"/{node}/cert")["tls_cert"]
        authority = base64.b64decode(chain).decode()
        name = customer.item(node)["api_endpoint"]
        port = deployment.node_port()

        def from_outside() -> str:
            """Ask by each machine's port, which keeps the caller's address."""
            found = {
                quays.state(deployment.machine_address(number), port, name, authority)
                for number in (1, 2)
            }
            return " ".join(sorted(found))

        until("an answer", lambda: from_outside() == '{"state":"NON_EXISTING"}')
        # Within the cluster a machine stands in for this host: nobody is let in.
        hidden = deployment.cluster.get(
            "service", "leyden-gateway", "-n", deployment.name
        )
        refused = quays.state(hidden["spec"]["clusterIP"], 443, name, authority)
        assert refused.startswith("refused")

        [pod] = deployment.cluster.get("pods", "-n", deployment.nodes)["items"]
        before = {each["metadata"]["uid"] for each in deployment.pods()}
        with Traffic(lambda: order_channel(customer)) as traffic:
            deployment.helm("upgrade", *("--set", "settings.log_level=debug"))
            until("the end of those before", lambda: len(deployment.pods("api")) == 2)
        assert traffic.wrong == [], f"of {traffic.asked}"
        assert traffic.asked > 100
        assert not {each["metadata"]["uid"] for each in deployment.pods("api")} & before
        [after] = deployment.cluster.get("pods", "-n", deployment.nodes)["items"]
        assert after["metadata"]["uid"] == pod["metadata"]["uid"]
        assert customer.item(node)["status"] == "waiting_init"

        deployment.helm("upgrade", "--set", "gateway.drainSeconds=5")
        until("an answer", lambda: from_outside() == '{"state":"NON_EXISTING"}')
        customer.call("DELETE", f"/{node}")
        until(
            "its end",
            lambda: not deployment.cluster.get("pods", "-n", deployment.nodes)["items"],
        )


async def test_a_peer_connects_to_a_node_through_its_port_of_the_gateways(
    deployment: ClusterInstallation,
) -> None:
    customer = customer_of(deployment)
    settings = {**SETTINGS, "whitelist": [deployment.host], "listen": True}
    node = customer.create("shore light", settings)
    customer.is_(node, "waiting_init")
    item = customer.item(node)
    host, _, port = item["peer_address"].rpartition(":")
    assert host == quays.PEER_HOST
    peer_port = deployment.node_port(f"peer-{port}")
    chain = customer.call("GET", f"/{node}/cert")["tls_cert"]
    authority, rest = base64.b64decode(chain).decode(), deployment.node_port()
    at = deployment.machine_address(1)
    whom = (at, rest, item["api_endpoint"], authority)
    until("its gateway", lambda: quays.state(*whom) == '{"state":"NON_EXISTING"}')
    key = Owner(*whom).make_wallet()
    for number in (1, 2):
        machine = deployment.machine_address(number)
        assert await noise.is_answered(machine, peer_port, key, source=deployment.host)
    # The port is this node's: to whoever looks for another one it says nothing.
    stranger = generate_private_key(SECP256K1()).public_key()
    other = stranger.public_bytes(Encoding.X962, PublicFormat.CompressedPoint).hex()
    assert not await noise.is_answered(at, peer_port, other, source=deployment.host)
    customer.call("DELETE", f"/{node}")


@pytest.mark.parametrize("component", ["api", "worker", "gateway"])
def test_whatever_of_it_is_killed_nodes_live_on_and_what_was_answered_is_done(
    deployment: ClusterInstallation, component: str
) -> None:
    customer = customer_of(deployment)
    with quays.receiver(deployment.host) as (url, taken):

        def create(name: str) -> str:
            # There are fewer ports for peers than nodes.
            settings = {**SETTINGS, "whitelist": [deployment.host], "webhook": url}
            settings["listen"] = False
            wish = {"network": "testnet", "type": "standard", "settings": settings}
            made = customer.insist("POST", body={**wish, "name": f"{component} {name}"})
            return str(made["node_id"])

        bystander, stopping, starting = map(create, ("one", "two", "three"))
        for node in (bystander, stopping, starting):
            customer.is_(node, "waiting_init")
        customer.insist("POST", f"/{starting}/stop")
        customer.is_(starting, "stopped")
        [lives_on] = lnds_of(f"node-{bystander.lower()}")
        before = restarts(deployment, component)
        # What is answered before, in the middle of it, and not yet.
        creating = create("four")
        customer.insist("POST", f"/{stopping}/stop")
        kill_all(deployment, component)
        customer.insist("POST", f"/{starting}/start")
        last = create("five")
        wanted = {
            **dict.fromkeys((bystander, creating, starting, last), "waiting_init"),
            stopping: "stopped",
        }
        for node, status in wanted.items():
            customer.is_(node, status)
            assert len(lnds_of(f"node-{node.lower()}")) == (status != "stopped")
        until("its start", lambda: restarts(deployment, component) > before)
        assert lnds_of(f"node-{bystander.lower()}") == [lives_on]
        until("a route", lambda: answers_outside(deployment, customer, last))
        until("webhooks", lambda: len({each["id"] for each in taken}) >= 8)
        events = {each["id"]: each for each in taken}.values()

        def read_answer(node: str) -> list[str]:
            name = customer.item(node)["api_endpoint"]
            return [each["details"]["status"] for each in events if each["api"] == name]

        assert {node: read_answer(node) for node in wanted} == {
            bystander: ["waiting_init"],
            stopping: ["waiting_init", "stopped"],
            starting: ["waiting_init", "stopped", "waiting_init"],
            creating: ["waiting_init"],
            last: ["waiting_init"],
        }
        for node in wanted:
            customer.insist("DELETE", f"/{node}")
        pods = ("pods", "-n", deployment.nodes)
        until("their end", lambda: not deployment.cluster.get(*pods)["items"])


def kill_all(deployment: ClusterInstallation, component: str) -> None:
    """Kill each process of all pods of a part of the platform."""
    for each in deployment.pods(component):
        for pid in processes_of(each["metadata"]["name"]):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def restarts(deployment: ClusterInstallation, component: str) -> int:
    """Return how often containers of a part were started again, ready ones only."""
    found = [
        status
        for each in deployment.pods(component)
        for status in each["status"]["containerStatuses"]
    ]
    if not all(each["ready"] for each in found):
        return -1
    return sum(each["restartCount"] for each in found)


def answers_outside(
    deployment: ClusterInstallation, customer: Customer, node: str
) -> bool:
    """Return whether a node is reached by its name, at a machine's port."""
    authority = base64.b64decode(customer.insist("GET", f"/{node}/cert")["tls_cert"])
    name = customer.item(node)["api_endpoint"]
    address = deployment.machine_address(1)
    said = quays.state(address, deployment.node_port(), name, authority.decode())
    return said == '{"state":"NON_EXISTING"}'


def test_each_process_has_metrics(deployment: ClusterInstallation) -> None:
    for pod in (*deployment.pods("api"), *deployment.pods("worker")):
        name = pod["metadata"]["name"]
        path = (
            f"/api/v1/namespaces/{deployment.name}/pods/http:{name}:9464/proxy/metrics"
        )
        assert "leyden_queue_lag_seconds" in deployment.cluster.kubectl(
            "get", "--raw", path
        )


def test_the_doctor_finds_a_service_that_hides_who_calls(
    deployment: ClusterInstallation,
) -> None:
    what = "gateways see their callers' addresses"
    assert deployment.examined()[what] == ""
    change = '{"spec": {"externalTrafficPolicy": "%s"}}'
    service = ("patch", "service", "leyden-gateway", "-n", deployment.name, "-p")
    deployment.cluster.kubectl(*service, change % "Cluster")
    try:
        assert "externalTrafficPolicy: Local" in deployment.examined()[what]
    finally:
        deployment.cluster.kubectl(*service, change % "Local")


def order_channel(customer: Customer) -> str:
    """Return why a request was not answered as it should be."""
    status, content = customer.ask("GET")
    return "" if status == 200 else f"{status} {content!r}"
