"""Nodes with wallets, moved between this machine and a real cluster."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from leyden.app.migration import migrate
from leyden.base.opening import opened
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.errors import ClusterRefused, NotAllowed, SetupError
from leyden.nodes import launch_specs
from leyden.nodes.rules.nodes import RuntimeName
from leyden.nodes.rules.relocations import Relocation, RelocationStep
from leyden.nodes.rules.starts import NEVER
from leyden.nodes.runtimes.kubernetes.kinds import COPIER_LABEL
from leyden.nodes.runtimes.kubernetes.move_endpoint import KubernetesMoveEndpoint
from leyden.nodes.runtimes.local import census, layout
from leyden.nodes.wiring import adoption, node_moves
from leyden.values import replace
from tests.workshop.devcluster.channels import pier
from tests.workshop.devcluster.clusters import kill
from tests.workshop.devcluster.test_platform import (
    Customer,
    Shore,
    as_admin,
    customer_of,
    given,
    pods_in,
    refusal,
    running,
    shore,
    until,
    with_companion,
)

__all__ = ["given", "shore"]

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.timeout(600)]

LOCAL, KUBERNETES = RuntimeName.LOCAL, RuntimeName.KUBERNETES
PASSWORD = base64.b64encode(b"harbour light").decode()


@pytest.fixture
def both(shore: Shore, given: Settings) -> Settings:
    namespace = shore.others[0]
    given = as_admin(with_companion(given, shore.cluster), shore, namespace)
    return replace(given, runtime="both")


class Owner:
    """The owner of a node: with its macaroon, and the certificate that is trusted."""

    def __init__(self, platform: Platform, customer: Customer, node: str) -> None:
        assert platform.fleet is not None
        self._authority = platform.fleet.authority.root_pem.decode()
        self._customer = customer
        self._node = node
        self._macaroon = ""

    async def call(self, method: str, path: str, body: object = None) -> Any:
        name = (await self._customer.item(self._node))["api_endpoint"]
        trusting = ssl.create_default_context(cadata=self._authority)
        port = self._customer.given.gateway_rest_port
        headers = {"Grpc-Metadata-macaroon": self._macaroon} if self._macaroon else {}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.request(
                method,
                f"https://127.0.0.1:{port}/v1{path}",
                json=body,
                ssl=trusting,
                server_hostname=name,
            ) as answer,
        ):
            assert answer.status == 200, await answer.text()
            return await answer.json()

    async def make_wallet(self) -> None:
        seed = await self.call("GET", "/genseed")
        wish = {
            "wallet_password": PASSWORD,
            "cipher_seed_mnemonic": seed["cipher_seed_mnemonic"],
            "stateless_init": True,
        }
        made = await self.call("POST", "/initwallet", wish)
        self._macaroon = base64.b64decode(made["admin_macaroon"]).hex()

    async def unlock(self) -> None:
        await self.call("POST", "/unlockwallet", {"wallet_password": PASSWORD})

    async def public_key(self) -> str:
        async with asyncio.timeout(180):  # until an lnd has caught up with its chain
            while True:
                try:
                    return str((await self.call("GET", "/getinfo"))["identity_pubkey"])
                except AssertionError:
                    await asyncio.sleep(0.1)


async def moved(platform: Platform, node: str, to: RuntimeName) -> Relocation:
    await node_moves.begin(platform, node, to, actor="operator")
    return await ended(platform, node)


async def ended(platform: Platform, node: str) -> Relocation:
    reader = platform.database.reader
    async with asyncio.timeout(240):
        while (found := await reader.relocations.find(node)) is None or (
            found.step is not RelocationStep.DONE
        ):
            await asyncio.sleep(0.1)
    return found


async def made(platform: Platform) -> tuple[Customer, str, Owner, str]:
    """Return a customer with a node whose wallet is open, and its public key."""
    customer = await customer_of(platform)
    node = await customer.create()
    await customer.is_(node, "waiting_init")
    owner = Owner(platform, customer, node)
    await owner.make_wallet()
    key = await owner.public_key()
    async with asyncio.timeout(60):  # until its companion has reported it
        while await platform.database.reader.node_keys.find(node) != key:
            await asyncio.sleep(0.1)
    return customer, node, owner, key


async def test_a_node_keeps_its_name_wallet_and_macaroon_there_and_back_again(
    shore: Shore,
    both: Settings,
) -> None:
    namespace = both.kubernetes_namespace
    migrate(both)
    async with running(both) as platform:
        customer, node, owner, key = await made(platform)
        name = (await customer.item(node))["api_endpoint"]
        root = layout.root(both.home_path)
        for to in (LOCAL, KUBERNETES, LOCAL):
            found = await moved(platform, node, to)
            assert not found.failed, found.why
            await customer.is_(node, "waiting_unlock")
            await owner.unlock()
            assert await owner.public_key() == key
            assert (await customer.item(node))["api_endpoint"] == name
            existing = pods_in(shore, namespace)
            assert len(existing) == (to is KUBERNETES)
            assert census.lnds(root)[node] == (to is LOCAL)
            left = sorted(each.name for each in root.iterdir())
            assert left == ([node] if to is LOCAL else [])
            claims = shore.cluster.get("pvc", "--namespace", namespace)["items"]
            assert len(claims) == (to is KUBERNETES)
        with pytest.raises(NotAllowed, match="is already in local"):
            await moved(platform, node, LOCAL)
        await customer.call("DELETE", f"/{node}")
        await until(lambda: not list(root.iterdir()))
    why = await refusal(replace(both, runtime="kubernetes"))
    assert "belong to another home" in why


async def test_a_channel_works_on_whichever_side_its_node_is(
    shore: Shore, both: Settings, tmp_path: Path
) -> None:
    async with pier(tmp_path / "chain", str(shore.cluster.addresses.host)) as beside:
        both = replace(beside.settings(both), kubernetes_namespace=shore.others[5])
        migrate(both)
        async with running(both) as platform:
            customer, node, owner, key = await made(platform)
            await beside.opens_a_channel(owner.call)
            await beside.pay_each_other(owner.call, 11_000)
            for number, to in enumerate((LOCAL, KUBERNETES), start=1):
                found = await moved(platform, node, to)
                assert not found.failed, found.why
                await customer.is_(node, "waiting_unlock")
                await owner.unlock()
                assert await owner.public_key() == key
                await beside.pay_each_other(owner.call, 12_000 + number)
                at = (await platform.database.reader.nodes.get(node)).runtime
                assert at is to
            await customer.call("DELETE", f"/{node}")
            await until(lambda: not pods_in(shore, both.kubernetes_namespace))


async def test_once_no_node_is_left_behind_the_cluster_has_the_platform(
    shore: Shore,
    both: Settings,
) -> None:
    both = replace(both, kubernetes_namespace=shore.others[1])
    alone = replace(both, runtime="kubernetes")
    migrate(both)

    async def adopt(given: Settings) -> None:
        async with opened(given) as platform:
            await adoption.adopt(
                platform, new_authority=False, start_empty=False, actor="operator"
            )

    async with running(both) as platform:
        customer = await customer_of(platform)
        node = await customer.create()
        await customer.is_(node, "waiting_init")
        await moved(platform, node, LOCAL)
        await customer.is_(node, "waiting_init")
    with pytest.raises(SetupError, match=f"leyden fleet move {node} --to kubernetes"):
        await adopt(alone)
    async with running(both) as platform:
        await moved(platform, node, KUBERNETES)
        await customer.is_(node, "waiting_init")
        before = (await platform.database.reader.nodes.get(node)).process
    assert f"leyden fleet move {node} --to local" in await refusal(
        replace(both, runtime="local")
    )
    await adopt(alone)
    async with running(alone) as platform:
        await customer.is_(node, "waiting_init")
        assert (await platform.database.reader.nodes.get(node)).process == before
        with pytest.raises(SetupError, match='must be "both"'):
            await node_moves.begin(platform, node, LOCAL, actor="operator")
    await adopt(both)
    async with running(both) as platform:
        await customer.is_(node, "waiting_init")
        await customer.call("DELETE", f"/{node}")
        await until(lambda: not pods_in(shore, both.kubernetes_namespace))


async def test_a_copy_replaces_nothing_that_lnd_is_started_with(
    shore: Shore, both: Settings
) -> None:
    both = replace(both, kubernetes_namespace=shore.others[6])
    migrate(both)
    async with running(both) as platform:
        customer, name, _, _ = await made(platform)
        await customer.call("POST", f"/{name}/stop")
        await customer.is_(name, "stopped")
        await moved(platform, name, LOCAL)
        assert platform.fleet is not None
        node = await platform.database.reader.nodes.get(name)
        sealed = await platform.database.reader.launch_specs.get(name)
        spec = launch_specs.unseal(platform.fleet, node, sealed, last_start=NEVER)
        here, existing = (platform.fleet.sides[each] for each in (LOCAL, KUBERNETES))
        assert isinstance(existing, KubernetesMoveEndpoint)
        late = replica(existing)
        await here.seal(node, spec)
        content = await here.content(node)
        with pytest.raises(SetupError, match="differs from the original"):
            await existing.write(node, spec, nothing(), content)
        await existing.write(node, spec, here.read(node), content)
        for each in (existing, late):  # the second time as after a kill in between
            await each.write(node, spec, nothing(), content)
        other = replace(content, digest="another")
        with pytest.raises(ClusterRefused, match="a node's data"):
            await late.write(node, spec, nothing(), other)
        await existing.settle(node, "", NEVER)
        await existing.seal(node, spec)
        assert await existing.content(node) == content
        await existing.delete(node, await existing.leftovers(node))
        await here.unseal(node)
        await customer.call("POST", f"/{name}/start")
        await customer.is_(name, "waiting_unlock")
        await customer.call("DELETE", f"/{name}")
        await until(lambda: not list(layout.root(both.home_path).iterdir()))


def replica(side: KubernetesMoveEndpoint) -> KubernetesMoveEndpoint:
    """Return the side as another process has it."""
    runtime, objects, template = side._runtime, side._objects, side._template
    return KubernetesMoveEndpoint(runtime, objects, template, trusts=side._trusts)


async def nothing() -> AsyncIterator[bytes]:
    """Yield an archive without files."""
    yield bytes(1024)


@pytest.mark.parametrize("victim", ["platform", "kube-apiserver", "copier"])
async def test_whatever_is_killed_while_it_is_copied_one_side_has_the_node(
    shore: Shore,
    both: Settings,
    victim: str,
) -> None:
    namespace = shore.others[{"platform": 2, "kube-apiserver": 3, "copier": 4}[victim]]
    both = replace(both, kubernetes_namespace=namespace)
    root = layout.root(both.home_path)
    migrate(both)

    async def copying(platform: Platform) -> None:
        reader = platform.database.reader
        async with asyncio.timeout(60):
            while not await asyncio.to_thread(pods_in, shore, namespace):
                found = await reader.relocations.find(node)
                assert found is None or found.step is not RelocationStep.DONE

    async with running(both) as platform:
        customer, node, owner, key = await made(platform)
        await moved(platform, node, LOCAL)
        await customer.is_(node, "waiting_unlock")
        await node_moves.begin(platform, node, KUBERNETES, actor="operator")
        await copying(platform)
        match victim:
            case "kube-apiserver":
                kill(shore.cluster, victim)
                await asyncio.to_thread(shore.cluster.run, "up")
            case "copier":
                end = ("delete", "pods", "--all", "--grace-period=1", "--wait=false")
                await asyncio.to_thread(
                    shore.cluster.kubectl, *end, "--namespace", namespace
                )
        assert census.lnds(root)[node] + len(running_lnds(shore, namespace)) <= 1
        if victim != "platform":
            found = await ended(platform, node)
    if victim == "platform":
        assert census.lnds(root)[node] == 0
        async with running(both) as platform:
            found = await ended(platform, node)
    async with running(both) as platform:
        at = (await platform.database.reader.nodes.get(node)).runtime
        assert at is (LOCAL if found.failed else KUBERNETES)
        await customer.is_(node, "waiting_unlock")
        await owner.unlock()
        assert await owner.public_key() == key
        assert census.lnds(root)[node] == (at is LOCAL)
        assert len(running_lnds(shore, namespace)) == (at is KUBERNETES)
        await customer.call("DELETE", f"/{node}")
        await until(lambda: not pods_in(shore, namespace))


def running_lnds(shore: Shore, namespace: str) -> list[Any]:
    """Return the pods that may have an lnd, which those that copy never have."""
    return [
        each
        for each in pods_in(shore, namespace)
        if COPIER_LABEL not in each["metadata"]["labels"]
    ]
