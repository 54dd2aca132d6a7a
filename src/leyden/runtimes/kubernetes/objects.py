"""The objects of nodes in the cluster: found, created, and let go.

What a cluster refuses becomes a sentence: for the operator with the cluster's own
words, for the node's owner without.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from leyden.domain.nodes import Node
from leyden.domain.starts import Start
from leyden.errors import CannotStart, ClusterRefused, NodeAway
from leyden.lnd import endings
from leyden.runtimes.base import LaunchSpec
from leyden.runtimes.kubernetes import manifests, pods
from leyden.runtimes.kubernetes.api import STRATEGIC, Api
from leyden.runtimes.kubernetes.kinds import (
    COPIER_LABEL,
    HELD,
    NODE_LABEL,
    Claim,
    Pod,
    Service,
    Thing,
)
from leyden.runtimes.kubernetes.manifests import Manifest
from leyden.runtimes.kubernetes.template import Template

_LAST_LINES: Final = 300
_QUOTA: Final = "exceeded quota"
_VOLUMES: Final = "/api/v1/persistentvolumes"


class Objects:
    """The objects of nodes, in one namespace."""

    def __init__(self, api: Api, template: Template) -> None:
        self._api = api
        self._template = template

    async def pod(self, node: Node) -> Pod | None:
        """Return the node's pod as the cluster has it now."""
        found = await self._api.find(self._api.path("pods", manifests.name(node)), Pod)
        if found is not None:
            _refuse_others(node, "pod", found.metadata.labels.get(NODE_LABEL))
            if _copies(found):
                raise NodeAway(f"node {node.id}: its volume is being copied")
        return found

    async def copier(self, node: Node) -> Pod | None:
        """Return the pod in the place of the node's that copies its volume."""
        found = await self._api.find(self._api.path("pods", manifests.name(node)), Pod)
        return found if found is not None and _copies(found) else None

    async def delete_copier(self, pod: Pod) -> None:
        """Ask for the end of a pod that copies."""
        path = self._api.path("pods", pod.metadata.name)
        await self._api.delete(path, uid=pod.uid, grace_s=1)

    async def has_claim(self, node: Node) -> bool:
        """Return whether the node has a claim, be it on its way out."""
        return await self._claim(node) is not None

    async def volume(self, node: Node) -> str:
        """Return the volume that the node's claim has; "" until it has one."""
        claim = await self._claim(node)
        return "" if claim is None else claim.spec.volume_name

    async def service(self, node: Node) -> str:
        """Return the address of the node's service, made if it is not there."""
        path = self._api.path("services", manifests.name(node))
        found = await self._api.find(path, Service)
        manifest = self._template.service(node)
        if found is None:
            with refusals_of(node):
                try:
                    found = await self._created_service(manifest)
                except ClusterRefused as error:
                    if error.code != HTTPStatus.UNPROCESSABLE_ENTITY or not node.host:
                        raise
                    # Its address is another's by now, or of another network.
                    manifest["spec"].pop("clusterIP")
                    found = await self._created_service(manifest)
        found = found or await self._api.find(path, Service)
        if found is None or not found.spec.cluster_ip:
            raise CannotStart(
                f"node {node.id}: its service has no address", reason=_NOT_CREATED
            )
        _refuse_others(node, "service", found.metadata.labels.get(NODE_LABEL))
        return found.spec.cluster_ip

    async def prepare(
        self,
        node: Node,
        launch_spec: LaunchSpec,
        *,
        more: Mapping[str, bytes] = MappingProxyType({}),
    ) -> None:
        """Create the node's claim, and bring its secret up to date, with `more` in it.

        CannotStart where the node has a wallet and its claim is not there: whoever
        starts it without makes it another one.
        """
        secret = self._template.secret(node, launch_spec, more)
        claim = await self._claim(node)
        if claim is None and node.has_wallet:
            raise CannotStart(
                f"node {node.id} has a wallet, and its volume claim "
                f"{manifests.name(node)} is not there; bring it back, bound to the "
                "volume that it had",
                reason="The node's volume is not in the cluster. The operator must "
                "restore it.",
            )
        if claim is not None and claim.metadata.is_deleted:
            raise CannotStart(
                f"node {node.id}: its volume claim {manifests.name(node)} is being "
                "deleted; its volume is retained, make another one that is bound to "
                "it",
                reason=(
                    "The node's volume is being deleted. The operator must restore it."
                ),
            )
        if claim is not None and node.has_wallet:
            _refuse_another_volume(node, claim, launch_spec.last_start)
        with refusals_of(node):
            if claim is None:
                await self._api.create(
                    self._api.path("persistentvolumeclaims"),
                    self._template.claim(node),
                    Thing,
                )
            path = self._api.path("secrets", manifests.name(node))
            if not await self._api.replace(path, secret):
                await self._api.create(self._api.path("secrets"), secret, Thing)

    async def create_pod(self, node: Node, manifest: Manifest) -> Pod | None:
        """Create the node's pod; None where there is one."""
        with refusals_of(node):
            return await self._api.create(self._api.path("pods"), manifest, Pod)

    async def delete_pod(self, node: Node, pod: Pod) -> None:
        """Ask for the end of this pod, with the time that it was given."""
        if not pod.metadata.is_deleted:
            path = self._api.path("pods", manifests.name(node))
            await self._api.delete(path, uid=pod.uid)

    async def release(self, pod: Pod) -> None:
        """Let the object of a pod go whose lnd has ended."""
        if pods.is_held(pod):
            name = pod.metadata.name
            change = {
                "metadata": {
                    "uid": pod.uid,
                    "$deleteFromPrimitiveList/finalizers": [HELD],
                }
            }
            await self._api.patch(self._api.path("pods", name), change, how=STRATEGIC)

    async def was_stopped_by_owner(self, pod: Pod) -> bool:
        """Return whether an lnd that has ended did so because its owner said so.

        It ends with code 0 then, and its last words say so. Where they are gone, with
        a pod whose end somebody asked for, it was that.
        """
        if pods.exit_code(pod) != 0:
            return False
        words = await pods_log(self._api, pod.metadata.name, _LAST_LINES)
        if words is None and pod.metadata.is_deleted:
            return False
        return endings.stopped_by_owner(words or b"", 0)

    async def claim_uid(self, node: Node) -> str:
        """Return which claim the node has; "" for none."""
        claim = await self._claim(node)
        return "" if claim is None else claim.metadata.uid

    async def remove(self, node: Node, *, claim_uid: str | None = None) -> None:
        """Delete all that there is of a node, whose lnd has ended, and its volume.

        The volume first: retained until now, it goes with its claim from here on. With
        a `claim_uid`, delete nothing of a node that has another claim by now.
        """
        name = manifests.name(node)
        claim = await self._claim(node)
        found_uid = "" if claim is None else claim.metadata.uid
        if claim_uid not in {None, found_uid}:
            return
        if claim is not None:
            if volume := claim.spec.volume_name:
                policy = {"spec": {"persistentVolumeReclaimPolicy": "Delete"}}
                await self._api.patch(f"{_VOLUMES}/{volume}", policy)
            path = self._api.path("persistentvolumeclaims", name)
            await self._api.delete(path, uid=claim.metadata.uid)
        for plural in ("secrets", "services"):
            await self._api.delete(self._api.path(plural, name))

    async def _claim(self, node: Node) -> Claim | None:
        path = self._api.path("persistentvolumeclaims", manifests.name(node))
        return await self._api.find(path, Claim)

    async def _created_service(self, manifest: Manifest) -> Service | None:
        return await self._api.create(self._api.path("services"), manifest, Service)


async def pods_log(api: Api, name: str, lines: int) -> bytes | None:
    """Return the last lines that a pod's lnd has said; None where they are gone."""
    query = {"container": pods.LND, "tailLines": str(lines)}
    return await api.tail(api.path("pods", name, of="log"), query)


_NOT_CREATED: Final = (
    "The cluster did not accept the node's objects. Ask the operator: the log says why."
)
_FULL: Final = "The cluster's quota for nodes is used up. The operator must raise it."


@contextmanager
def refusals_of(node: Node) -> Iterator[None]:
    """Turn what a cluster refuses into why a node cannot be started."""
    try:
        yield
    except ClusterRefused as error:
        full = error.code == HTTPStatus.FORBIDDEN and _QUOTA in error.message
        raise CannotStart(
            f"node {node.id}: {error.message}", reason=_FULL if full else _NOT_CREATED
        ) from error


def _refuse_another_volume(node: Node, claim: Claim, known: Start) -> None:
    """Raise CannotStart for a volume that may be an old copy of the node's own."""
    volume = claim.spec.volume_name
    if known.copy not in {"", volume}:
        raise CannotStart(
            f"node {node.id}: its claim has the volume {volume}, and the node was last "
            f"started with {known.copy}. An lnd that goes back in time loses its "
            f"money: only if what is on it is newest, `leyden home accept {node.id}`",
            reason=(
                "The node has a different volume. The operator must confirm that it is "
                "the newest."
            ),
        )


def _copies(pod: Pod) -> bool:
    return COPIER_LABEL in pod.metadata.labels


def _refuse_others(node: Node, kind: str, label: str | None) -> None:
    """Raise for an object of somebody else that has the name of the node's."""
    if label != node.id:
        name = manifests.name(node)
        raise CannotStart(
            f"node {node.id}: the {kind} {name} is somebody else's or was edited, for "
            f"it has no label {NODE_LABEL}={node.id}; put that back, or delete it",
            reason=_NOT_CREATED,
        )
