"""Nodes as pods of a real cluster, with hands that do to them what accidents do."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from leyden.lnd.trust import trusting_whenever
from leyden.nodes.lnd.chains import Chain, Neutrino
from leyden.nodes.lnd.home import Tls
from leyden.nodes.rules.nodes import Network, Node
from leyden.nodes.rules.observations import LndState, Observation
from leyden.nodes.rules.versions import OFFERED
from leyden.nodes.runtimes.base import LaunchSpec, Runtime
from leyden.nodes.runtimes.kubernetes import access, manifests
from leyden.nodes.runtimes.kubernetes.access import ApiServerAccess
from leyden.nodes.runtimes.kubernetes.api import KubernetesApi, connect
from leyden.nodes.runtimes.kubernetes.kinds import HELD
from leyden.nodes.runtimes.kubernetes.runtime import KubernetesRuntime
from leyden.nodes.runtimes.kubernetes.template import Template
from leyden.nodes.runtimes.local.layout import Ground
from leyden.values import replace
from tests.authority import Authority
from tests.nodes.contracts.owners import Owner
from tests.waiting import until
from tests.workshop.devcluster.clusters import DevCluster, lnd_image, lnds_of

NAMESPACE: Final = "lnds"
CLASS: Final = "local-retained"
_KINDS: Final = ("pods", "persistentvolumeclaims", "secrets", "services")


class PodRuntimeCase:
    """A runtime of pods, in a namespace of its own."""

    lost = "volume is not in the cluster"

    def __init__(self, cluster: DevCluster, api: KubernetesApi) -> None:
        self.observations: list[Observation] = []
        self.cluster = cluster
        self.api = api
        self.template = Template(
            grounds={
                Network.TESTNET: Ground(chain=Chain.SIMNET, backend=Neutrino()),
            },
            images={OFFERED.default: lnd_image()},
            storage_class=CLASS,
            grace_s=30,
        )
        self.patience = 1.0
        self._authority = Authority()
        self.owner = Owner(self._authority, self.template.rest_port)
        self._tls: dict[str, Tls] = {}
        self._stopped: list[int] = []
        self._lost: set[str] = set()
        self.runtime: Runtime = self.made()

    def made(self) -> KubernetesRuntime:
        runtime = KubernetesRuntime(
            self.api,
            self.template,
            trusts=trusting_whenever(self._authority.pem),
            patience=self.patience,
        )
        runtime.watch(lambda _, seen: self.observations.append(seen))
        return runtime

    def launch_spec(self, node: Node) -> LaunchSpec:
        if node.id not in self._tls:
            chain, key = self._authority.sign(node.api_endpoint)
            self._tls[node.id] = Tls(chain_pem=chain, key_pem=key)
        return LaunchSpec(
            settings=replace(node.settings, whitelist=()), tls=self._tls[node.id]
        )

    def begin_anew(self) -> None:
        self.runtime.close()
        self.runtime = self.made()

    async def crash(self, node: Node) -> None:
        [pid] = self.lnds(node)
        os.kill(pid, signal.SIGKILL)

    async def ask_to_stop(self, node: Node) -> None:
        await self.owner.make_wallet(node)
        await until(lambda: self.observations[-1].state is LndState.RPC_ACTIVE)
        await self.owner.call(node, "POST", "/v1/stop", {})

    async def lose(self, node: Node) -> None:
        self.runtime.close()
        name = manifests.name(node)
        await self.kubectl("delete", "pod", name, "--wait=false")
        await self.let_go(name)
        await self.kubectl("delete", "pvc", name)
        self.runtime = self.made()

    async def let_go(self, name: str) -> None:
        """Take the finalizer away once the kubelet has said that lnd ended."""
        await self.when(
            name, lambda pod: "terminated" in str(pod["status"]["containerStatuses"])
        )
        await self.kubectl(
            *("patch", "pod", name, "--type=merge"),
            *("-p", '{"metadata": {"finalizers": null}}'),
        )

    async def cut_off(self, node: Node) -> Node:
        """Silence lnd and the kubelet, and say what is said of that 40 s later."""
        pod = await self.get("pod", manifests.name(node))
        machine = pod["spec"]["nodeName"]
        kubelet = self.cluster.kubelet(int(machine.removeprefix("machine-")))
        for pid in (kubelet, *self.lnds(node)):
            os.kill(pid, signal.SIGSTOP)
            self._stopped.append(pid)
        self._lost.add(machine)
        await self._say(machine, "Unknown", "NodeStatusUnknown")
        self.begin_anew()
        return node

    async def reconnect(self, node: Node) -> None:
        await self._bring_back()
        async with asyncio.timeout(30):
            while not (await self.runtime.observe(node)).known:
                await asyncio.sleep(0.05)

    async def _bring_back(self) -> None:
        while self._stopped:
            os.kill(self._stopped.pop(), signal.SIGCONT)
        while self._lost:
            await self._say(self._lost.pop(), "True", "KubeletReady")

    async def _say(self, machine: str, ready: str, reason: str) -> None:
        condition = {"type": "Ready", "status": ready, "reason": reason}
        change = {"status": {"conditions": [condition]}}
        await self.kubectl(
            *("patch", "node", machine, "--subresource=status"),
            *("--type=strategic", "-p", json.dumps(change)),
        )

    def lnds(self, node: Node) -> list[int]:
        """The processes of the node's lnds, on whichever machine."""
        return lnds_of(manifests.name(node))

    async def volume(self, node: Node) -> Path:
        """Return the folder of the node's volume, on the machine that has it."""
        name = str((await self.get("pvc", manifests.name(node)))["spec"]["volumeName"])
        folders = map(self.cluster.places.machine, (1, 2))
        found = (each / "var/lib/volumes" / name for each in folders)
        return next(each for each in found if each.exists())

    async def get(self, *words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            await self.kubectl("get", *words, "-o", "json")
        )
        return found

    async def apply(self, manifest: Mapping[str, Any]) -> None:
        await asyncio.to_thread(
            self.cluster.kubectl,
            *("apply", "--namespace", NAMESPACE, "-f", "-"),
            given=[manifest],
        )

    async def when(self, pod: str, holds: Callable[[dict[str, Any]], bool]) -> None:
        async with asyncio.timeout(60):
            while not holds(await self.get("pod", pod)):
                await asyncio.sleep(0.1)

    async def kubectl(self, *words: str) -> str:
        return await asyncio.to_thread(
            self.cluster.kubectl, *words, "--namespace", NAMESPACE
        )

    async def close(self) -> None:
        """Leave nothing in the namespace, whatever the test did."""
        self.runtime.close()
        await self._bring_back()
        await self.kubectl("delete", "pods", "--all", "--now", "--wait=false")
        for pod in (await self.get("pods"))["items"]:
            if HELD in pod["metadata"].get("finalizers", ()):
                name = pod["metadata"]["name"]
                await self.kubectl(
                    *("patch", "pod", name, "--type=merge"),
                    *("-p", '{"metadata": {"finalizers": null}}'),
                )
        for kind in ("persistentvolumeclaims", "services"):
            await self.kubectl("delete", kind, "--all")


@asynccontextmanager
async def pods_of(
    cluster: DevCluster, by: ApiServerAccess | None = None
) -> AsyncIterator[PodRuntimeCase]:
    """Have hands at a cluster, which is up; `by` is another way to its API server."""
    await asyncio.to_thread(ensure_namespace, cluster)
    found = by or access.read(cluster.places.kubeconfig, NAMESPACE)
    async with connect(found) as api:
        case = PodRuntimeCase(cluster, api)
        try:
            yield case
        finally:
            await case.close()


def ensure_namespace(cluster: DevCluster) -> None:
    """Make the namespace, once."""
    manifest = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": NAMESPACE},
    }
    cluster.kubectl("apply", "-f", "-", given=[manifest])
