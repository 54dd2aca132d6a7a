"""How often connections to nodes may begin, with the kernel's own nftables.

A listener is what proves it: what was dropped has not arrived.
"""

import contextlib
import socket
import subprocess
import time
from collections.abc import Iterator
from ipaddress import ip_network

import pytest

from leyden.nodes.runtimes.local import nftables
from leyden.nodes.runtimes.local.arrivals import AHEAD_S, Arrivals, PortLimits
from leyden.nodes.runtimes.local.egress_policy import AllowedDestination, EgressPolicy
from leyden.values import replace
from tests.nodes.runtimes import test_egress_policy
from tests.nodes.runtimes.test_egress_policy import PYTHON, line_of, user
from tests.ports import free_port

pytestmark = test_egress_policy.pytestmark
policy = test_egress_policy.policy

HERE = "127.0.0.1"
FLOODS, STRANGER, PARTNER = "127.66.7.1", "127.66.7.2", "127.66.8.3"
PER_SOURCE, PER_NODE = 2, 5
MANY = 120
AT_ONCE = 0.5  # before a packet is sent again, after a second
CALLS = """
import socket, sys, time
let_in = 0
for _ in range(int(sys.argv[3])):
    caller = socket.socket()
    caller.settimeout(0.02)
    try:
        caller.connect((sys.argv[1], int(sys.argv[2])))
        let_in += 1
    except OSError:
        pass
    caller.close()
print(let_in)
"""


@pytest.fixture
def port() -> Iterator[int]:
    """A port at which everybody is accepted, and nothing is said."""
    with socket.create_server((HERE, free_port()), backlog=1_000) as listening:
        yield listening.getsockname()[1]


@pytest.fixture
def door() -> Iterator[int]:
    """A port for callers of REST."""
    with socket.create_server((HERE, free_port()), backlog=1_000) as listening:
        yield listening.getsockname()[1]


@pytest.fixture
def held(policy: EgressPolicy, port: int, door: int) -> EgressPolicy:
    """The policy of an installation whose one peer port that is."""
    peers = PortLimits(
        name="peers",
        ports=((port, port),),
        per_source=PER_SOURCE,
        per_port=PER_NODE,
        unlimited=(ip_network("127.66.8.0/24"),),
    )
    callers = PortLimits(name="callers", ports=((door, door),), per_source=PER_SOURCE)
    arrivals = Arrivals(callers=callers, peers=peers, own=(ip_network(f"{HERE}/32"),))
    opening = AllowedDestination(ip_network(f"{HERE}/32"), port)
    changed = replace(policy, arrivals=arrivals, openings=(opening,))
    nftables.apply(changed)
    return changed


def begun(
    port: int, source: str, number: int = MANY, *, patience_s: float = 0.02
) -> int:
    """Begin connections that end at once; tell how many of them arrived."""
    let_in = 0
    for _ in range(number):
        with contextlib.closing(socket.socket()) as caller:
            caller.settimeout(patience_s)
            caller.bind((source, 0))
            with contextlib.suppress(TimeoutError):
                caller.connect((HERE, port))
                let_in += 1
    return let_in


def test_a_source_that_floods_is_dropped_and_another_one_arrives_at_once(
    held: EgressPolicy, port: int
) -> None:
    began = time.monotonic()
    let_in = begun(port, FLOODS)
    limit = PER_SOURCE * (AHEAD_S + time.monotonic() - began) + 1
    assert PER_SOURCE * AHEAD_S <= let_in <= limit
    assert begun(port, STRANGER, 5, patience_s=AT_ONCE) == 5

    nftables.apply(held)  # as at each start of the platform
    assert nftables.is_applied(held)
    assert begun(port, FLOODS) < MANY
    assert begun(port, STRANGER, 5, patience_s=AT_ONCE) == 5


@pytest.mark.usefixtures("held")
def test_whoever_waits_for_their_turn_arrives(port: int) -> None:
    assert begun(port, FLOODS) < MANY
    assert begun(port, FLOODS, 1, patience_s=10) == 1


@pytest.mark.usefixtures("held")
def test_callers_who_flood_are_dropped_and_nobody_else(door: int, port: int) -> None:
    assert PER_SOURCE * AHEAD_S <= begun(door, FLOODS) < MANY
    assert begun(port, FLOODS, 5, patience_s=AT_ONCE) == 5, "a limit of its own"
    for source in (STRANGER, HERE):
        assert begun(door, source, 5, patience_s=AT_ONCE) == 5
    assert sum(begun(door, f"127.66.9.{host}", 10) for host in range(1, 11)) == 100


@pytest.mark.usefixtures("held")
def test_a_node_has_so_many_from_all_sources_together(port: int) -> None:
    began = time.monotonic()
    let_in = sum(begun(port, f"127.66.9.{host}", 10) for host in range(1, 11))
    limit = PER_NODE * (AHEAD_S + time.monotonic() - began) + 1
    assert PER_NODE * AHEAD_S <= let_in <= limit


@pytest.mark.usefixtures("held")
def test_this_machines_own_and_the_operators_partners_are_counted_by_node_alone(
    port: int,
) -> None:
    assert begun(port, HERE, 25) == 25
    assert begun(port, PARTNER, 25) == 25


def test_a_node_that_floods_others_is_told_from_other_nodes(
    held: EgressPolicy, port: int
) -> None:
    """They all call from one address: their users are what tells them apart."""

    def calls(slot: int, number: int) -> int:
        become = ("setpriv", f"--reuid={user(held, slot)}", "--clear-groups")
        words = (str(PYTHON), "-S", "-c", CALLS, HERE, str(port), str(number))
        caller = subprocess.Popen(
            [*become, *words], cwd="/", stdout=subprocess.PIPE, text=True
        )
        return int(line_of(caller))

    assert calls(3, MANY) < MANY / 2
    assert calls(4, 5) == 5


def test_nobody_else_is_held_and_nothing_stays(held: EgressPolicy, port: int) -> None:
    with socket.create_server((HERE, 0), backlog=1_000) as api:
        assert begun(api.getsockname()[1], FLOODS) == MANY
    assert begun(port, FLOODS) < MANY
    nftables.remove(held.home)
    listed = subprocess.run(
        ["nft", "list", "ruleset"], capture_output=True, text=True, check=True
    )
    assert held.table not in listed.stdout
    assert begun(port, FLOODS) == MANY
