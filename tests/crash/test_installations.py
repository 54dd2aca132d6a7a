"""Two and three whole installations on one PostgreSQL: never two lnds of a node."""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.installations import (
    Customer,
    Installation,
    Machine,
    Program,
    end,
    machine,
    query,
    until,
)

pytestmark = [pytest.mark.full, pytest.mark.timeout(400)]


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def machines(stack: ExitStack, tmp_path: Path) -> list[Machine]:
    names = ("harbour", "shore", "island")
    return [stack.enter_context(machine(tmp_path, name)) for name in names]


@pytest.fixture
def one(
    stack: ExitStack, machines: list[Machine], tmp_path: Path, postgres_url: str
) -> Installation:
    installed = Installation(machines[0], tmp_path, postgres_url)
    stack.callback(installed.close)
    installed.migrate()
    return installed


@pytest.fixture
def others(
    stack: ExitStack, machines: list[Machine], tmp_path: Path, postgres_url: str
) -> list[Installation]:
    made = []
    for at in machines[1:]:
        made.append(Installation(at, tmp_path, postgres_url, name=f"home of {at.name}"))
        stack.callback(made[-1].close)
    return made


async def ready(installed: Installation, *ports: int) -> None:
    def logs() -> str:
        return "\n".join(each.said for each in installed.begun)

    for port in ports or (8000,):
        await until(lambda: installed.answers(port=port), why=logs)  # noqa: B023


async def all_are(customer: Customer, status: str, **how: float) -> float:
    def holds() -> bool:
        return set(customer.statuses().values()) == {status}

    return await until(holds, why=lambda: str(customer.statuses()), **how)


async def test_machines_with_homes_of_their_own_never_give_two_lnds(
    one: Installation, others: list[Installation]
) -> None:
    server, worker = one.start("serve"), one.start("worker")
    await ready(one)
    customer = Customer(one)
    nodes = customer.create(4)
    await all_are(customer, "waiting_init")
    before = customer.processes()
    for other in others:
        other.migrate()
        for word in ("worker", "serve"):
            said = other.refused(word)
            assert "belong to another home, last on harbour" in said
            assert "Kubernetes" in said
    # Nor while there is nobody at home.
    worker.kill()
    server.kill()
    assert "belong to another home" in others[0].refused("worker")
    assert customer.processes() == before
    assert set(customer.statuses().values()) == {"waiting_init"}
    one.start("serve")
    one.start("worker")
    await ready(one)
    customer.ask(nodes[0], "restart")
    await until(
        lambda: customer.processes()[nodes[0]] not in {"", before[nodes[0]]},
        why=lambda: str(customer.statuses()),
    )
    await all_are(customer, "waiting_init")
    assert one.lnds() == dict.fromkeys(nodes, 1)
    assert not any(other.lnds() for other in others)


@pytest.mark.long
async def test_a_copy_of_a_home_is_refused_until_somebody_says_that_it_moved(
    one: Installation, others: list[Installation]
) -> None:
    one.start("serve")
    worker = one.start("worker")
    await ready(one)
    customer = Customer(one)
    nodes = customer.create(2)
    await all_are(customer, "waiting_init")
    moved = others[0]
    shutil.copytree(one.home, moved.home, ignore=shutil.ignore_patterns("*.sock"))
    assert "is a copy of the home" in moved.refused("worker")
    here = Installation(one.at, one.folder, one.database, name=moved.home.name)
    assert "is a copy of the home" in here.refused("worker")
    adopted = moved.run("data-dir", "adopt", "--yes")
    assert adopted.returncode == 1
    assert "in use by process" in adopted.stderr
    assert worker.runs
    assert one.lnds() == dict.fromkeys(nodes, 1)
    end(one.at)  # with all nodes that run there
    adopted = moved.run("data-dir", "adopt", "--yes")
    assert adopted.returncode == 0, adopted.stderr
    moved.start("serve")
    moved.start("worker")
    await until(
        lambda: dict(moved.lnds()) == dict.fromkeys(nodes, 1),
        why=lambda: str(customer.statuses()) + moved.begun[-1].said,
    )
    await all_are(customer, "waiting_init")
    assert not one.lnds()


@pytest.mark.long
async def test_a_home_in_two_containers_at_once_is_refused(
    one: Installation, tmp_path: Path
) -> None:
    """Its folder is the same, and so is the machine; but nodes are not seen."""
    worker = one.start("worker")
    await until(lambda: "nodes found again" in worker.said, why=lambda: worker.said)
    with machine(tmp_path, "container", on=one.at.name) as container:
        again = Installation(container, one.folder, one.database)
        said = again.refused("worker")
        assert "in use by process" in said
        assert "on harbour, in another container" in said
        assert worker.runs
        # Started anew, as a container is, it waits until nobody lives there.
        end(one.at)
        begun = again.start("worker")
        await until(
            lambda: "nodes found again" in begun.said,
            within_s=40,
            why=lambda: begun.said,
        )
        again.close()


@pytest.mark.long
async def test_a_dead_workers_nodes_are_taken_over_within_thirty_seconds(
    one: Installation,
) -> None:
    servers = [one.start("serve", port=port) for port in (8000, 8001)]
    workers = await two_workers(one)
    await ready(one, 8000, 8001)
    customer = Customer(one)
    nodes = customer.create(8)
    await all_are(customer, "waiting_init")
    # One of each dies, in the middle of making nodes.
    new = customer.create(3)
    workers[0].kill()
    servers[0].kill()
    for node_id in nodes:
        kill_lnd(one, node_id)
    before = customer.processes()

    def mended() -> bool:
        now = customer.processes()
        return all(
            now[node_id] not in {"", before[node_id]} for node_id in nodes
        ) and all(now[node_id] for node_id in new)

    took = await until(
        mended, within_s=30, why=lambda: f"{customer.statuses()} {workers[1].said}"
    )
    print(f"taken over after {took:.1f} s")  # noqa: T201  shown with -s
    await all_are(customer, "waiting_init", within_s=30)
    assert one.lnds() == dict.fromkeys([*nodes, *new], 1)


@pytest.mark.long
async def test_a_worker_that_slept_through_its_claims_writes_nothing(
    one: Installation,
) -> None:
    one.start("serve")
    sleeper, heir = await two_workers(one)
    await ready(one)
    customer = Customer(one)
    nodes = customer.create(4)
    await all_are(customer, "waiting_init")
    sleeper.freeze()
    await until(lambda: watches(heir), within_s=30, why=lambda: heir.said)
    for node_id in nodes:
        kill_lnd(one, node_id)
    before = customer.processes()
    sleeper.thaw()
    await until(
        lambda: all(
            customer.processes()[node_id] not in {"", before[node_id]}
            for node_id in nodes
        ),
        why=lambda: str(customer.statuses()),
    )
    await all_are(customer, "waiting_init")
    assert one.lnds() == dict.fromkeys(nodes, 1)
    assert set(crashes(one)) == {1}, "each end was seen once"


@pytest.mark.long
async def test_a_worker_that_stops_hands_all_nodes_over_at_once(
    one: Installation,
) -> None:
    one.start("serve")
    first, second = await two_workers(one)
    await ready(one)
    customer = Customer(one)
    customer.create(3)
    await all_are(customer, "waiting_init")
    before = customer.processes()
    assert not watches(second)
    assert first.stop() == 0
    await until(lambda: watches(second), within_s=20, why=lambda: second.said)
    assert customer.processes() == before


async def two_workers(of: Installation) -> list[Program]:
    """Start two, of which the first watches the nodes."""
    first = of.start("worker")
    await until(lambda: watches(first), why=lambda: first.said)
    return [first, of.start("worker")]


def watches(worker: Program) -> bool:
    """Return whether a worker has begun to watch the nodes."""
    return "nodes found again" in worker.said


def crashes(installed: Installation) -> list[int]:
    return [count for (count,) in query(installed.database, "SELECT crashes FROM node")]


def kill_lnd(installed: Installation, node_id: str) -> None:
    os.kill(installed.pid_of_lnd(node_id), signal.SIGKILL)
