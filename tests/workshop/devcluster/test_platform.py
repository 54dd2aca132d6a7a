"""A platform whose nodes are pods, with an account that may do little."""

import asyncio
import contextlib
import secrets
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from leyden.app import installation
from leyden.app.migration import migrate
from leyden.base.opening import opened
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.errors import NotFound, SetupError
from leyden.nodes.gateway.local import LocalGateway
from leyden.nodes.rules.nodes import Node
from leyden.nodes.rules.versions import OFFERED
from leyden.nodes.runtimes.kubernetes import manifests
from leyden.nodes.runtimes.kubernetes.runtime import KubernetesRuntime
from leyden.operators.production import cluster_doctor, machine
from leyden.people import accounts, api_keys
from leyden.values import replace
from tests import cluster_roles
from tests.cluster import ensure_up
from tests.installations import SETTINGS
from tests.nodes.contracts.pods import CLASS
from tests.ports import free_ports
from tests.workshop.devcluster import lnd_pod
from tests.workshop.devcluster.clusters import (
    DevCluster,
    companion_image,
    lnd_image,
    lnds_of,
)

BLOCKS = (
    "2026-03-01 12:00:00.000 [ERR] GRPH: out of order block: expecting height=9, "
    "got height=7"
)

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]


@dataclass(frozen=True)
class Shore:
    """A namespace for nodes, and an account with the documented roles in it."""

    cluster: DevCluster
    namespace: str
    kubeconfig: Path
    others: Sequence[str]  # namespaces without roles


@pytest.fixture(scope="module")
def shore(
    cluster: DevCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shore]:
    ensure_up(cluster)
    first, *others = (f"lnds-{secrets.token_hex(3)}" for _ in range(8))
    cluster.kubectl(
        *("apply", "-f", "-"),
        given=[
            *cluster_roles.manifests(first, "leyden"),
            *(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}}
                for each in others
            ),
            {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": "guest", "namespace": "leyden"},
            },
        ],
    )
    folder = tmp_path_factory.mktemp("shore")
    yield Shore(cluster, first, kubeconfig(cluster, folder), others)
    with contextlib.suppress(AssertionError):  # where a test has left no pod
        for each in (first, *others):
            free(cluster, each)
    cluster.kubectl("delete", "namespace", first, *others, "--wait=false")


def free(cluster: DevCluster, namespace: str) -> None:
    """Let the pods in a namespace go."""
    cluster.kubectl("delete", "pods", "--all", "--namespace", namespace, "--wait=false")
    for each in cluster.get("pods", "--namespace", namespace)["items"]:
        cluster.kubectl(
            *("patch", "pod", each["metadata"]["name"], "--namespace", namespace),
            *("--type=merge", "-p", '{"metadata": {"finalizers": null}}'),
        )


def kubeconfig(cluster: DevCluster, folder: Path, account: str = "leyden") -> Path:
    """Write the kubeconfig of an account, as an operator does."""
    admin = yaml.safe_load(cluster.places.kubeconfig.read_text())
    token = cluster.kubectl("create", "token", account, "--namespace", "leyden")
    admin["users"] = [{"name": "admin", "user": {"token": token.strip()}}]
    file = folder / f"{account}.kubeconfig"
    file.write_text(yaml.safe_dump(admin))
    return file


@pytest.fixture
def given(shore: Shore, tmp_path: Path) -> Settings:
    api, rest, grpc = free_ports(3)
    return Settings(
        home=str(tmp_path / "home"),
        api_port=api,
        metrics_port=0,
        gateway_rest_port=rest,
        gateway_grpc_port=grpc,
        testnet_chain="simnet",
        testnet_backend="neutrino",
        node_data_kept_s=1,
        runtime="kubernetes",
        kubeconfig=str(shore.kubeconfig),
        kubernetes_namespace=shore.namespace,
        kubernetes_storage_class=CLASS,
        kubernetes_images=f"{OFFERED.default}={lnd_image()}",
    )


def as_admin(given: Settings, shore: Shore, namespace: str) -> Settings:
    return replace(
        given,
        kubeconfig=str(shore.cluster.places.kubeconfig),
        kubernetes_namespace=namespace,
    )


class Conflict(AssertionError):
    """What was asked for is not possible in this state."""


class Customer:
    """An organization with a key, at a platform that runs."""

    def __init__(self, given: Settings, organization: str, key: str) -> None:
        self.given = given
        self._nodes = (
            f"http://127.0.0.1:{given.api_port}/organizations/{organization}/nodes"
        )
        self._headers = {"X-SERVICE-AUTH": key}

    async def call(
        self, method: str, path: str = "", body: object = None, *, key: str = ""
    ) -> Any:
        """Make a request; one key for each attempt at the same."""
        headers = {**self._headers, **({"Idempotency-Key": key} if key else {})}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.request(method, f"{self._nodes}{path}", json=body) as answer,
        ):
            if answer.status == 503:
                answer.raise_for_status()
            if answer.status == 409:
                raise Conflict(await answer.text())
            assert answer.status < 300, await answer.text()
            return await answer.json()

    async def create(self, **settings: object) -> str:
        made = await self.call("POST", body=wish(**settings))
        return str(made["node_id"])

    async def item(self, node_id: str) -> dict[str, Any]:
        listed = await self.call("GET")
        found = listed["nodes"] if isinstance(listed, dict) else listed
        return next(dict(each) for each in found if each["node_id"] == node_id)

    async def is_(self, node_id: str, status: str, *, within_s: float = 60) -> None:
        found = ""
        try:
            async with asyncio.timeout(within_s):
                while (found := (await self.item(node_id))["status"]) != status:
                    await asyncio.sleep(0.1)
                    assert found != "failed"
        except TimeoutError:
            raise AssertionError(f"{found}, not {status}") from None

    async def state(self, node_id: str, authority: str) -> object:
        """Ask the node itself, by its name, through the gateway."""
        name = (await self.item(node_id))["api_endpoint"]
        trusting = ssl.create_default_context(cadata=authority)
        url = f"https://127.0.0.1:{self.given.gateway_rest_port}/v1/state"
        async with (
            aiohttp.ClientSession() as session,
            session.get(url, ssl=trusting, server_hostname=name) as answer,
        ):
            return await answer.json()

    async def unlocked_carelessly(self, node_id: str, authority: str) -> Any:
        """Make a wallet so that lnd writes its macaroons in clear."""
        name = (await self.item(node_id))["api_endpoint"]
        trusting = ssl.create_default_context(cadata=authority)
        url = f"https://127.0.0.1:{self.given.gateway_rest_port}/v1"
        async with aiohttp.ClientSession() as session:

            async def call(method: str, path: str, body: object = None) -> Any:
                async with session.request(
                    method, url + path, json=body, ssl=trusting, server_hostname=name
                ) as answer:
                    assert answer.status == 200, await answer.text()
                    return await answer.json()

            seed = await call("GET", "/genseed")
            wish = {
                "wallet_password": "aGFyYm91ciBsaWdodA==",
                "cipher_seed_mnemonic": seed["cipher_seed_mnemonic"],
            }
            return await call("POST", "/initwallet", wish)


def wish(**settings: object) -> dict[str, object]:
    """Return a node that nobody has wished for before."""
    return {
        "name": f"light {secrets.token_hex(3)}",
        "network": "testnet",
        "type": "standard",
        "settings": {**SETTINGS, **settings},
    }


@asynccontextmanager
async def running(given: Settings) -> AsyncIterator[Platform]:
    """Run the platform; its gateway ends with it."""
    ending = AsyncExitStack()
    async with ending, installation.running(given) as platform:
        assert platform.fleet is not None
        assert isinstance(platform.fleet.gateway, LocalGateway)
        ending.push_async_callback(platform.fleet.gateway.stop)
        yield platform


async def customer_of(platform: Platform) -> Customer:
    team = await accounts.create_organization(platform, "Harbour", actor="alice")
    _, key = await api_keys.create(
        platform, team.id, name="all", scopes=["node"], expires=None, actor="alice"
    )
    return Customer(platform.settings, team.id, key)


async def test_a_node_is_a_pod_for_its_whole_life(
    shore: Shore, given: Settings
) -> None:
    up, namespace = shore.cluster, shore.namespace

    def is_reached(kind: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = up.get(kind, "--namespace", namespace)["items"]
        return found

    def uids(kind: str) -> list[str]:
        return [each["metadata"]["uid"] for each in is_reached(kind)]

    migrate(given)
    async with running(given) as platform:
        customer = await customer_of(platform)
        node = await customer.create()
        await customer.is_(node, "waiting_init")
        assert platform.fleet is not None
        authority = platform.fleet.authority.root_pem.decode()
        assert await customer.state(node, authority) == {"state": "NON_EXISTING"}
        logs = await customer.call("GET", f"/{node}/logs")
        assert "Waiting for wallet encryption password" in str(logs)
        pod, claim = uids("pods"), uids("pvc")
        assert (len(pod), len(claim)) == (1, 1)

    # A worker that is started anew finds its node, and touches nothing.
    async with running(given) as platform:
        await customer.is_(node, "waiting_init")
        stored = await platform.database.reader.nodes.get(node)
        assert [stored.process] == pod == uids("pods")

        await customer.call("POST", f"/{node}/stop")
        await customer.is_(node, "stopped")
        await until(lambda: is_reached("pods") == [])
        assert uids("pvc") == claim

        await customer.call("POST", f"/{node}/start")
        await customer.is_(node, "waiting_init")
        assert uids("pvc") == claim
        assert uids("pods") != pod
        assert await customer.state(node, authority) == {"state": "NON_EXISTING"}

        [volume] = [each["spec"]["volumeName"] for each in is_reached("pvc")]
        await customer.call("DELETE", f"/{node}")
        await until(lambda: not is_reached("pvc"))
        await until(lambda: not gone(up, volume))
        kinds = ("pods", "services", "secrets")
        await until(lambda: not any(is_reached(kind) for kind in kinds))


async def latest_channels(platform: Platform, node: str) -> bytes:
    with contextlib.suppress(NotFound):
        return (await platform.database.reader.backups.latest_channels(node)).content
    return b""


async def test_what_an_lnd_leaves_at_home_is_reported_by_its_companion(
    shore: Shore, given: Settings
) -> None:
    namespace = shore.others[3]
    given = as_admin(with_companion(given, shore.cluster), shore, namespace)
    migrate(given)
    async with running(given) as platform:
        customer = await customer_of(platform)
        node = await customer.create()
        await customer.is_(node, "waiting_init")
        assert platform.fleet is not None
        reader = platform.database.reader
        authority = platform.fleet.authority.root_pem.decode()
        made = await customer.unlocked_carelessly(node, authority)
        assert made["admin_macaroon"]

        async def logs() -> str:
            return str(await customer.call("GET", f"/{node}/logs?lines=1000"))

        async def deleted() -> int:
            found = await reader.node_reports.find(node)
            return 0 if found is None else found.macaroons_removed

        async with asyncio.timeout(60):
            while await deleted() < 8:  # admin.macaroon and seven more
                await asyncio.sleep(0.1)
            while not (key := await reader.node_keys.find(node)):
                await asyncio.sleep(0.1)
        assert len(key) == 66, "it is told with its node from now on"
        usage = await platform.fleet.node_files.usage(await reader.nodes.get(node))
        assert usage.disk is not None
        assert usage.disk > 0
        assert (usage.memory, usage.cpu_cores) == (None, None), "no metrics-server"

        # What lnd does when a channel opens, and when its blocks come out of order.
        home = lnd_home(await reader.nodes.get(node))
        folder = home / "data/chain/bitcoin/simnet"
        (folder / "new").write_bytes(b"one channel")
        (folder / "new").chmod(0o644)  # it is ours, and lnd's user reads it
        (folder / "new").rename(folder / "channel.backup")
        with (home / "logs/bitcoin/simnet/lnd.log").open("a") as log:
            log.write(f"{BLOCKS}\n")
        async with asyncio.timeout(60):
            while await latest_channels(platform, node) != b"one channel":
                await asyncio.sleep(0.05)
        async with asyncio.timeout(60):
            while await reader.log_positions.find(node) is None:
                await asyncio.sleep(0.05)
        await customer.call("POST", f"/{node}/stop")
        await customer.is_(node, "stopped")
        # Its pod is gone, and with it what that said; its last words are not.
        async with asyncio.timeout(30):
            while "Shutdown complete" not in (said := await logs()):
                await asyncio.sleep(0.1)
        assert "Waiting for wallet encryption password" in said
        assert made["admin_macaroon"] not in said
        await customer.call("DELETE", f"/{node}")
        await until(lambda: not pods_in(shore, namespace))


def lnd_home(node: Node) -> Path:
    """Return lnd's home in its pod, as this host sees it."""
    [lnd] = lnds_of(manifests.name(node))
    return Path(f"/proc/{lnd}/root/home/lnd/.lnd")


def with_companion(given: Settings, cluster: DevCluster) -> Settings:
    """Have companions beside lnds, which reach us at this host's link."""
    [port] = free_ports(1)
    return replace(
        given,
        companion_image=companion_image(),
        companion_url=f"https://{cluster.addresses.host}:{port}",
        companion_port=port,
    )


def pods_in(shore: Shore, namespace: str) -> list[Any]:
    return list(shore.cluster.get("pods", "--namespace", namespace)["items"])


@pytest.mark.long
async def test_a_worker_takes_pods_over_from_one_that_ends(
    shore: Shore, given: Settings, postgres_url: str
) -> None:
    given = replace(given, database_url=postgres_url)
    given = as_admin(given, shore, shore.others[2])
    migrate(given)

    def watched(by: Platform) -> int:
        assert by.fleet is not None
        runtime = by.fleet.runtime
        assert isinstance(runtime, KubernetesRuntime)
        return len(runtime._watched)

    async with AsyncExitStack() as first, AsyncExitStack() as second:
        other = await first.enter_async_context(installation.running(given, api=False))
        one = await second.enter_async_context(running(given))
        customer = await customer_of(one)
        nodes = [await customer.create() for _ in range(6)]
        for node in nodes:
            await customer.is_(node, "waiting_init")
        reader = one.database.reader.nodes
        before = {node: (await reader.get(node)).process for node in nodes}
        assert (watched(one), watched(other)) == (0, len(nodes))
        await first.aclose()
        async with asyncio.timeout(60):
            while watched(one) < len(nodes):
                await asyncio.sleep(0.1)
        assert before == {node: (await reader.get(node)).process for node in nodes}
        pods = shore.cluster.get("pods", "--namespace", shore.others[2])["items"]
        assert sorted(each["metadata"]["uid"] for each in pods) == sorted(
            before.values()
        )


def gone(cluster: DevCluster, volume: str) -> str:
    return cluster.kubectl("get", "pv", volume, "--ignore-not-found")


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not await asyncio.to_thread(holds):
            await asyncio.sleep(0.1)


async def refusal(given: Settings) -> str:
    """Start a platform, and return why it does not."""
    migrate(given)
    with pytest.raises(SetupError) as refused:
        await running(given).__aenter__()
    return refused.value.message


async def test_an_account_that_may_too_little_is_told_what_it_may_not(
    shore: Shore, given: Settings, tmp_path: Path
) -> None:
    guest = kubeconfig(shore.cluster, tmp_path, "guest")
    why = await refusal(replace(given, kubeconfig=str(guest)))
    namespace = shore.namespace
    for each in (
        *(f"create pods in {namespace}", f"get pods/log in {namespace}"),
        *(f"delete services in {namespace}", "watch nodes", "patch persistentvolumes"),
    ):
        assert each in why
    assert "rbac.yaml" in why
    # One right less than all, as is seen in a namespace without the role.
    elsewhere = replace(given, kubernetes_namespace=shore.others[0])
    why = await refusal(elsewhere)
    assert f"create pods in {shore.others[0]}" in why
    assert "nodes," not in why


async def test_a_place_that_is_not_for_nodes_is_refused(
    shore: Shore, given: Settings
) -> None:
    admin = as_admin(given, shore, "nowhere")
    why = await refusal(admin)
    assert "kubernetes_namespace: no namespace nowhere" in why
    admin = as_admin(given, shore, shore.others[0])
    why = await refusal(replace(admin, kubernetes_storage_class="local"))
    assert "local's reclaimPolicy is Delete; it must be Retain" in why
    why = await refusal(replace(admin, kubernetes_storage_class="none"))
    assert "no storage class 'none'" in why

    claim = lnd_pod.claim("somebody")
    where = ("--namespace", shore.others[0])
    shore.cluster.kubectl("apply", *where, "-f", "-", given=[claim])
    why = await refusal(admin)
    assert "1 other objects, such as persistentvolumeclaims/somebody" in why


async def test_a_namespace_belongs_to_one_database_and_a_database_to_one_place(
    shore: Shore, given: Settings, tmp_path: Path
) -> None:
    own = as_admin(given, shore, shore.others[1])
    migrate(own)
    async with running(own):
        pass
    other = replace(own, home=str(tmp_path / "other"))
    assert "belongs to another Leyden installation" in await refusal(other)
    why = await refusal(replace(own, kubernetes_namespace="default"))
    assert f"belong to another home, last on namespace {shore.others[1]} at" in why
    why = await refusal(replace(own, runtime="local"))
    assert "belong to another home" in why


async def test_the_doctor_tries_from_a_pod_whether_nodes_are_held(
    shore: Shore, given: Settings
) -> None:
    namespace = shore.others[4]
    given = as_admin(with_companion(given, shore.cluster), shore, namespace)
    nobody = [each async for each in cluster_doctor.examine(given)]
    assert [bool(each.to_do) for each in nobody] == [False, True, True, True, False]
    # This cluster has no metrics-server, and runs nodes without it.
    assert [each.to_do for each in nobody if each.is_optional] == [
        "the cluster has no resource metrics: install metrics-server"
    ]
    assert "nothing responds there" in nobody[2].to_do
    # In this cluster nothing enforces policies, so a pod reaches the API server.
    assert "nodes can't reach the API server" in nobody[3].what
    assert nobody[3].to_do.startswith("nodes reach it: apply the NetworkPolicies")
    assert pods_in(shore, namespace) == [], "it leaves no pod"
    migrate(given)
    async with running(given), opened(given) as platform:
        found = [each async for each in cluster_doctor.examine(given)]
        to_do = await machine.egress_policy(platform)
    assert [bool(each.to_do) for each in found] == [False, True, False, True, False]
    assert to_do.startswith("not so: nodes can't reach the API server, at ")
