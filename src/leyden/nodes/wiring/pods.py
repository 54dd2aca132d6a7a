"""Wiring of nodes as pods: from settings to a runtime in a cluster."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from leyden.base.settings import Settings, own_names
from leyden.nodes.certificates.authority import Authority
from leyden.nodes.lnd.options import Logs
from leyden.nodes.rules.nodes import Network, NodeType
from leyden.nodes.runtimes.base import NodeFiles, Reports, Runtime
from leyden.nodes.runtimes.kubernetes import access, installation
from leyden.nodes.runtimes.kubernetes.access import ApiServerAccess
from leyden.nodes.runtimes.kubernetes.api import KubernetesApi, connect
from leyden.nodes.runtimes.kubernetes.companions import Companion
from leyden.nodes.runtimes.kubernetes.move_endpoint import KubernetesMoveEndpoint
from leyden.nodes.runtimes.kubernetes.node_files import KubernetesNodeFiles
from leyden.nodes.runtimes.kubernetes.objects import NodeObjects
from leyden.nodes.runtimes.kubernetes.runtime import KubernetesRuntime
from leyden.nodes.runtimes.kubernetes.template import Size, Template
from leyden.nodes.runtimes.kubernetes.tokens import Tokens
from leyden.nodes.runtimes.local.layout import Ground
from leyden.nodes.runtimes.move_endpoints import MoveEndpoint
from leyden.nodes.wiring import identity, listeners, local_nodes
from leyden.nodes.wiring.authorities import folder_of
from leyden.nodes.wiring.clusters import disks, images, scheduling
from leyden.nodes.wiring.identity import Here
from leyden.nodes.wiring.placement import shares


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[KubernetesApi]:
    """Connect to the cluster for the block, once it is checked."""
    async with _checked(settings) as (api, _):
        yield api


@asynccontextmanager
async def joined(
    settings: Settings, *, serves_only: bool = False
) -> AsyncIterator["Joined"]:
    """Join the namespace of nodes for the block, once it is checked."""
    async with _checked(settings, serves_only=serves_only) as (api, uid):
        shown = f"namespace {api.namespace} at {api.server}"
        here = identity.in_cluster(settings.home_path, namespace_uid=uid, shown=shown)
        yield Joined(api, here, settings, serves_only=serves_only)


@asynccontextmanager
async def _checked(
    settings: Settings, *, serves_only: bool = False
) -> AsyncIterator[tuple[KubernetesApi, str]]:
    """Connect for the block; yield the namespace's uid as well."""
    async with connect(_access(settings)) as api:
        uid = await installation.check(
            api,
            storage_class=settings.kubernetes_storage_class,
            serves_only=serves_only,
        )
        yield api, uid


class Joined:
    """The namespace of a cluster, over a connection that stays open."""

    def __init__(
        self, api: KubernetesApi, here: Here, settings: Settings, *, serves_only: bool
    ) -> None:
        self._serves_only = serves_only
        self.here = here
        self.tokens = Tokens(api)
        self._api = api
        self._given = settings

    def runtime(
        self,
        settings: Settings,
        grounds: Mapping[Network, Ground],
        authority: Authority,
        reported: Reports,
    ) -> tuple[Runtime, NodeFiles, MoveEndpoint]:
        """Return the runtime, the homes and the side of nodes there."""
        template = Template(
            grounds=grounds,
            images=images(settings),
            storage_class=settings.kubernetes_storage_class,
            sizes=_sizes(settings),
            priority_class=settings.kubernetes_priority_class,
            scheduling=scheduling(settings),
            companion=_companion(settings),
            rest_port=settings.node_rest_port,
            grpc_port=settings.node_grpc_port,
            peer_port=settings.node_peer_port,
            grace_s=settings.node_stop_grace_s,
            cors_origins=own_names.origins(settings),
            logs=Logs(files=settings.node_log_files, file_mb=settings.node_log_file_mb),
        )
        trusts = local_nodes.trusting(authority)
        runtime = KubernetesRuntime(self._api, template, trusts=trusts)
        objects = NodeObjects(self._api, template)
        side = KubernetesMoveEndpoint(runtime, objects, template, trusts=trusts)
        return runtime, KubernetesNodeFiles(self._api, reported), side

    async def mark(self, installation_id: str) -> None:
        """Mark the namespace as this installation's, and publish its address there.

        A process that only serves the API leaves both to the workers.
        """
        await installation.mark(
            self._api, installation_id, serves_only=self._serves_only
        )
        companion = _companion(self._given)
        if companion is not None and not self._serves_only:
            await companion.publish(self._api)


def _access(settings: Settings) -> ApiServerAccess:
    namespace = settings.kubernetes_namespace
    if settings.kubeconfig:
        return access.read(Path(settings.kubeconfig).expanduser(), namespace)
    return access.in_pod(os.environ, namespace)


def _companion(settings: Settings) -> Companion | None:
    if not settings.companion_image:
        return None
    authority = Authority(folder_of(settings))
    return Companion(
        image=settings.companion_image,
        url=settings.companion_url,
        name=listeners.companions_name(settings),
        anchors_pem=authority.anchors_pem.decode(),
    )


def _sizes(settings: Settings) -> Mapping[NodeType, Size]:
    sizes = disks(settings)
    return {
        type_: Size(share=share, disk_gib=sizes[type_])
        for type_, share in shares(settings)
    }
