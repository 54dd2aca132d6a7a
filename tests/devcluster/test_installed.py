"""The chart installed whole, from images built here: nodes, routes, an upgrade."""

import base64
import secrets
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

from tests import noise
from tests.cluster import ensure_up, skip_unless_built
from tests.devcluster import quay as quays
from tests.devcluster.clusters import DevCluster, companion_image, until
from tests.devcluster.quay import Customer, Owner, Quay, Traffic
from tests.installations import SETTINGS

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def quay(cluster: DevCluster, postgres_server: str) -> Iterator[Quay]:
    skip_unless_built("helm")
    ensure_up(cluster)
    folder = Path(tempfile.mkdtemp(prefix="quay-"))
    made = quays.built(folder, "platform", "envoy")
    for name in made:
        cluster.run("load", str(folder / f"{name}.tar"))
        (folder / f"{name}.tar").unlink()
    name = f"quay_{secrets.token_hex(3)}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    socket_folder = postgres_server.partition("host=")[2].partition("&")[0]
    with quays.relayed(f"{socket_folder}/.s.PGSQL.5432", host_of(cluster)) as port:
        database = f"postgresql://postgres@{host_of(cluster)}:{port}/{name}"
        made_there = Quay(cluster, folder, database, made, companion_image())
        try:
            made_there.install()
            yield made_there
        finally:
            made_there.remove()


def host_of(cluster: DevCluster) -> str:
    decided = cluster.places.read()
    assert decided is not None
    assert decided.addresses is not None
    return str(decided.addresses.host)


def customer_of(quay: Quay) -> Customer:
    team = f"team {secrets.token_hex(4)}"
    organization = quay.leyden("org", "create", team)["organization_id"]
    words = ("--organization", organization, "--name", "all")
    key = quay.leyden("key", "create", *words)["api_key"]
    return Customer(quay, organization, key)


def test_a_node_is_created_reached_and_kept_through_an_upgrade(quay: Quay) -> None:
    customer = customer_of(quay)
    with quays.receiver(quay.host) as (url, taken):
        settings = {**SETTINGS, "whitelist": [quay.host], "webhook": url}
        node = customer.create("harbour light", settings)
        customer.is_(node, "waiting_init")
        until("its webhook", lambda: taken)
        assert taken[0]["details"] == {"status": "waiting_init"}

        chain = customer.call("GET", f"/{node}/cert")["tls_cert"]
        authority = base64.b64decode(chain).decode()
        name = customer.item(node)["api_endpoint"]
        port = quay.node_port()

        def from_outside() -> str:
            """Ask by each machine's port, which keeps the caller's address."""
            found = {
                quays.state(quay.machine_address(number), port, name, authority)
                for number in (1, 2)
            }
            return " ".join(sorted(found))

        until("an answer", lambda: from_outside() == '{"state":"NON_EXISTING"}')
        # Within the cluster a machine stands in for this host: nobody is let in.
        hidden = quay.cluster.get("service", "leyden-gateway", "-n", quay.name)
        refused = quays.state(hidden["spec"]["clusterIP"], 443, name, authority)
        assert refused.startswith("refused")

        [pod] = quay.cluster.get("pods", "-n", quay.nodes)["items"]
        before = {each["metadata"]["uid"] for each in quay.pods()}
        with Traffic(lambda: asked(customer)) as traffic:
            quay.helm("upgrade", *("--set", "settings.log_level=debug"))
            until("the end of those before", lambda: len(quay.pods("api")) == 2)
        assert traffic.wrong == [], f"of {traffic.asked}"
        assert traffic.asked > 100
        assert not {each["metadata"]["uid"] for each in quay.pods("api")} & before
        [after] = quay.cluster.get("pods", "-n", quay.nodes)["items"]
        assert after["metadata"]["uid"] == pod["metadata"]["uid"]
        assert customer.item(node)["status"] == "waiting_init"

        quay.helm("upgrade", "--set", "gateway.drainSeconds=5")
        until("an answer", lambda: from_outside() == '{"state":"NON_EXISTING"}')
        customer.call("DELETE", f"/{node}")
        until(
            "its end", lambda: not quay.cluster.get("pods", "-n", quay.nodes)["items"]
        )


async def test_a_peer_connects_to_a_node_through_its_port_of_the_gateways(
    quay: Quay,
) -> None:
    customer = customer_of(quay)
    settings = {**SETTINGS, "whitelist": [quay.host], "listen": True}
    node = customer.create("shore light", settings)
    customer.is_(node, "waiting_init")
    item = customer.item(node)
    host, _, port = item["peer_address"].rpartition(":")
    assert host == quays.PEER_HOST
    peer_port = quay.node_port(f"peer-{port}")
    chain = customer.call("GET", f"/{node}/cert")["tls_cert"]
    authority, rest = base64.b64decode(chain).decode(), quay.node_port()
    at = quay.machine_address(1)
    whom = (at, rest, item["api_endpoint"], authority)
    until("its gateway", lambda: quays.state(*whom) == '{"state":"NON_EXISTING"}')
    key = Owner(*whom).make_wallet()
    for number in (1, 2):
        machine = quay.machine_address(number)
        assert await noise.is_answered(machine, peer_port, key, source=quay.host)
    # The port is this node's: to whoever looks for another one it says nothing.
    stranger = generate_private_key(SECP256K1()).public_key()
    other = stranger.public_bytes(Encoding.X962, PublicFormat.CompressedPoint).hex()
    assert not await noise.is_answered(at, peer_port, other, source=quay.host)
    customer.call("DELETE", f"/{node}")


def test_the_doctor_finds_a_service_that_hides_who_calls(quay: Quay) -> None:
    what = "gateways see who calls them"
    assert quay.examined()[what] == ""
    change = '{"spec": {"externalTrafficPolicy": "%s"}}'
    service = ("patch", "service", "leyden-gateway", "-n", quay.name, "-p")
    quay.cluster.kubectl(*service, change % "Cluster")
    try:
        assert "externalTrafficPolicy: Local" in quay.examined()[what]
    finally:
        quay.cluster.kubectl(*service, change % "Local")


def asked(customer: Customer) -> str:
    """Return why a request was not answered as it should be."""
    status, content = customer.ask("GET")
    return "" if status == 200 else f"{status} {content!r}"
