"""Thousands of simulated nodes, two real workers, and an API under load.

The nodes are rows in PostgreSQL and pods of a simulated cluster; one program answers as
their lnds do. Asked is what each worker takes while nothing happens; how long nobody
listens to the nodes of a worker that was killed, and whether one listens to each node
afterwards; and how late the API answers, against an API of the same program with ten
nodes and no workers, in turns.

    ./leyden bench cluster --simulated 2000 [--seconds 120] [--rounds 6] [--pods-alone]

Without their claims, volumes, secrets and services (`--pods-alone`) ten thousand nodes
are created in minutes; a worker that has nothing to do sees pods alone.
"""

import asyncio
import os
import random
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import psutil
from bench import simulated_nodes
from bench.measure import Figures, Report, quantile, turns
from bench.replicas import Installation, Replica, postgres
from bench.simulated_cluster import SimulatedCluster, simulated_cluster
from bench.simulated_nodes import Customer, SimulatedLnds
from bench.town import Caller

from leyden.base.daemons.build import build, default_cache
from leyden.nodes.rules.nodes import NodeStatus
from leyden_workshop.devcluster import binaries

GOAL_CPU_S: Final = 1.0  # of a worker, in a minute
GOAL_MIB: Final = 1024.0
GOAL_TAKEN_OVER_S: Final = 30.0
GOAL_P99: Final = 1.2
_FEW: Final = 10  # nodes of the API that is the base
_TOLD: Final = 50  # lnds that say something new
_PATIENCE_S: Final = 300.0
_SETTLED_S: Final = 20.0
_ASKED_S: Final = 6.0  # less than a claim lasts: workers are held for so long
_REST_S: Final = 6.0  # in which those that were held extend their claims
_A_SECOND: Final = 60.0
_CALLERS: Final = 8


class Many:
    """An installation with many nodes, and the program that answers for them."""

    def __init__(
        self,
        at: Installation,
        cluster: SimulatedCluster,
        many: int,
        *,
        pods_alone: bool,
    ) -> None:
        self._pods_alone = pods_alone
        self.at = at
        self.many = many
        self.network = random.SystemRandom().randint(65, 250)
        self.customer: Customer
        self.lnds: SimulatedLnds
        self._cluster = cluster

    async def create(self, report: Report) -> None:
        """Create everything, and wait until the pods run."""
        began = time.monotonic()
        self._cluster.create_namespace(self.at.namespace)
        self.customer = await simulated_nodes.create(
            self.at, self.many, network=self.network, pods_alone=self._pods_alone
        )
        self._cluster.wait_until_running(self.at.namespace)
        report.note(f"{self.many} nodes run after {time.monotonic() - began:.0f} s")

    def until_heard(self) -> float:
        """Wait until each node is listened to once; return how long that took."""
        began = time.monotonic()
        while (found := self.lnds.streams())["once"] < self.many or found["more"]:
            if time.monotonic() > began + _PATIENCE_S:
                raise TimeoutError(f"{found}\n{self.at.log('worker')}")
            time.sleep(0.1)
        return time.monotonic() - began

    def simulate(self) -> None:
        """Start what answers as their lnds."""
        self.lnds = SimulatedLnds(self.at)
        self.lnds.say("NON_EXISTING", self.new())

    def new(self) -> list[str]:
        """Return the addresses of the nodes without a wallet."""
        slots = filter(simulated_nodes.is_new, range(1, self.many + 1))
        return [simulated_nodes.host(self.network, slot) for slot in slots]


def idle(
    report: Report,
    workers: Sequence[Replica],
    apis: Mapping[str, Replica],
    others: Mapping[str, psutil.Process],
    seconds: float,
) -> None:
    """Compare the usage of idle workers with the goals."""
    time.sleep(_SETTLED_S)
    began, before = time.monotonic(), [each.cpu_s() for each in workers]
    body = {name: each.cpu_s() for name, each in apis.items()}
    theirs = {name: sum(each.cpu_times()[:2]) for name, each in others.items()}
    time.sleep(seconds)
    minutes = (time.monotonic() - began) / 60
    for number, (worker, used) in enumerate(zip(workers, before, strict=True), start=1):
        cpu_s = (worker.cpu_s() - used) / minutes
        text = f"worker {number}: {cpu_s:.2f} processor-seconds a minute <= 1"
        report.holds(text, met=cpu_s <= GOAL_CPU_S)
        memory = worker.memory_mib()
        text = f"worker {number}: {memory:.0f} MiB <= {GOAL_MIB:.0f}"
        report.holds(text, met=memory <= GOAL_MIB)
    for name, api_ in apis.items():
        cpu_s = (api_.cpu_s() - body[name]) / minutes
        memory = api_.memory_mib()
        report.note(f"{name}: {cpu_s:.2f} processor-seconds a minute, {memory:.0f} MiB")
    for name, process in others.items():
        cpu_s = (sum(process.cpu_times()[:2]) - theirs[name]) / minutes
        memory = process.memory_info().rss / (1 << 20)
        report.note(f"{name}: {cpu_s:.1f} processor-seconds a minute, {memory:.0f} MiB")


def taken_over(report: Report, here: Many, workers: list[Replica]) -> None:
    """Kill the worker that watches; measure how long nobody watches the nodes."""
    stored, killed = here.at.nodes(), workers.pop(0)
    began = time.monotonic()
    killed.send(signal.SIGKILL)
    killed.process.wait()
    while here.lnds.streams()["once"] == here.many:  # the kernel closes what it had
        time.sleep(0.01)
    lost = here.many - here.lnds.streams()["once"]
    here.until_heard()
    took_s = time.monotonic() - began
    text = f"the nodes of a worker that was killed ({lost}): {took_s:.1f} s <= 30"
    report.holds(text, met=took_s <= GOAL_TAKEN_OVER_S)
    found = here.lnds.streams()
    text = f"listened to once: {found['once']} of {here.many}; more: {found['more']}"
    report.holds(text, met=found["once"] == here.many and not found["more"])
    report.holds("nothing stored of a node has changed", met=here.at.nodes() == stored)
    answer = here.new()[:_TOLD]
    began = time.monotonic()
    here.lnds.say("LOCKED", answer)
    while (number := _locked(here.at)) < len(answer):
        if time.monotonic() > began + _PATIENCE_S:
            break
        time.sleep(0.05)
    took_s = time.monotonic() - began
    text = (
        f"{number} of {len(answer)} that say something new are stored: {took_s:.2f} s"
    )
    report.holds(text, met=number == len(answer))


def _locked(at: Installation) -> int:
    return sum(status == NodeStatus.WAITING_UNLOCK for _, status, _, _ in at.nodes())


async def lateness(at: Installation, customer: Customer) -> float:
    """Send requests at a fixed rate; return the p99 latency in ms."""
    late: list[float] = []
    callers = [Caller("127.0.0.1", at.settings.api_port) for _ in range(_CALLERS)]
    began, number = time.monotonic(), 0

    async def ask(caller: Caller) -> None:
        nonlocal number
        while (due := began + number / _A_SECOND) < began + _ASKED_S:
            number += 1
            which = customer.nodes[number % len(customer.nodes)]
            path = customer.path if number % 2 else f"{customer.path}/{which}"
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            status, answer = await caller.call("GET", path, key=customer.key)
            assert status == 200, answer
            late.append(time.monotonic() - due)

    await asyncio.gather(*(ask(caller) for caller in callers))
    for caller in callers:
        caller.close()
    return quantile(late, 0.99) * 1_000


async def api(
    report: Report,
    here: Many,
    few: tuple[Installation, Customer],
    workers: Sequence[Replica],
    rounds: int,
) -> None:
    """Compare the API's latency with that of an installation of ten nodes."""
    figures = Figures()
    for who in turns(("without", "with", "without again"), rounds=rounds):
        if who == "with":
            figures.add(who, await lateness(here.at, here.customer))
            continue
        for each in workers:
            each.send(signal.SIGSTOP)
        figures.add(who, await lateness(*few))
        for each in workers:
            each.send(signal.SIGCONT)
        await asyncio.sleep(_REST_S)
    shown = ", ".join(f"{name} {figures.median(name):.1f}" for name in figures.names)
    report.note(f"p99 of the API in ms, medians: {shown}")
    report.null(figures.ratio("without again", "without"))
    report.at_most(GOAL_P99, figures.ratio("with", "without"))


async def answers(at: Installation, customer: Customer) -> None:
    """Wait until an API answers."""
    caller = Caller("127.0.0.1", at.settings.api_port)
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        try:
            status, _ = await caller.call("GET", customer.path, key=customer.key)
        except OSError:
            caller.close()
        else:
            assert status == 200
            caller.close()
            return
        await asyncio.sleep(0.1)
    raise TimeoutError(at.log("serve"))


async def measure(
    many: int, seconds: float, rounds: int, *, pods_alone: bool = False
) -> int:
    """Measure it all; 1 if a goal is missed."""
    # Nothing else runs it, so that nobody else has built it.
    kwok = [(binaries.KWOK, each) for each in binaries.KWOK.programs]
    await build(kwok, cache=default_cache(os.environ))
    report = Report(f"{many} simulated nodes, two workers")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(postgres())
        cluster = stack.enter_context(simulated_cluster(folder))

        def installation(name: str) -> Installation:
            made = Installation(
                folder, name, postgres_url=url, kubeconfig=cluster.kubeconfig
            )
            stack.callback(made.leave)
            return made

        alone = pods_alone
        here = Many(installation("many"), cluster, many, pods_alone=alone)
        base = Many(installation("few"), cluster, _FEW, pods_alone=alone)
        for each in (base, here):
            await each.create(report)
        here.simulate()
        stack.callback(here.lnds.leave)
        apis = {}
        for each in (base, here):
            apis[f"API of {each.many} nodes, unasked"] = each.at.start("serve")
            await answers(each.at, each.customer)
        workers = [here.at.start("worker")]
        here.until_heard()
        workers.append(here.at.start("worker"))
        report.note(f"at a load of {os.getloadavg()[0]:.0f}")
        others = cluster.processes()
        await asyncio.to_thread(idle, report, workers, apis, others, seconds)
        stored = ", ".join(f"{n} {what}" for what, n in cluster.objects().items())
        report.note(f"stored: {stored}; {cluster.stored_bytes() >> 20} MiB in etcd")
        await asyncio.to_thread(taken_over, report, here, workers)
        if rounds:
            few = (base.at, base.customer)
            await api(report, here, few, workers, rounds)
    return report.end()
