"""Simulated nodes: rows in the platform's database, and their objects in a cluster.

The objects are the ones that the platform makes, and a volume for each claim. Only the
scheduler's work is done here: its 15 ms for a pod are not what is measured.
"""

import asyncio
import json
import subprocess
import sys
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench.replicas import Installation
from bench.simulated_cluster import MACHINES, machine_name
from bench.simulated_lnds import CERTIFICATE, KEY
from bench.town import SETTINGS

from leyden.base.opening import opened
from leyden.base.platform import Platform
from leyden.base.settings import Settings, own_names
from leyden.nodes import launch_specs
from leyden.nodes.certificates.authority import open_or_create
from leyden.nodes.fleet import Fleet
from leyden.nodes.rules import node_settings
from leyden.nodes.rules.nodes import Network, Node, NodeStatus, NodeType, RuntimeName
from leyden.nodes.rules.starts import NEVER
from leyden.nodes.rules.versions import OFFERED
from leyden.nodes.runtimes.kubernetes import access, companions, manifests
from leyden.nodes.runtimes.kubernetes.api import KubernetesApi, connect
from leyden.nodes.runtimes.kubernetes.kinds import Pod, Thing
from leyden.nodes.runtimes.kubernetes.template import Template
from leyden.nodes.wiring import clusters, local_nodes
from leyden.nodes.wiring.fleet import make_fleet
from leyden.people import accounts, api_keys
from leyden.values import replace

EACH: Final = 10  # nodes of an organization
_NEW: Final = 10  # of so many one has no wallet
_TOGETHER: Final = 100
_VOLUMES: Final = "/api/v1/persistentvolumes"


class Customer:
    """The first organization, and a key that may do everything with its nodes."""

    def __init__(self, organization_id: str, key: str, nodes: Sequence[str]) -> None:
        self.organization_id = organization_id
        self.key = key
        self.nodes = nodes

    @property
    def path(self) -> str:
        """The path of its nodes."""
        return f"/organizations/{self.organization_id}/nodes"


def host(network: int, slot: int) -> str:
    """Return the address of a node."""
    return f"127.{network}.{slot >> 8}.{slot & 255}"


def is_new(slot: int) -> bool:
    """Return whether a node has no wallet yet."""
    return slot % _NEW == 0


async def create(
    at: Installation, many: int, *, network: int, pods_alone: bool
) -> Customer:
    """Create so many nodes, of ten for each organization; return the first customer."""
    given = at.settings
    reached = access.read(Path(given.kubeconfig), given.kubernetes_namespace)
    async with (
        opened(given) as platform,
        clusters.joined(given) as joined,
        connect(reached) as api,
    ):
        fleet = make_fleet(platform, _no_binary, joined)
        if fleet is None:
            raise RuntimeError
        maker = _Maker(given, fleet, api, network, pods_alone=pods_alone)
        first: Customer | None = None
        for start in range(1, many + 1, _TOGETHER):
            slots = range(start, min(start + _TOGETHER, many + 1))
            owners = [
                await accounts.create_organization(
                    platform, f"crew {slot}", actor="bench"
                )
                for slot in slots[::EACH]
            ]
            nodes = await asyncio.gather(
                *(
                    maker.create(slot, owners[i // EACH].id)
                    for i, slot in enumerate(slots)
                )
            )
            async with platform.database.transaction() as tx:
                for node, sealed in nodes:
                    await tx.nodes.add(node)
                    await tx.launch_specs.add(sealed)
            if first is None:
                ids = [node.id for node, _ in nodes[:EACH]]
                first = Customer(owners[0].id, await _key(platform, owners[0].id), ids)
    assert first is not None, "no nodes are asked for"
    return first


class _Maker:
    """Makes nodes and their objects."""

    def __init__(
        self,
        given: Settings,
        fleet: Fleet,
        api: KubernetesApi,
        network: int,
        *,
        pods_alone: bool,
    ) -> None:
        self._pods_alone = pods_alone
        self._fleet = fleet
        self._api = api
        self._network = network
        self._settings = node_settings.parse(SETTINGS)
        self._template = Template(
            grounds=local_nodes.grounds(given),
            images=clusters.images(given),
            storage_class=given.kubernetes_storage_class,
            companion=companions.Companion(
                image=given.companion_image,
                url=given.companion_url,
                name="companion",
                anchors_pem="",
            ),
            rest_port=given.node_rest_port,
            cors_origins=own_names.origins(given),
        )

    async def create(self, slot: int, owner: str) -> tuple[Node, Any]:
        """Create a node's objects; return its rows, to be stored."""
        now = datetime.now(UTC)
        node = Node(
            id=f"{uuid.uuid4()}N",
            organization_id=owner,
            name=f"node {slot}",
            network=Network.TESTNET,
            type=NodeType.STANDARD,
            version=OFFERED.default,
            settings=self._settings,
            api_endpoint=f"node-{slot}.{self._fleet.rules.domain}",
            slot=slot,
            created=now,
            due=now,
            status=NodeStatus.WAITING_INIT if is_new(slot) else NodeStatus.RUNNING,
            has_wallet=not is_new(slot),
            host=host(self._network, slot),
            runtime=RuntimeName.KUBERNETES,
        )
        sealed = launch_specs.new(self._fleet, node, self._settings)
        opened_ = launch_specs.unseal(self._fleet, node, sealed, last_start=NEVER)
        if not self._pods_alone:
            await self._create_rest(node, self._template.secret(node, opened_))
        pod = self._template.pod(node, shown=b"")
        pod["spec"]["nodeName"] = machine_name(slot % MACHINES)
        made = await self._api.create(self._api.path("pods"), pod, Pod)
        assert made is not None, f"node {slot} is there already"
        launched = replace(
            node, process=made.uid, launched_revision=node.revision, launched_at=now
        )
        return launched, sealed

    async def _create_rest(self, node: Node, secret: dict[str, Any]) -> None:
        api, name = self._api, manifests.name(node)
        claim = self._template.claim(node)
        claim["spec"]["volumeName"] = volume = f"{api.namespace}-{node.slot}"
        await api.create(_VOLUMES, _volume(volume, claim, api.namespace, name), Thing)
        await api.create(api.path("persistentvolumeclaims"), claim, Thing)
        await api.create(api.path("secrets"), secret, Thing)
        service = self._template.service(replace(node, host=""))
        await api.create(api.path("services"), service, Thing)


def _volume(
    volume: str, claim: dict[str, Any], namespace: str, name: str
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": volume},
        "spec": {
            "capacity": claim["spec"]["resources"]["requests"],
            "accessModes": claim["spec"]["accessModes"],
            "storageClassName": claim["spec"]["storageClassName"],
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": namespace, "name": name},
            "hostPath": {"path": f"/nowhere/{volume}"},
        },
    }


async def _key(platform: Platform, organization_id: str) -> str:
    _, key = await api_keys.create(
        platform,
        organization_id,
        name="all",
        scopes=["node"],
        expires=None,
        actor="bench",
    )
    return key


async def _no_binary(_: object) -> Path:
    raise NotImplementedError


class SimulatedLnds:
    """The program that answers for all lnds of an installation."""

    def __init__(self, at: Installation) -> None:
        authority = open_or_create(at.home / "authority", now=datetime.now(UTC))
        domain = at.settings.nodes_domain
        tls = authority.issue(f"*.{domain}", now=datetime.now(UTC))
        (at.home / CERTIFICATE).write_bytes(tls.chain_pem)
        (at.home / KEY).write_bytes(tls.key_pem)
        words = (str(at.home), str(at.settings.node_rest_port))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.simulated_lnds", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n", "no lnds are simulated"

    def streams(self) -> dict[str, int]:
        """Return how many are listened to once, and more than once."""
        return self._ask("streams")

    def say(self, state: str, hosts: Sequence[str]) -> None:
        """Let some come to another state."""
        self._ask(f"say {state} {' '.join(hosts)}")

    def leave(self) -> None:
        """End them all."""
        self._process.kill()
        self._process.wait()

    def _ask(self, line: str) -> dict[str, int]:
        request, answered = self._process.stdin, self._process.stdout
        assert request is not None
        assert answered is not None
        request.write(line + "\n")
        request.flush()
        found: dict[str, int] = json.loads(answered.readline())
        return found
