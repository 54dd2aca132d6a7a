"""The state of a pod's lnd: whether it has ended, can be observed, or waits.

Only the kubelet of a pod's machine knows that an lnd has ended, and says so by the
container's state `terminated`. An object that is gone says less: whoever deletes a
machine from the cluster, forces a deletion or taints a lost machine as out of service
removes objects of pods whose lnds may run on. So each pod has a finalizer of ours
(`leyden/held`), and its object stays until its end is known, or a person takes the
finalizer away who knows that the machine is off.
"""

from collections.abc import Mapping
from typing import Final

from leyden.runtimes.kubernetes.kinds import (
    HELD,
    ContainerStatus,
    Machine,
    Pod,
    Waiting,
)
from leyden.values import Struct

LND: Final = "lnd"
# Annotations: what its lnd was started with. A certificate is among them where our own
# authority has not issued it.
REVISION: Final = "leyden/revision"
ORIGINS: Final = "leyden/origins"
CERTIFICATE: Final = "leyden/certificate"
_ENDED: Final = frozenset({"Succeeded", "Failed"})
_REMOVED: Final = "DeletionByPodGC"
# The kubelet tries these again; what stands for so long does not pass by itself.
_IMAGE_S: Final = 20.0
_OTHER_S: Final = 120.0
_IMAGE: Final = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"}
)
_CREATING: Final = frozenset({"", "ContainerCreating", "PodInitializing"})


class Hindrance(Struct, frozen=True, kw_only=True):
    """Why a pod's lnd does not run yet."""

    reason: str  # for the node's owner
    why: str  # for the operator, in the cluster's words
    patience_s: float  # how long it may pass by itself


def is_running(pod: Pod) -> bool:
    """Return whether its lnd runs, as the kubelet says."""
    status = _lnd(pod)
    return status is not None and status.state.running is not None


def has_ended(pod: Pod) -> bool:
    """Return whether it is certain that its lnd does not run and never will."""
    status = _lnd(pod)
    if status is not None and status.state.terminated is not None:
        return True
    if not pod.spec.node_name:  # no machine has ever been told of it
        return pod.metadata.is_deleted or pod.status.phase in _ENDED
    if status is not None and status.state.running is not None:
        return False
    # The kubelet has refused it, or ended it before its container was created. But
    # others write this phase as well, of pods that they cannot see.
    return pod.status.phase in _ENDED and _is_told_by_kubelet(pod)


def exit_code(pod: Pod) -> int | None:
    """Return the exit code of its lnd; None if that is unknown."""
    status = _lnd(pod)
    if status is None or status.state.terminated is None:
        return None
    return status.state.terminated.exit_code


def unseen(pod: Pod, machines: Mapping[str, Machine]) -> str:
    """Return why it cannot be seen whether its lnd runs; "" where it can."""
    name = pod.spec.node_name
    if not name or has_ended(pod):
        return ""
    machine = machines.get(name)
    if machine is None:
        return f"machine {name} is not in the cluster any more"
    if readiness(machine) == "Unknown":
        return f"machine {name} does not respond"
    return ""


def readiness(machine: Machine) -> str:
    """Return whether a machine says that it is ready: True, False, or Unknown."""
    return next((c.status for c in machine.status.conditions if c.type == "Ready"), "")


def hindrance(pod: Pod) -> Hindrance:
    """Return why its lnd does not run yet."""
    waiting = _waiting(pod)
    for each in pod.status.conditions:
        if each.type == "PodScheduled" and each.status == "False":
            return Hindrance(
                reason=(
                    "No machine has room for the node, or can have its volume. Ask the "
                    "operator: the log says why."
                ),
                why=each.message or each.reason,
                patience_s=_OTHER_S,
            )
    if waiting is not None and waiting.reason in _IMAGE:
        return Hindrance(
            reason=(
                "An image that the node needs is not available. Ask the operator: the "
                "log says why."
            ),
            why=f"{waiting.reason}: {waiting.message}",
            patience_s=_IMAGE_S,
        )
    why = "its machine is still creating it: is its volume there?"
    if waiting is not None and waiting.reason not in _CREATING:
        why = f"{waiting.reason}: {waiting.message}"
    return Hindrance(
        reason="The node's pod does not start. Ask the operator: the log says why.",
        why=why,
        patience_s=_OTHER_S,
    )


def revision(pod: Pod) -> int:
    """Return the revision its lnd was started with; 0 where that is not there."""
    text = pod.metadata.annotations.get(REVISION, "")
    return int(text) if text.isascii() and text.isdigit() else 0


def certificate(pod: Pod) -> bytes:
    """Return the chain its lnd shows; empty where our own authority issued it."""
    return pod.metadata.annotations.get(CERTIFICATE, "").encode()


def origins(pod: Pod) -> str:
    """Return the origins its lnd was started with."""
    return pod.metadata.annotations.get(ORIGINS, "")


def version(pod: Pod) -> tuple[str, str]:
    """Return which pod it is, and in which version."""
    return pod.uid, pod.metadata.resource_version


def is_held(pod: Pod) -> bool:
    """Return whether its object stays until we let it go."""
    return HELD in pod.metadata.finalizers


def _lnd(pod: Pod) -> ContainerStatus | None:
    return next((s for s in pod.status.container_statuses if s.name == LND), None)


def _waiting(pod: Pod) -> Waiting | None:
    """Return what its lnd waits for, or the companion, which starts before it."""
    status = pod.status
    for each in (*status.init_container_statuses, *status.container_statuses):
        waiting = each.state.waiting
        if waiting is not None and waiting.reason not in _CREATING:
            return waiting
    lnd = _lnd(pod)
    return lnd.state.waiting if lnd is not None else None


def _is_told_by_kubelet(pod: Pod) -> bool:
    """Return whether its phase was written by whoever can see it.

    A kubelet that refuses a pod, or evicts it, says why; of one that it ends it marks
    the companion as terminated, were it never begun. The garbage collector does
    neither, and has a condition for pods of deleted machines alone: of those that are
    terminating on a machine out of service it writes no more than the phase.
    """
    if pod.status.reason == "NodeLost" or any(
        each.type == "DisruptionTarget" and each.reason == _REMOVED
        for each in pod.status.conditions
    ):
        return False
    return bool(pod.status.reason) or any(
        each.state.terminated is not None for each in pod.status.init_container_statuses
    )
