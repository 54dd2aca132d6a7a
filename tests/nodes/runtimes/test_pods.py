"""What a pod tells of its lnd: only its kubelet knows of an end."""

from typing import Any

import pytest

from leyden.nodes.rules.nodes import Cause
from leyden.nodes.rules.observations import End
from leyden.nodes.runtimes.kubernetes import pods
from leyden.nodes.runtimes.kubernetes.kinds import (
    HELD,
    Condition,
    ContainerState,
    ContainerStatus,
    ContainerWaiting,
    Machine,
    MachineStatus,
    Metadata,
    Pod,
    PodSpec,
    PodStatus,
    Running,
    Terminated,
)

RUNS = ContainerState(running=Running())
ENDED = ContainerState(terminated=Terminated(exit_code=1))
WAITS = ContainerState(waiting=ContainerWaiting(reason="ContainerCreating"))
FORGOTTEN = Condition(type="DisruptionTarget", status="True", reason="DeletionByPodGC")


def a_pod(
    state: ContainerState | None = None,
    *,
    companion: ContainerState | None = None,
    machine: str = "machine-1",
    deleted: str = "",
    **status: Any,
) -> Pod:
    statuses = () if state is None else (ContainerStatus(name="lnd", state=state),)
    if companion is not None:
        status["init_container_statuses"] = (
            ContainerStatus(name="companion", state=companion),
        )
    return Pod(
        metadata=Metadata(
            name="node-1", uid="1", deletion_timestamp=deleted, finalizers=(HELD,)
        ),
        spec=PodSpec(node_name=machine),
        status=PodStatus(container_statuses=statuses, **status),
    )


def machine(ready: str) -> Machine:
    condition = Condition(type="Ready", status=ready, reason="NodeStatusUnknown")
    return Machine(status=MachineStatus(conditions=(condition,)))


@pytest.mark.parametrize(
    ("pod", "ended"),
    [
        (a_pod(RUNS, phase="Running"), False),
        (a_pod(RUNS, phase="Running", deleted="now"), False),  # it is terminating
        (a_pod(ENDED, phase="Failed"), True),
        (a_pod(ENDED, phase="Running", deleted="now"), True),
        # Written by somebody who could not see it.
        (a_pod(RUNS, phase="Failed", deleted="now"), False),
        (a_pod(RUNS, phase="Failed", reason="Evicted"), False),
        (a_pod(RUNS, companion=ENDED, phase="Failed", deleted="now"), False),
        (a_pod(WAITS, phase="Failed", conditions=(FORGOTTEN,)), False),
        (a_pod(phase="Failed", reason="NodeLost"), False),
        (a_pod(WAITS, phase="Pending", deleted="now"), False),
        # As of pods that are terminating on a machine with the taint out-of-service.
        (a_pod(phase="Failed", deleted="now"), False),
        (a_pod(WAITS, companion=WAITS, phase="Failed", deleted="now"), False),
        (a_pod(WAITS, companion=RUNS, phase="Failed", deleted="now"), False),
        # Deleted before its companion began: its kubelet has ended it.
        (a_pod(WAITS, companion=ENDED, phase="Failed", deleted="now"), True),
        (a_pod(WAITS, companion=ENDED, phase="Pending", deleted="now"), False),
        # Refused by its kubelet; and never told to one.
        (a_pod(phase="Failed", reason="OutOfmemory"), True),
        (a_pod(machine="", phase="Pending"), False),
        (a_pod(machine="", phase="Pending", deleted="now"), True),
    ],
)
def test_an_lnd_has_ended_when_that_is_certain(pod: Pod, *, ended: bool) -> None:
    assert pods.has_ended(pod) is ended


def test_on_a_machine_that_does_not_answer_nothing_is_known() -> None:
    runs = a_pod(RUNS, phase="Running")
    assert pods.unseen(runs, {"machine-1": machine("True")}) == ""
    assert pods.unseen(runs, {"machine-1": machine("False")}) == "", "it says so itself"
    lost = pods.unseen(runs, {"machine-1": machine("Unknown")})
    assert lost == "machine machine-1 does not respond"
    assert "no longer in the cluster" in pods.unseen(runs, {})


def test_what_has_ended_or_was_never_begun_is_known_without_its_machine() -> None:
    assert pods.unseen(a_pod(ENDED), {}) == ""
    assert pods.unseen(a_pod(machine="", phase="Pending"), {}) == ""


@pytest.mark.parametrize(
    ("pod", "reason", "why"),
    [
        (
            a_pod(
                ContainerState(
                    waiting=ContainerWaiting(reason="ErrImagePull", message="no")
                )
            ),
            "image",
            "ErrImagePull: no",
        ),
        (
            a_pod(
                machine="",
                conditions=(
                    Condition(type="PodScheduled", status="False", message="0/2 nodes"),
                ),
            ),
            "No machine has room",
            "0/2 nodes",
        ),
        (a_pod(WAITS), "does not start", "check that its volume exists"),
        (
            a_pod(
                ContainerState(
                    waiting=ContainerWaiting(reason="CreateContainerConfigError")
                )
            ),
            "does not start",
            "CreateContainerConfigError: ",
        ),
    ],
)
def test_owners_are_told_what_hinders_and_operators_in_full(
    pod: Pod, reason: str, why: str
) -> None:
    found = pods.hindrance(pod)
    assert reason in found.reason
    assert why in found.why


DRAINED = Condition(
    type="DisruptionTarget",
    status="True",
    reason="EvictionByEvictionAPI",
    message="Eviction API: evicting",
)


def ended_with(code: int, reason: str = "Error") -> ContainerState:
    return ContainerState(terminated=Terminated(exit_code=code, reason=reason))


@pytest.mark.parametrize(
    ("pod", "cause", "why"),
    [
        (a_pod(ended_with(137, "OOMKilled")), Cause.OUT_OF_MEMORY, "OOMKilled"),
        (
            a_pod(ended_with(137, "OOMKilled"), deleted="now"),
            Cause.OUT_OF_MEMORY,
            "OOMKilled",
        ),
        (a_pod(ended_with(137)), Cause.KILLED, "signal SIGKILL"),
        (a_pod(ended_with(1)), Cause.EXITED, "exit code 1"),
        (a_pod(ended_with(255)), Cause.EXITED, "exit code 255"),
        (
            a_pod(ended_with(0), deleted="now"),
            Cause.INTERRUPTED,
            "its pod was deleted",
        ),
        (
            a_pod(ended_with(0), conditions=(DRAINED,), deleted="now"),
            Cause.INTERRUPTED,
            "EvictionByEvictionAPI: Eviction API: evicting",
        ),
        (
            a_pod(ended_with(137), phase="Failed", reason="Evicted", message="disk"),
            Cause.INTERRUPTED,
            "Evicted: disk",
        ),
        (
            a_pod(ended_with(255, "Unknown"), phase="Failed"),
            Cause.INTERRUPTED,
            "Unknown: its machine or container runtime was restarted",
        ),
        (
            a_pod(ended_with(137, "ContainerStatusUnknown"), phase="Failed"),
            Cause.INTERRUPTED,
            "ContainerStatusUnknown: its machine or container runtime was restarted",
        ),
        (a_pod(machine="", deleted="now"), Cause.NOT_STARTED, "its pod was deleted"),
    ],
)
def test_pod_says_why_its_lnd_ended(pod: Pod, cause: Cause, why: str) -> None:
    assert pods.end(pod) == End(cause=cause, why=why)


@pytest.mark.parametrize(("text", "revision"), [("7", 7), ("", 0), ("²", 0), ("-1", 0)])
def test_a_revision_that_was_edited_is_none(text: str, revision: int) -> None:
    pod = Pod(metadata=Metadata(annotations={pods.REVISION: text}))
    assert pods.revision(pod) == revision


def test_a_companion_whose_image_cannot_be_had_is_what_hinders() -> None:
    no_image = ContainerState(
        waiting=ContainerWaiting(reason="ErrImagePull", message="no")
    )
    companion = ContainerStatus(name="companion", state=no_image)
    initializing = ContainerState(waiting=ContainerWaiting(reason="PodInitializing"))
    found = pods.hindrance(a_pod(initializing, init_container_statuses=(companion,)))
    assert found.why == "ErrImagePull: no"
    assert "image" in found.reason
