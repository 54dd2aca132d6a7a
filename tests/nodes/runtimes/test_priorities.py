"""Which lnd goes first where processors are short, without control groups."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from leyden.base import processes
from leyden.nodes.rules.nodes import Node
from leyden.nodes.rules.observations import LndState
from leyden.nodes.runtimes.local.priorities import RUNNING, STARTING
from tests.base.processes.test_processes import (
    SESSIONS_ARE_SCHEDULED,
    niceness_of_session,
)
from tests.nodes.contracts.runtimes import LocalRuntimeCase, install_stand_in, start
from tests.nodes.rules.nodes import a_node
from tests.waiting import until

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
async def case(tmp_path: Path) -> AsyncIterator[LocalRuntimeCase]:
    case = LocalRuntimeCase(tmp_path / "nodes", install_stand_in(tmp_path))
    yield case
    await case.close()


def niceness(case: LocalRuntimeCase, node: Node) -> int:
    lnd = case.identity(node)
    if SESSIONS_ARE_SCHEDULED:
        return niceness_of_session(lnd)
    return os.getpriority(os.PRIO_PROCESS, lnd.pid)


def state(case: LocalRuntimeCase) -> LndState | None:
    return case.observations[-1].state if case.observations else None


@AS_ROOT
async def test_a_node_that_runs_goes_before_one_that_waits_to_be_unlocked(
    case: LocalRuntimeCase,
) -> None:
    """And whoever guesses at the password of a wallet takes only what is left."""
    node = await start(case, a_node())
    await until(lambda: state(case) is LndState.NON_EXISTING)
    assert niceness(case, node) == RUNNING
    await case.call(node, "POST", "/v1/initwallet", {})
    await case.ask_to_stop(node)
    await until(lambda: not case.observations[-1].alive)
    node = await start(case, node)
    await until(lambda: state(case) is LndState.LOCKED)
    assert niceness(case, node) == STARTING
    await case.call(node, "POST", "/v1/unlockwallet", {"stateless_init": True})
    await until(lambda: state(case) is LndState.SERVER_ACTIVE)
    assert niceness(case, node) == RUNNING


@AS_ROOT
async def test_a_node_that_was_found_again_gets_the_priority_of_its_state(
    case: LocalRuntimeCase,
) -> None:
    """It was started by an older platform, which knew of no priorities."""
    node = await start(case, a_node())
    await until(lambda: state(case) is LndState.NON_EXISTING)
    processes.set_niceness(case.identity(node).pid, 0)
    case.observations.clear()
    case.begin_anew()
    await case.runtime.observe(node)
    await until(lambda: state(case) is LndState.NON_EXISTING)
    assert niceness(case, node) == RUNNING
