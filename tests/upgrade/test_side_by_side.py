"""Version n and n+1 on one schema: nothing is refused, and no node is started anew.

n is this code; n+1 is a copy of it with migrations to come (`tests.upgrade.future`).
They are whole installations: API servers, workers and nodes on one PostgreSQL.
"""

import asyncio
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.installations import Customer, Installation, machine, until
from tests.upgrade import future

pytestmark = pytest.mark.timeout(600)

_OLD, _NEW = 8000, 8001


class Traffic:
    """Somebody who asks an API all the time, and changes something now and then."""

    def __init__(self, of: Installation, customer: Customer) -> None:
        self._of = of
        self._customer = customer
        self.answered: Counter[int] = Counter()
        self.wrong: list[str] = []
        self._ends = threading.Event()

    @contextmanager
    def to(self, *ports: int) -> Iterator[None]:
        """Ask at these ports for the block."""
        self._ends.clear()
        asking = [threading.Thread(target=self._ask, args=(port,)) for port in ports]
        for each in asking:
            each.start()
        try:
            yield
        finally:
            self._ends.set()
            for each in asking:
                each.join()

    def _ask(self, port: int) -> None:
        number = 0
        while not self._ends.is_set():
            try:
                self._once(port, number)
            except (AssertionError, subprocess.CalledProcessError) as error:
                self.wrong.append(f"{port}: {error}")
            self.answered[port] += 1
            number += 1
            self._ends.wait(0.25)  # each is a process of its own, on two cores

    def _once(self, port: int, number: int) -> None:
        key, path = self._customer.key, self._customer.path
        found: list[Any] = self._of.call("GET", path, key=key, port=port)["nodes"]
        if number % 5 == 0:
            change = {"whitelist": ["127.0.0.1", f"198.51.100.{number % 250}"]}
            whitelist = f"{path}/{found[0]['node_id']}/whitelist"
            self._of.call("POST", whitelist, change, key=key, port=port)


@pytest.fixture
def now(postgres_url: str, tmp_path: Path) -> Iterator[Installation]:
    with machine(tmp_path, "harbour") as at:
        installed = Installation(at, tmp_path, postgres_url)
        try:
            installed.migrate()
            yield installed
        finally:
            installed.close()


@pytest.fixture
def later(now: Installation, tmp_path: Path) -> Iterator[Installation]:
    source = future.version(tmp_path / "later")
    future.expand(source)
    installed = Installation(
        now.at, tmp_path, now.database, settings={"PYTHONPATH": str(source)}
    )
    try:
        yield installed
    finally:
        installed.close()


def logs(*installed: Installation) -> str:
    return "\n".join(each.said for one in installed for each in one.begun)


async def ready(installed: Installation, port: int) -> None:
    await until(lambda: installed.answers(port=port), why=lambda: logs(installed))


@pytest.mark.long
async def test_a_roll_refuses_no_request_and_restarts_no_node(
    now: Installation, later: Installation, tmp_path: Path
) -> None:
    old = [now.start("serve", port=_OLD), now.start("worker")]
    await ready(now, _OLD)
    customer = Customer(now)
    [node] = customer.create(1)
    await until(
        lambda: set(customer.statuses().values()) == {"waiting_init"},
        why=lambda: logs(now),
    )
    before, lnd = customer.processes(), now.pid_of_lnd(node)
    traffic = Traffic(now, customer)
    with traffic.to(_OLD):
        migrated = later.run("migrate")
        assert migrated.returncode == 0, migrated.stderr
    new = later.start("serve", port=_NEW)
    await ready(later, _NEW)
    with traffic.to(_OLD, _NEW):
        # A worker of n dies in the middle, and comes back.
        old[1].kill()
        old.append(now.start("worker"))
        later.start("worker")
        await asyncio.sleep(3)
        made = customer.create(1, port=_NEW) + customer.create(1, port=_OLD)
        await until(
            lambda: set(customer.statuses().values()) == {"waiting_init"},
            why=lambda: logs(now, later),
        )
        assert old[2].runs, old[2].said
        assert now.run("migrate").returncode == 0  # and does nothing
    # What only n uses is taken away a release later, once it is gone.
    future.contract(tmp_path / "later")
    with traffic.to(_NEW):
        for each in (old[0], old[2]):
            each.stop()
        migrated = later.run("migrate")
        assert migrated.returncode == 0, migrated.stderr
    assert "cannot run on" in now.refused("worker")
    assert traffic.wrong == []
    assert min(traffic.answered.values()) > 5, traffic.answered
    assert new.runs, new.said
    after = customer.processes()
    assert {each: after[each] for each in before} == before
    assert now.pid_of_lnd(node) == lnd
    assert now.lnds() == dict.fromkeys([node, *made], 1)
    assert "Traceback" not in logs(now, later)
