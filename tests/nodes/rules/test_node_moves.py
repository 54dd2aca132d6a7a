from datetime import timedelta
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.errors import Malformed, NotAllowed
from leyden.nodes.rules.node_moves import (
    KEEP_DATA_FOR,
    LONGEST_PAUSE,
    MOVES,
    NodeStep,
    apply_command,
    give_up,
    is_restorable,
    plan,
)
from leyden.nodes.rules.nodes import (
    Action,
    DesiredState,
    Node,
    NodeStatus,
    ObservedEvent,
    RuntimeName,
    check_name,
)
from leyden.values import replace
from tests.nodes.rules.nodes import NOON, a_node

ASKABLE = [action for action in Action if action is not Action.CREATE]


def test_the_states_are_the_ones_the_api_shows() -> None:
    assert set(NodeStatus) == {
        "provisioning",
        "starting",
        "waiting_init",
        "waiting_unlock",
        "running",
        "stopping",
        "stopped",
        "restarting",
        "updating",
        "failed",
        "deleting",
    }


@pytest.mark.parametrize(("status", "action"), list(product(NodeStatus, Action)))
def test_every_command_is_in_the_table_or_refused(
    status: NodeStatus, action: Action
) -> None:
    node = a_node(status, process="lnd 1", launched_revision=1)
    if (status, action) in MOVES:
        assert apply_command(node, action, now=NOON).status is MOVES[status, action]
    else:
        with pytest.raises(NotAllowed, match=f"a node that is {status} cannot "):
            apply_command(node, action, now=NOON)


@pytest.mark.parametrize(
    ("action", "allowed"),
    [
        (Action.START, {"stopped", "failed"}),
        (
            Action.STOP,
            {
                "provisioning",
                "starting",
                "waiting_init",
                "waiting_unlock",
                "running",
                "restarting",
                "updating",
                "failed",
                "stopped",  # after a crash, to end the tries
            },
        ),
        (Action.RESTART, {"starting", "waiting_init", "waiting_unlock", "running"}),
        (Action.SETTINGS, set(NodeStatus) - {"deleting"}),
        (Action.DELETE, set(NodeStatus) - {"deleting"}),
    ],
)
def test_what_may_be_asked_of_a_node_in_which_state(
    action: Action, allowed: set[str]
) -> None:
    assert {status for status in NodeStatus if (status, action) in MOVES} == allowed


def test_a_stopped_node_that_should_be_stopped_is_not_stopped_again() -> None:
    node = a_node(NodeStatus.STOPPED, wanted=DesiredState.STOPPED)
    with pytest.raises(NotAllowed, match="a node that is stopped cannot be stopped"):
        apply_command(node, Action.STOP, now=NOON)


def test_a_node_that_keeps_crashing_can_be_given_rest() -> None:
    node = a_node(NodeStatus.STOPPED, crashes=4, due=NOON + timedelta(seconds=8))
    rested = apply_command(node, Action.STOP, now=NOON)
    assert rested.status is NodeStatus.STOPPED
    assert plan(rested, NOON + timedelta(days=1)) is NodeStep.NOTHING


def test_a_node_without_a_process_is_stopped_at_once() -> None:
    node = a_node(NodeStatus.PROVISIONING)
    assert apply_command(node, Action.STOP, now=NOON).status is NodeStatus.STOPPED


def test_asking_begins_anew_without_a_pause() -> None:
    node = a_node(NodeStatus.FAILED, crashes=9, due=NOON + timedelta(minutes=5))
    started = apply_command(node, Action.START, now=NOON)
    assert (started.crashes, started.due) == (0, NOON)
    assert plan(started, NOON) is NodeStep.START


def test_a_command_changes_what_it_is_about_and_nothing_else() -> None:
    later = NOON + timedelta(hours=1)
    crashed = {"process": "lnd 1", "launched_revision": 1, "crashes": 2}
    node = a_node(NodeStatus.RUNNING, revision=1, **crashed)
    stored = a_node(
        NodeStatus.RUNNING, revision=1, **crashed | {"crashes": 0}, due=later
    )
    for action, changes in (
        (Action.STOP, {"status": NodeStatus.STOPPING, "wanted": DesiredState.STOPPED}),
        (Action.RESTART, {"status": NodeStatus.RESTARTING, "revision": 2}),
        (Action.UPDATE, {"status": NodeStatus.UPDATING, "revision": 2}),
        (Action.SETTINGS, {"status": NodeStatus.RESTARTING, "revision": 2}),
    ):
        request = apply_command(node, action, now=later)
        assert request == replace(stored, **changes), action
    assert apply_command(
        node, Action.DELETE, now=NOON, keep_data_for=timedelta(hours=1)
    ) == replace(stored, status=NodeStatus.DELETING, wanted=DesiredState.DELETED)
    assert apply_command(a_node(NodeStatus.FAILED), Action.START, now=later) == replace(
        a_node(NodeStatus.FAILED),
        status=MOVES[NodeStatus.FAILED, Action.START],
        wanted=DesiredState.RUNNING,
        due=later,
    )


@pytest.mark.parametrize("action", [Action.RESTART, Action.UPDATE, Action.SETTINGS])
def test_what_needs_another_lnd_ends_the_one_that_runs(action: Action) -> None:
    node = a_node(NodeStatus.RUNNING, process="lnd 1", launched_revision=1)
    request = apply_command(node, action, now=NOON)
    assert plan(request, NOON) is NodeStep.STOP
    assert request.wanted is DesiredState.RUNNING


def test_a_stopped_node_stays_stopped_when_it_is_updated_or_set() -> None:
    node = a_node(NodeStatus.STOPPED, wanted=DesiredState.STOPPED)
    for action in (Action.UPDATE, Action.SETTINGS):
        request = apply_command(node, action, now=NOON)
        assert request.status is NodeStatus.STOPPED
        assert plan(request, NOON) is NodeStep.NOTHING


def test_deleting_keeps_the_data_for_seven_days() -> None:
    node = apply_command(a_node(NodeStatus.STOPPED), Action.DELETE, now=NOON)
    assert timedelta(days=7) == KEEP_DATA_FOR
    assert plan(node, NOON + KEEP_DATA_FOR - timedelta(seconds=1)) is NodeStep.WAIT
    assert plan(node, NOON + KEEP_DATA_FOR) is NodeStep.REMOVE


@pytest.mark.parametrize(
    ("wanted", "process", "launched", "due_in_s", "step"),
    [
        (DesiredState.RUNNING, "", 0, 0, NodeStep.START),
        (DesiredState.RUNNING, "", 0, 5, NodeStep.WAIT),
        (DesiredState.RUNNING, "lnd 1", 2, 0, NodeStep.NOTHING),
        (DesiredState.RUNNING, "lnd 1", 2, 5, NodeStep.NOTHING),
        (DesiredState.RUNNING, "lnd 1", 1, 0, NodeStep.STOP),
        (DesiredState.STOPPED, "", 0, 0, NodeStep.NOTHING),
        (DesiredState.STOPPED, "lnd 1", 2, 0, NodeStep.STOP),
        (DesiredState.DELETED, "lnd 1", 2, 5, NodeStep.STOP),
        (DesiredState.DELETED, "", 0, 5, NodeStep.WAIT),
        (DesiredState.DELETED, "", 0, 0, NodeStep.REMOVE),
    ],
)
def test_the_difference_between_wanted_and_present_says_what_to_do(
    wanted: DesiredState, process: str, launched: int, due_in_s: int, step: NodeStep
) -> None:
    node = a_node(
        wanted=wanted,
        process=process,
        launched_revision=launched,
        revision=2,
        due=NOON + timedelta(seconds=due_in_s),
    )
    assert plan(node, NOON) is step


@pytest.mark.parametrize("wanted", list(DesiredState))
@pytest.mark.parametrize("days", [0, 1])
def test_a_node_that_moves_elsewhere_is_only_stopped_here(
    wanted: DesiredState, days: int
) -> None:
    """Whatever is wanted of it is done where it moves to."""
    node = a_node(
        wanted=wanted,
        process="lnd 1",
        launched_revision=1,
        revision=1,
        due=NOON + timedelta(days=days),
        moves_to=RuntimeName.KUBERNETES,
    )
    assert plan(node, NOON) is NodeStep.STOP
    assert plan(replace(node, process=""), NOON) is NodeStep.NOTHING


def test_a_deleted_node_gives_its_peer_port_back_from_that_moment() -> None:
    later = NOON + timedelta(minutes=5)
    node = a_node(NodeStatus.STOPPED, peer_port=19_735)
    deleted = apply_command(node, Action.DELETE, now=later)
    assert deleted.peer_port_released == later
    for action in (Action.START, Action.UPDATE, Action.SETTINGS):
        assert apply_command(node, action, now=later).peer_port_released is None


def test_a_clock_that_was_set_back_delays_nobody_for_long() -> None:
    node = a_node(NodeStatus.STOPPED, crashes=1, due=NOON + timedelta(seconds=1))
    an_hour_back = NOON - timedelta(hours=1)
    assert plan(node, an_hour_back) is NodeStep.START
    assert plan(node, NOON + timedelta(seconds=1) - LONGEST_PAUSE) is NodeStep.WAIT


def test_nothing_leaves_deleting_but_to_be_restored() -> None:
    left = {cause for status, cause in MOVES if status is NodeStatus.DELETING}
    assert left == {Action.RESTORE}
    into = {status for status, cause in MOVES if cause is Action.RESTORE}
    assert into == {NodeStatus.DELETING}


def test_a_deleted_node_is_restorable_until_its_data_is_due() -> None:
    node = replace(a_node(NodeStatus.RUNNING), process="lnd 1", launched_revision=1)
    assert not is_restorable(node, NOON)
    deleted = apply_command(node, Action.DELETE, now=NOON)
    assert is_restorable(deleted, NOON)
    ended = replace(deleted, process="")
    last = deleted.due - timedelta(seconds=1)
    assert is_restorable(ended, last)
    assert not is_restorable(ended, deleted.due)
    assert not is_restorable(give_up(ended), last)
    assert give_up(ended).is_destroyed
    for each, status in ((deleted, NodeStatus.STOPPING), (ended, NodeStatus.STOPPED)):
        restored = apply_command(each, Action.RESTORE, now=last)
        assert (restored.status, restored.wanted) == (status, DesiredState.STOPPED)


@given(st.lists(st.sampled_from(ASKABLE)))
def test_the_wish_is_always_the_last_one_that_was_granted(
    actions: list[Action],
) -> None:
    node: Node = replace(
        a_node(NodeStatus.RUNNING), process="lnd 1", launched_revision=1
    )
    wanted = DesiredState.RUNNING
    for action in actions:
        try:
            node = apply_command(node, action, now=NOON)
        except NotAllowed:
            continue
        wanted = {
            Action.START: DesiredState.RUNNING,
            Action.STOP: DesiredState.STOPPED,
            Action.DELETE: DesiredState.DELETED,
            Action.RESTORE: DesiredState.STOPPED,
        }.get(action, wanted)
    assert node.wanted is wanted
    if wanted is DesiredState.DELETED:
        assert node.status is NodeStatus.DELETING


@given(st.text())
def test_a_name_is_plain_or_refused(name: str) -> None:
    plain = (
        1 <= len(name) <= 50
        and name.isascii()
        and all(letter.isalnum() or letter in " _.-" for letter in name)
        and name == name.strip()
    )
    if plain:
        assert check_name(name) == name
    else:
        with pytest.raises(Malformed, match=r"^name: "):
            check_name(name)


def test_seen_and_asked_are_never_confused() -> None:
    assert not {str(found) for found in ObservedEvent} & {
        str(action) for action in Action
    }
