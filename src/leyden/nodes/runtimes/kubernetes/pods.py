"""The state of a pod's lnd: whether it has ended, can be observed, or waits.

Only the kubelet of a pod's machine knows that an lnd has ended. It reports that with
the container's state `terminated`. A deleted pod object proves nothing: deleting a
machine from the cluster, forcing a deletion, or tainting a lost machine as out of
service also deletes pod objects, while their lnds may still run. So each pod has a
finalizer of ours (`leyden/held`). The object stays until its lnd is known to have
ended, or a person who knows that the machine is off removes the finalizer.
"""

from collections.abc import Mapping
from signal import Signals
from typing import Final

from leyden.nodes.rules.nodes import Cause
from leyden.nodes.rules.observations import End
from leyden.nodes.runtimes.kubernetes.kinds import (
    HELD,
    ContainerStatus,
    ContainerWaiting,
    Machine,
    Pod,
)
from leyden.values import Struct

LND: Final = "lnd"
# Annotations: what the lnd was started with. They include a certificate only if it was
# not issued by our own authority.
REVISION: Final = "leyden/revision"
ORIGINS: Final = "leyden/origins"
CERTIFICATE: Final = "leyden/certificate"
_ENDED: Final = frozenset({"Succeeded", "Failed"})
_REMOVED: Final = "DeletionByPodGC"
_OUT_OF_MEMORY: Final = "OOMKilled"
# The words of containerd and of the kubelet for a container that they find dead or
# gone after a power cut; the exit code that they give it isn't lnd's.
_UNSEEN_ENDS: Final = frozenset({"Unknown", "ContainerStatusUnknown"})
_KILLED_BY: Final = 128  # an exit code above is this and a signal
# The kubelet retries these; after this time they are unlikely to resolve themselves.
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
    patience_s: float  # how long it may take to resolve itself


def is_running(pod: Pod) -> bool:
    """Return whether the pod's lnd runs, according to the kubelet."""
    status = _lnd(pod)
    return status is not None and status.state.running is not None


def has_ended(pod: Pod) -> bool:
    """Return whether the pod's lnd certainly does not run, and never will."""
    status = _lnd(pod)
    if status is not None and status.state.terminated is not None:
        return True
    if not pod.spec.node_name:  # it was never assigned to a machine
        return pod.metadata.is_deleted or pod.status.phase in _ENDED
    if status is not None and status.state.running is not None:
        return False
    # The kubelet rejected it, or ended it before its container was created. But others
    # also write this phase, for pods that they can't observe.
    return pod.status.phase in _ENDED and _is_told_by_kubelet(pod)


def exit_code(pod: Pod) -> int | None:
    """Return the exit code of the pod's lnd; None if unknown."""
    status = _lnd(pod)
    if status is None or status.state.terminated is None:
        return None
    return status.state.terminated.exit_code


def end(pod: Pod) -> End:
    """Return why the pod's lnd ended, if its owner did not stop it.

    An eviction, a drain, a deleted pod or a machine that was restarted is no crash,
    unless lnd ran out of memory.
    """
    status = _lnd(pod)
    ended = None if status is None else status.state.terminated
    by_others = _interruption(pod)
    if ended is None:
        return End(cause=Cause.NOT_STARTED, why=by_others)
    if ended.reason == _OUT_OF_MEMORY:
        return End(cause=Cause.OUT_OF_MEMORY, why=ended.reason)
    if by_others:
        return End(cause=Cause.INTERRUPTED, why=by_others)
    if ended.reason in _UNSEEN_ENDS:
        why = f"{ended.reason}: its machine or container runtime was restarted"
        return End(cause=Cause.INTERRUPTED, why=why)
    number = ended.exit_code - _KILLED_BY
    if number in set(Signals):
        return End(cause=Cause.KILLED, why=f"signal {Signals(number).name}")
    message = f": {ended.message}" if ended.message else ""
    return End(cause=Cause.EXITED, why=f"exit code {ended.exit_code}{message}")


def ended_at(pod: Pod) -> str:
    """Return when the pod's lnd ended, in the cluster's words; "" if unknown."""
    status = _lnd(pod)
    ended = None if status is None else status.state.terminated
    return "" if ended is None else ended.finished_at


def _interruption(pod: Pod) -> str:
    """Return who ended the pod: a drain, an eviction, its kubelet; "" if nobody did."""
    for each in pod.status.conditions:
        if each.type == "DisruptionTarget" and each.status == "True":
            return f"{each.reason}: {each.message}".rstrip(": ")
    if pod.status.reason:
        return f"{pod.status.reason}: {pod.status.message}".rstrip(": ")
    return "its pod was deleted" if pod.metadata.is_deleted else ""


def unseen(pod: Pod, machines: Mapping[str, Machine]) -> str:
    """Return why it is unknown whether the pod's lnd runs; "" if it is known."""
    name = pod.spec.node_name
    if not name or has_ended(pod):
        return ""
    machine = machines.get(name)
    if machine is None:
        return f"machine {name} is no longer in the cluster"
    if readiness(machine) == "Unknown":
        return f"machine {name} does not respond"
    return ""


def readiness(machine: Machine) -> str:
    """Return a machine's Ready condition: True, False, or Unknown."""
    return next((c.status for c in machine.status.conditions if c.type == "Ready"), "")


def hindrance(pod: Pod) -> Hindrance:
    """Return why the pod's lnd does not run yet."""
    waiting = _waiting(pod)
    for each in pod.status.conditions:
        if each.type == "PodScheduled" and each.status == "False":
            return Hindrance(
                reason=(
                    "No machine has room for the node, or can attach its volume. Ask "
                    "the operator: the log says why."
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
    why = "its machine is still creating it; check that its volume exists"
    if waiting is not None and waiting.reason not in _CREATING:
        why = f"{waiting.reason}: {waiting.message}"
    return Hindrance(
        reason="The node's pod does not start. Ask the operator: the log says why.",
        why=why,
        patience_s=_OTHER_S,
    )


def revision(pod: Pod) -> int:
    """Return the revision that the pod's lnd was started with; 0 if unknown."""
    text = pod.metadata.annotations.get(REVISION, "")
    return int(text) if text.isascii() and text.isdigit() else 0


def certificate(pod: Pod) -> bytes:
    """Return the chain that the pod's lnd serves; empty if our authority issued it."""
    return pod.metadata.annotations.get(CERTIFICATE, "").encode()


def origins(pod: Pod) -> str:
    """Return the CORS origins that the pod's lnd was started with."""
    return pod.metadata.annotations.get(ORIGINS, "")


def version(pod: Pod) -> tuple[str, str]:
    """Return the pod's uid and resource version."""
    return pod.uid, pod.metadata.resource_version


def is_held(pod: Pod) -> bool:
    """Return whether the pod has our finalizer."""
    return HELD in pod.metadata.finalizers


def _lnd(pod: Pod) -> ContainerStatus | None:
    return next((s for s in pod.status.container_statuses if s.name == LND), None)


def _waiting(pod: Pod) -> ContainerWaiting | None:
    """Return what the lnd waits for, or the companion, which starts before it."""
    status = pod.status
    for each in (*status.init_container_statuses, *status.container_statuses):
        waiting = each.state.waiting
        if waiting is not None and waiting.reason not in _CREATING:
            return waiting
    lnd = _lnd(pod)
    return lnd.state.waiting if lnd is not None else None


def _is_told_by_kubelet(pod: Pod) -> bool:
    """Return whether the pod's phase was written by its kubelet.

    A kubelet that rejects or evicts a pod writes a reason. When it ends a pod, it marks
    the companion as terminated, even if it never started. The garbage collector does
    neither. It writes a condition only for pods of deleted machines; for pods that are
    terminating on a machine out of service it writes nothing but the phase.
    """
    if pod.status.reason == "NodeLost" or any(
        each.type == "DisruptionTarget" and each.reason == _REMOVED
        for each in pod.status.conditions
    ):
        return False
    return bool(pod.status.reason) or any(
        each.state.terminated is not None for each in pod.status.init_container_statuses
    )
