"""Find, create and delete the objects of nodes in the cluster.

If the cluster rejects one, the operator gets an error with the cluster's message, and
the node's owner a reason without it.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from leyden.errors import CannotStart, ClusterRefused, NodeAway
from leyden.nodes.lnd import endings
from leyden.nodes.rules.nodes import Cause, Node
from leyden.nodes.rules.observations import End
from leyden.nodes.rules.starts import Start
from leyden.nodes.runtimes.base import LaunchSpec
from leyden.nodes.runtimes.kubernetes import manifests, pods
from leyden.nodes.runtimes.kubernetes.api import STRATEGIC, KubernetesApi
from leyden.nodes.runtimes.kubernetes.kinds import (
    COPIER_LABEL,
    HELD,
    NODE_LABEL,
    Pod,
    Service,
    Thing,
    VolumeClaim,
)
from leyden.nodes.runtimes.kubernetes.manifests import Manifest
from leyden.nodes.runtimes.kubernetes.template import Template

_LAST_LINES: Final = 300
_EVENTS: Final[Mapping[Cause, str]] = {
    Cause.OUT_OF_MEMORY: "OutOfMemory",
    Cause.KILLED: "Killed",
    Cause.EXITED: "Exited",
}
_QUOTA: Final = "exceeded quota"
_VOLUMES: Final = "/api/v1/persistentvolumes"


log = logging.getLogger(__name__)


class NodeObjects:
    """The objects of nodes, in one namespace."""

    def __init__(self, api: KubernetesApi, template: Template) -> None:
        self._api = api
        self._template = template

    async def pod(self, node: Node) -> Pod | None:
        """Read the node's pod; raise NodeAway if it is a copier."""
        found = await self._api.find(self._api.path("pods", manifests.name(node)), Pod)
        if found is not None:
            _refuse_others(node, "pod", found.metadata.labels.get(NODE_LABEL))
            if _copies(found):
                raise NodeAway(
                    f"node {node.id}: its volume is being copied by the pod "
                    f"{manifests.name(node)}; delete that if the node is not moved"
                )
        return found

    async def copier(self, node: Node) -> Pod | None:
        """Return the pod that copies the node's volume, if there is one."""
        found = await self._api.find(self._api.path("pods", manifests.name(node)), Pod)
        return found if found is not None and _copies(found) else None

    async def delete_copier(self, pod: Pod) -> None:
        """Delete a copier pod, without waiting for its end."""
        path = self._api.path("pods", pod.metadata.name)
        await self._api.delete(path, uid=pod.uid, grace_s=1)

    async def has_claim(self, node: Node) -> bool:
        """Return whether the node has a claim, even one that is being deleted."""
        return await self._claim(node) is not None

    async def claim_uid(self, node: Node) -> str:
        """Return the uid of the node's claim; "" if there is none."""
        claim = await self._claim(node)
        return "" if claim is None else claim.metadata.uid

    async def volume(self, node: Node) -> str:
        """Return the name of the volume bound to the node's claim; "" if none yet."""
        claim = await self._claim(node)
        return "" if claim is None else claim.spec.volume_name

    async def service(self, node: Node) -> str:
        """Return the address of the node's service; create it if missing."""
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
                    # Its address is in use by now, or outside the service network.
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
    ) -> str:
        """Create the node's claim, and update its secret, with the files in `more`.

        Return the uid of the claim. Raise CannotStart if the node has a wallet but no
        claim: with a new, empty volume, lnd would create a new wallet.
        """
        secret = self._template.secret(node, launch_spec, more)
        claim = await self._claim(node)
        if claim is None and node.has_wallet:
            raise CannotStart(
                f"node {node.id} has a wallet, but its volume claim "
                f"{manifests.name(node)} does not exist; create it again, bound to the "
                "volume that it had",
                reason="The node's volume is not in the cluster. The operator must "
                "restore it.",
            )
        if claim is not None and claim.metadata.is_deleted:
            raise CannotStart(
                f"node {node.id}: its volume claim {manifests.name(node)} is being "
                "deleted; its volume is retained: create a new claim that is bound to "
                "it",
                reason=(
                    "The node's volume is being deleted. The operator must restore it."
                ),
            )
        if claim is not None and node.has_wallet:
            _refuse_another_volume(node, claim, launch_spec.last_start)
        with refusals_of(node):
            if claim is None:
                claim = await self._created_claim(node)
            path = self._api.path("secrets", manifests.name(node))
            if not await self._api.replace(path, secret):
                await self._api.create(self._api.path("secrets"), secret, Thing)
        return claim.metadata.uid

    async def create_pod(
        self, node: Node, manifest: Manifest, *, claim_uid: str
    ) -> Pod | None:
        """Create the node's pod; return None if there is one already."""
        owned = manifests.owned(node, manifest, claim_uid=claim_uid)
        with refusals_of(node):
            return await self._api.create(self._api.path("pods"), owned, Pod)

    async def delete_pod(self, node: Node, pod: Pod) -> None:
        """Delete this pod with its own grace period, without waiting for its end."""
        if not pod.metadata.is_deleted:
            path = self._api.path("pods", manifests.name(node))
            await self._api.delete(path, uid=pod.uid)

    async def release(self, pod: Pod) -> None:
        """Remove our finalizer from a pod whose lnd has ended."""
        if pods.is_held(pod):
            name = pod.metadata.name
            change = {
                "metadata": {
                    "uid": pod.uid,
                    "$deleteFromPrimitiveList/finalizers": [HELD],
                }
            }
            await self._api.patch(self._api.path("pods", name), change, how=STRATEGIC)

    async def tell(self, pod: Pod, end: End) -> None:
        """Record in the cluster, as an event of its pod, why an lnd ended; once.

        Who ended the pod itself has recorded that. Nothing depends on the event: one
        that the cluster refuses is only logged.
        """
        if (reason := _EVENTS.get(end.cause)) is None:
            return
        at = pods.ended_at(pod)
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{pod.metadata.name}.{pod.uid}"},
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Pod",
                "namespace": self._api.namespace,
                "name": pod.metadata.name,
                "uid": pod.uid,
            },
            "type": "Warning",
            "reason": reason,
            "message": f"lnd ended: {end.why}",
            "source": {"component": "leyden"},
            "count": 1,
            **({"firstTimestamp": at, "lastTimestamp": at} if at else {}),
        }
        try:
            await self._api.create(self._api.path("events"), event, Thing)
        except ClusterRefused as error:
            log.info("can't create an event of a pod", extra={"why": str(error)})

    async def was_stopped_by_owner(self, pod: Pod) -> bool:
        """Return whether an lnd that has ended was stopped by its owner.

        If so, its exit code is 0, and the end of its log says so. If the log is gone
        or silent, and the pod was being deleted or was ended by its kubelet, that
        counts as the cause.
        """
        if pods.exit_code(pod) != 0:
            return False
        words = await pods_log(self._api, pod.metadata.name, _LAST_LINES)
        # A kubelet that ends a pod, by an eviction or a shutdown, writes a reason.
        by_others = pod.metadata.is_deleted or bool(pod.status.reason)
        return endings.stopped_by_owner(words or b"", None if by_others else 0)

    async def remove(self, node: Node, *, claim_uid: str | None = None) -> None:
        """Delete all objects of a node whose lnd has ended, and its volume.

        The volume's reclaim policy changes from Retain to Delete first, so that the
        cluster deletes it with its claim. With `claim_uid`, delete nothing if the node
        has another claim by now.
        """
        name = manifests.name(node)
        claim = await self._claim(node)
        found = "" if claim is None else claim.metadata.uid
        if claim_uid not in {None, found}:
            return
        if claim is not None:
            if volume := claim.spec.volume_name:
                policy = {"spec": {"persistentVolumeReclaimPolicy": "Delete"}}
                await self._api.patch(f"{_VOLUMES}/{volume}", policy)
            path = self._api.path("persistentvolumeclaims", name)
            await self._api.delete(path, uid=found)
        await self._api.delete(self._api.path("secrets", name))
        await self._api.delete(self._api.path("services", name))

    async def _claim(self, node: Node) -> VolumeClaim | None:
        path = self._api.path("persistentvolumeclaims", manifests.name(node))
        return await self._api.find(path, VolumeClaim)

    async def _created_claim(self, node: Node) -> VolumeClaim:
        manifest = self._template.claim(node)
        path = self._api.path("persistentvolumeclaims")
        # None: another process was faster.
        made = await self._api.create(path, manifest, VolumeClaim) or await self._claim(
            node
        )
        if made is None:
            raise NodeAway(f"node {node.id}: its volume claim was deleted at once")
        return made

    async def _created_service(self, manifest: Manifest) -> Service | None:
        return await self._api.create(self._api.path("services"), manifest, Service)


async def pods_log(api: KubernetesApi, name: str, lines: int) -> bytes | None:
    """Return the last lines of the log of a pod's lnd; None if the log is gone."""
    query = {"container": pods.LND, "tailLines": str(lines)}
    return await api.tail(api.path("pods", name, of="log"), query)


_NOT_CREATED: Final = (
    "The cluster did not accept the node's objects. Ask the operator: the log says why."
)
_FULL: Final = "The cluster's quota for nodes is used up. The operator must raise it."


@contextmanager
def refusals_of(node: Node) -> Iterator[None]:
    """Convert ClusterRefused in the block to CannotStart."""
    try:
        yield
    except ClusterRefused as error:
        full = error.code == HTTPStatus.FORBIDDEN and _QUOTA in error.message
        raise CannotStart(
            f"node {node.id}: {error.message}", reason=_FULL if full else _NOT_CREATED
        ) from error


def _refuse_another_volume(node: Node, claim: VolumeClaim, known: Start) -> None:
    """Raise CannotStart for a volume that may be an old copy of the node's data."""
    volume = claim.spec.volume_name
    if known.copy not in {"", volume}:
        raise CannotStart(
            f"node {node.id}: its claim has the volume {volume}, but the node was last "
            f"started with {known.copy}. An lnd that starts with old data loses money: "
            "only if you are sure that the volume's data is the newest, run "
            f"`leyden data-dir accept-copy {node.id}`",
            reason=(
                "The node has a different volume. The operator must confirm that it is "
                "the newest."
            ),
        )


def _copies(pod: Pod) -> bool:
    return COPIER_LABEL in pod.metadata.labels


def _refuse_others(node: Node, kind: str, label: str | None) -> None:
    """Raise CannotStart for an object with the node's name but without its label."""
    if label != node.id:
        name = manifests.name(node)
        raise CannotStart(
            f"node {node.id}: the {kind} {name} has no label {NODE_LABEL}={node.id}, "
            "so it was not created by us, or was edited; add the label, or delete the "
            f"{kind}",
            reason=_NOT_CREATED,
        )
