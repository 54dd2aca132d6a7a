import contextlib
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.errors import NotAllowed
from leyden.nodes.rules.node_moves import NodeStep, apply_command, plan
from leyden.nodes.rules.nodes import (
    Action,
    Cause,
    DesiredState,
    Node,
    NodeStatus,
    Trouble,
    Unknown,
    reason_of,
)
from leyden.nodes.rules.observations import (
    UNEXPLAINED,
    End,
    LndState,
    Observation,
    observe,
    record_failure,
    record_host,
    record_launch,
)
from leyden.values import replace
from tests.nodes.rules.nodes import NOON, a_node

LND = "4711 88"
HOUR = NOON + timedelta(hours=1)
GONE = Observation(process=LND, alive=False)
SHORT = End(cause=Cause.OUT_OF_MEMORY, why="OOMKilled")
DRAINED = End(cause=Cause.INTERRUPTED, why="EvictionByEvictionAPI")
NOBODY_SAW = observe(
    a_node(NodeStatus.RUNNING, process=LND, launched_revision=1, launched_at=NOON),
    GONE,
    NOON,
).trouble


def a_live_node(status: NodeStatus = NodeStatus.STARTING, **changes: object) -> Node:
    return a_node(
        status,
        **{"process": LND, "launched_revision": 1, "launched_at": NOON, **changes},
    )


def says(state: LndState) -> Observation:
    return Observation(process=LND, state=state)


@pytest.mark.parametrize(
    ("state", "status"),
    [
        (LndState.WAITING_TO_START, NodeStatus.STARTING),
        (LndState.NON_EXISTING, NodeStatus.WAITING_INIT),
        (LndState.LOCKED, NodeStatus.WAITING_UNLOCK),
        (LndState.UNLOCKED, NodeStatus.STARTING),
        (LndState.RPC_ACTIVE, NodeStatus.STARTING),
        (LndState.SERVER_ACTIVE, NodeStatus.RUNNING),
    ],
)
def test_what_lnd_says_is_what_the_owner_sees(
    state: LndState, status: NodeStatus
) -> None:
    for before in (
        NodeStatus.STARTING,
        NodeStatus.RESTARTING,
        NodeStatus.UPDATING,
        NodeStatus.RUNNING,
    ):
        assert observe(a_live_node(before), says(state), NOON).status is status


@pytest.mark.parametrize(("status", "state"), list(product(NodeStatus, LndState)))
def test_seeing_the_same_twice_changes_nothing_more(
    status: NodeStatus, state: LndState
) -> None:
    once = observe(a_live_node(status), says(state), NOON)
    assert observe(once, says(state), NOON + timedelta(hours=1)) == once


def test_a_node_that_is_told_to_stop_shows_that_whatever_its_lnd_says() -> None:
    running = a_live_node(NodeStatus.RUNNING, has_wallet=True)
    stopping = apply_command(running, Action.STOP, now=NOON)
    for state in LndState:
        assert observe(stopping, says(state), NOON) == stopping
    assert observe(stopping, GONE, NOON).status is NodeStatus.STOPPED


def test_what_an_earlier_lnd_said_is_not_believed_of_the_present_one() -> None:
    node = a_live_node(NodeStatus.WAITING_UNLOCK)
    old = Observation(process="4242 77", state=LndState.SERVER_ACTIVE)
    assert observe(node, old, NOON) == node
    assert observe(node, Observation(process="4242 77", alive=False), NOON) == node


def test_an_lnd_that_has_not_said_a_word_changes_nothing() -> None:
    node = a_live_node(NodeStatus.RUNNING)
    assert observe(node, Observation(process=LND), NOON) == node


@pytest.mark.parametrize("status", NodeStatus)
def test_node_keeps_its_status_with_since_when_it_is_unknown(
    status: NodeStatus,
) -> None:
    node = a_live_node(status, has_wallet=True)
    lost = Observation(process=LND, known=False, why="machine-2 does not respond")
    unknown = observe(node, lost, NOON)
    since_noon = Unknown(since=NOON, why="machine-2 does not respond")
    assert unknown == replace(node, unknown=since_noon)
    blind = Observation(process=LND, known=False, alive=False, why=lost.why)
    assert observe(unknown, blind, HOUR) == unknown
    assert observe(unknown, Observation(process=LND), HOUR) == node
    assert observe(unknown, GONE, HOUR).unknown is None


@pytest.mark.parametrize("state", LndState)
def test_a_wallet_that_was_seen_is_remembered_for_good(state: LndState) -> None:
    node = observe(a_live_node(NodeStatus.STARTING), says(state), NOON)
    has_one = state not in {LndState.WAITING_TO_START, LndState.NON_EXISTING}
    assert node.has_wallet == has_one
    assert observe(node, GONE, NOON).has_wallet == has_one
    stopping = apply_command(a_live_node(NodeStatus.RUNNING), Action.STOP, now=NOON)
    assert observe(stopping, says(state), NOON).has_wallet == has_one


def test_a_restart_shows_until_the_next_lnd_says_where_it_stands() -> None:
    node = apply_command(a_live_node(NodeStatus.RUNNING), Action.RESTART, now=NOON)
    assert (
        observe(node, says(LndState.SERVER_ACTIVE), NOON).status
        is NodeStatus.RESTARTING
    )
    node = observe(node, GONE, NOON)
    assert (node.status, node.crashes) == (NodeStatus.RESTARTING, 0)
    assert plan(node, NOON) is NodeStep.START
    node = record_launch(node, process="4712 99", revision=node.revision, now=NOON)
    assert node.status is NodeStatus.RESTARTING
    locked = Observation(process="4712 99", state=LndState.LOCKED)
    assert observe(node, locked, NOON).status is NodeStatus.WAITING_UNLOCK


def test_settings_that_come_during_a_start_are_not_lost() -> None:
    node = apply_command(a_node(NodeStatus.PROVISIONING), Action.SETTINGS, now=NOON)
    node = record_launch(node, process=LND, revision=node.revision - 1, now=NOON)
    assert plan(node, NOON) is NodeStep.STOP
    node = observe(node, GONE, NOON)
    assert plan(node, NOON) is NodeStep.START


def test_an_owners_own_stop_does_not_end_a_restart() -> None:
    node = apply_command(a_live_node(NodeStatus.RUNNING), Action.RESTART, now=NOON)
    observation = Observation(process=LND, alive=False, stopped_by_owner=True)
    assert plan(observe(node, observation, NOON), NOON) is NodeStep.START


def test_a_crash_is_mended_later_and_later() -> None:
    node, now, pauses = a_live_node(NodeStatus.RUNNING), NOON, []
    for _ in range(12):
        node = observe(node, Observation(process=node.process, alive=False), now)
        assert node.status is NodeStatus.STOPPED
        pauses.append((node.due - now).total_seconds())
        assert plan(node, now) is NodeStep.WAIT
        now = node.due
        assert plan(node, now) is NodeStep.START
        node = record_launch(node, process=f"{LND} {now}", revision=1, now=now)
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]


def test_after_a_crash_a_node_shows_stopped_until_the_next_lnd_says_a_word() -> None:
    node = observe(a_live_node(NodeStatus.RUNNING), GONE, NOON)
    node = record_launch(node, process="4712 99", revision=1, now=NOON)
    assert node.status is NodeStatus.STOPPED
    gone_again = Observation(process="4712 99", alive=False)
    assert observe(node, gone_again, NOON).status is NodeStatus.STOPPED


def test_a_launch_is_recorded_whole() -> None:
    node = record_host(a_node(NodeStatus.PROVISIONING), host="127.64.0.7")
    assert node == a_node(NodeStatus.PROVISIONING, host="127.64.0.7")
    assert record_launch(node, process=LND, revision=3, now=HOUR) == a_node(
        NodeStatus.STARTING,
        host="127.64.0.7",
        process=LND,
        launched_revision=3,
        launched_at=HOUR,
    )
    assert record_failure(a_node(NodeStatus.STOPPED, crashes=2), now=HOUR) == a_node(
        NodeStatus.FAILED,
        crashes=3,
        due=HOUR + timedelta(seconds=4),
        trouble=Trouble(cause=Cause.NOT_STARTED, reason="", why=""),
    )


@pytest.mark.parametrize(
    ("before", "is_requested", "status", "after"),
    [
        (
            {},
            False,
            NodeStatus.STOPPED,
            {
                "crashes": 1,
                "due": HOUR + timedelta(seconds=1),
                "trouble": NOBODY_SAW,
            },
        ),
        ({}, True, NodeStatus.STOPPED, {"wanted": DesiredState.STOPPED}),
        ({"wanted": DesiredState.STOPPED}, False, NodeStatus.STOPPED, {}),
        ({"revision": 2}, False, NodeStatus.RUNNING, {"due": HOUR}),
        ({"revision": 2}, True, NodeStatus.RUNNING, {"due": HOUR}),
    ],
)
def test_an_end_leaves_nothing_of_the_process(
    before: dict[str, Any],
    is_requested: bool,  # noqa: FBT001
    status: NodeStatus,
    after: dict[str, Any],
) -> None:
    gone = Observation(process=LND, alive=False, stopped_by_owner=is_requested)
    node = a_live_node(NodeStatus.RUNNING, **{"revision": 1, **before})
    stored = {"revision": 1, **before, **after}
    assert observe(node, gone, HOUR) == a_node(status, **stored)


def test_waking_up_now_and_then_does_not_count_as_health() -> None:
    """A node that dies at each unlock must not be started every second for ever."""
    node = observe(a_live_node(NodeStatus.WAITING_UNLOCK, crashes=5), GONE, NOON)
    assert node.crashes == 6


def test_a_crash_after_a_long_life_is_the_first_one_again() -> None:
    node = a_live_node(NodeStatus.RUNNING, crashes=5)
    assert observe(node, GONE, NOON + timedelta(minutes=10)).crashes == 1


def test_a_start_that_cannot_be_made_shows_failed_and_is_tried_again() -> None:
    node = record_failure(a_node(NodeStatus.PROVISIONING), now=NOON)
    assert node.status is NodeStatus.FAILED
    assert plan(node, NOON) is NodeStep.WAIT
    assert plan(node, node.due) is NodeStep.START
    node = record_launch(node, process=LND, revision=1, now=node.due)
    assert node.status is NodeStatus.STARTING


def test_of_a_launch_that_never_runs_the_end_is_the_failure() -> None:
    node = a_live_node(NodeStatus.STARTING)
    failed = record_failure(node, now=NOON, observation=GONE)
    assert (failed.status, failed.process, failed.crashes) == (NodeStatus.FAILED, "", 1)
    assert plan(failed, failed.due) is NodeStep.START
    stored_before = record_failure(
        observe(node, GONE, NOON), now=NOON, observation=GONE
    )
    assert stored_before == failed, "it counts once"


def test_a_launch_that_fails_once_a_stop_is_wanted_is_stopped() -> None:
    node = apply_command(a_live_node(NodeStatus.STARTING), Action.STOP, now=NOON)
    assert plan(node, NOON) is NodeStep.STOP
    assert record_failure(node, now=NOON, observation=GONE).status is NodeStatus.STOPPED


@pytest.mark.parametrize("action", [Action.STOP, Action.DELETE])
def test_a_launch_that_cannot_be_made_fails_nothing_that_is_no_longer_wanted(
    action: Action,
) -> None:
    """Its pause must not replace the time for which a deleted node is kept."""
    node = apply_command(a_node(NodeStatus.FAILED), action, now=NOON)
    assert record_failure(node, now=HOUR) == node


def test_a_launch_that_fails_and_may_run_has_its_process() -> None:
    node = a_live_node(NodeStatus.STARTING)
    unknown = Observation(process=LND, known=False, why="away")
    after = record_failure(node, now=NOON, observation=unknown)
    assert after == replace(node, unknown=Unknown(since=NOON, why="away"))


def ended(end: End, node: Node | None = None, **changes: object) -> Node:
    gone = Observation(process=LND, alive=False, end=end)
    return observe(node or a_live_node(NodeStatus.STARTING, **changes), gone, NOON)


def test_node_says_why_its_lnd_ended_until_a_command() -> None:
    node = ended(SHORT)
    assert node.trouble is not None
    assert (node.trouble.cause, node.trouble.why) == (SHORT.cause, SHORT.why)
    assert "larger size" in reason_of(node.status, node.trouble)
    node = record_launch(node, process=LND, revision=1, now=NOON)
    node = observe(node, says(LndState.LOCKED), NOON)
    assert "ran out of memory" in reason_of(node.status, node.trouble)
    node = ended(SHORT, node)
    assert "2 times in a row" in reason_of(node.status, node.trouble)
    other = ended(UNEXPLAINED, a_live_node(trouble=node.trouble)).trouble
    assert other is not None
    assert other.times == 1
    assert reason_of(NodeStatus.RUNNING, node.trouble) == ""
    assert apply_command(node, Action.STOP, now=NOON).trouble is None
    by_owner = Observation(process=LND, alive=False, stopped_by_owner=True, end=SHORT)
    assert observe(a_live_node(), by_owner, NOON).trouble is None


def test_node_has_not_crashed_when_its_machine_is_drained() -> None:
    node = ended(DRAINED, crashes=2)
    assert (node.status, node.crashes) == (NodeStatus.STOPPED, 2)
    assert plan(node, NOON) is NodeStep.WAIT
    assert plan(node, NOON + timedelta(seconds=1)) is NodeStep.START
    assert "machine" in reason_of(node.status, node.trouble)
    node = record_launch(node, process=LND, revision=1, now=NOON)
    assert observe(node, says(LndState.SERVER_ACTIVE), NOON).trouble is None


def test_failed_start_keeps_its_reason_while_it_is_tried_again() -> None:
    never_ran = End(cause=Cause.NOT_STARTED, why="its pod was deleted")
    node = record_failure(
        ended(never_ran),
        now=NOON,
        observation=GONE,
        reason="No room.",
        why="0/2 machines",
    )
    assert (node.status, node.crashes) == (NodeStatus.FAILED, 1)
    node = record_launch(node, process=LND, revision=1, now=NOON)
    assert (node.status, reason_of(node.status, node.trouble)) == (
        NodeStatus.STARTING,
        "No room.",
    )
    assert reason_of(node.status, ended(never_ran, node).trouble) == "No room."
    assert observe(node, says(LndState.WAITING_TO_START), NOON).trouble is None


def test_start_that_fails_counts_once_when_its_pod_was_deleted_meanwhile() -> None:
    gone = Observation(process=LND, alive=False, end=DRAINED)
    for node in (a_live_node(NodeStatus.STARTING), ended(DRAINED)):
        after = record_failure(node, now=NOON, observation=gone, reason="No room.")
        assert (after.crashes, after.due) == (1, NOON + timedelta(seconds=1))


def test_a_deleted_node_ends_quietly() -> None:
    node = apply_command(a_live_node(NodeStatus.RUNNING), Action.DELETE, now=NOON)
    gone = observe(node, GONE, NOON + timedelta(seconds=3))
    assert (gone.status, gone.due) == (NodeStatus.DELETING, node.due)
    assert gone.is_gone


class Walk:
    """A node to which things happen, and a hand that acts on the plan."""

    def __init__(self) -> None:
        self.node = a_node()
        self.now = NOON
        self._launches = 0

    def asks(self, action: Action) -> None:
        with contextlib.suppress(NotAllowed):
            self.node = apply_command(self.node, action, now=self.now)

    def sees(self, **found: Any) -> None:
        if self.node.has_process:
            observation = Observation(process=self.node.process, **found)
            self.node = observe(self.node, observation, self.now)

    def breaks(self) -> None:
        if plan(self.node, self.now) is NodeStep.START:
            self.node = record_failure(self.node, now=self.now)

    def acts(self) -> None:
        match plan(self.node, self.now):
            case NodeStep.START:
                self._launches += 1
                self.node = record_launch(
                    self.node,
                    process=f"lnd {self._launches}",
                    revision=self.node.revision,
                    now=self.now,
                )
            case NodeStep.STOP:
                self.sees(alive=False)
            case _:
                pass

    def meets(self, event: Action | LndState | str) -> None:
        self.now += timedelta(seconds=1)
        match event:
            case Action():
                self.asks(event)
            case LndState():
                self.sees(state=event)
            case "ended" | "asked":
                self.sees(alive=False, stopped_by_owner=event == "asked")
            case "broke":
                self.breaks()
            case _:
                self.acts()


@given(
    st.lists(
        st.one_of(
            st.sampled_from(Action),
            st.sampled_from(LndState),
            st.sampled_from(["ended", "asked", "broke", "acts"]),
        ),
        max_size=40,
    )
)
def test_whatever_happened_acting_on_the_plan_gives_what_is_wanted(
    events: list[Action | LndState | str],
) -> None:
    walk = Walk()
    for event in events:
        walk.meets(event)
    walk.now += timedelta(minutes=5)
    for _ in range(3):
        walk.acts()
    node = walk.node
    assert node.has_process is (node.wanted is DesiredState.RUNNING)
    assert not node.is_outdated
    walk.sees(state=LndState.SERVER_ACTIVE)
    assert (
        walk.node.status
        is {
            DesiredState.RUNNING: NodeStatus.RUNNING,
            DesiredState.STOPPED: NodeStatus.STOPPED,
            DesiredState.DELETED: NodeStatus.DELETING,
        }[node.wanted]
    )
