"""Which lnd goes first where processors are short, without control groups."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from leyden.base import processes
from leyden.nodes.rules.nodes import Node
from leyden.nodes.rules.observations import State
from leyden.nodes.runtimes.local.priorities import RUNNING, STARTING
from tests.base.processes.test_processes import (
    SESSIONS_ARE_SCHEDULED,
    niceness_of_session,
)
from tests.nodes.contracts.runtimes import LocalHands, install_stand_in, start
from tests.nodes.rules.nodes import a_node
from tests.waiting import until

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
async def hands(tmp_path: Path) -> AsyncIterator[LocalHands]:
    hands = LocalHands(tmp_path / "nodes", install_stand_in(tmp_path))
    yield hands
    await hands.close()


def niceness(hands: LocalHands, node: Node) -> int:
    lnd = hands.identity(node)
    if SESSIONS_ARE_SCHEDULED:
        return niceness_of_session(lnd)
    return os.getpriority(os.PRIO_PROCESS, lnd.pid)


def state(hands: LocalHands) -> State | None:
    return hands.told[-1].state if hands.told else None


@AS_ROOT
async def test_a_node_that_runs_goes_before_one_that_waits_to_be_unlocked(
    hands: LocalHands,
) -> None:
    """And whoever guesses at the password of a wallet takes only what is left."""
    node = await start(hands, a_node())
    await until(lambda: state(hands) is State.NON_EXISTING)
    assert niceness(hands, node) == RUNNING
    await hands.call(node, "POST", "/v1/initwallet", {})
    await hands.ask_to_stop(node)
    await until(lambda: not hands.told[-1].alive)
    node = await start(hands, node)
    await until(lambda: state(hands) is State.LOCKED)
    assert niceness(hands, node) == STARTING
    await hands.call(node, "POST", "/v1/unlockwallet", {"stateless_init": True})
    await until(lambda: state(hands) is State.SERVER_ACTIVE)
    assert niceness(hands, node) == RUNNING


@AS_ROOT
async def test_a_node_that_was_found_again_gets_the_priority_of_its_state(
    hands: LocalHands,
) -> None:
    """It was started by an older platform, which knew of no priorities."""
    node = await start(hands, a_node())
    await until(lambda: state(hands) is State.NON_EXISTING)
    processes.set_niceness(hands.identity(node).pid, 0)
    hands.told.clear()
    hands.begin_anew()
    await hands.runtime.observe(node)
    await until(lambda: state(hands) is State.NON_EXISTING)
    assert niceness(hands, node) == RUNNING
