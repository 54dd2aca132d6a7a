"""B16: the effect of one customer's attacks on the others.

The platform is `leyden up` on a private chain, with a treasury and real lnds. A victim
has a node, a webhook and an API key, and asks for little: 8 calls of the API, 10 of its
node's `/v1/state` through the gateway and 2 webhooks a second. Beside it another
customer does each of the attacks of bench/attacks.py, by eight callers, in a process of
its own. Each round has a turn of each attack, between two quiet ones, and the next
round has them backwards, so a drift of the machine hits all.

The attacker stands for machines elsewhere, but runs on this one: it has the lowest
priority, in a session of its own, and what it takes of the processors is no harm that
the platform lets it do. So a third kind of turn is *burned*: a process of the same
priority takes the same share of a processor as the attacker did, in pieces as small,
and touches nothing of the platform. Each goal is held against that, and the ratio to a
quiet turn is printed beside it; the null is quiet against quiet. What is used meanwhile
is told by program: the attacker's lnds, Envoy and the platform are in the ratio.
Connections are flooded from addresses of their own. The victim and the receivers of its
webhooks stand for machines elsewhere, too: they do not wait for others' time slices.

What is late counts from when it should have begun. A webhook counts from the commit
that announced it to its receipt.

    ./leyden bench hostile [keys|ciphertext|...|everything ...]
        [--seconds 60] [--rounds 3] [--nodes 25]

As root, names below `slow.test` are asked of a name server that never answers.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import uvloop
from bench.attacks import ATTACKS, EVERYTHING, NEIGHBOUR, Customer
from bench.hostile_home import Home, open_folder, silent
from bench.measure import Figures, Report, turns
from bench.processors import Processors
from bench.receivers import Receivers, receivers
from bench.town import PATIENCE_S, SETTINGS
from bench.victim import GOALS, Victim

from leyden.base import logs, processes
from leyden.base.opening import opened
from leyden.client import Client, wallets

QUIET, ATTACKED, BURNED, AGAIN = "quiet", "attacked", "burned", "quiet again"
_KEYS = 5
_PASSWORD = "not the one that is tried"  # noqa: S105  of a wallet with nothing in it


def prepared(home: Home, nodes: int, receivers: Receivers) -> tuple[Customer, Any]:
    """Create two customers with their nodes; return attacker and victim."""
    worst, keys = home.organization("Worst", _KEYS)
    calm, theirs = home.organization("Calm", 2)
    with home.client(theirs[0]) as client:
        hers = _node(client, "calm", receivers.url("prompt", 0))
    with home.client(keys[0]) as client:
        own = _node(client, "own", receivers.url("prompt", 1), NEIGHBOUR)
        restored = _node(client, "restored", "")
        about = client.nodes.get(own)
        locked = _node(client, "locked", "")
        with client.lnd(locked) as lnd:
            wallets.init(lnd, _PASSWORD, wallets.new_seed(lnd))
        client.nodes.wait(locked, ("running",))
        client.nodes.restart(locked)
        client.nodes.wait(locked, ("waiting_unlock",))
        endpoint = client.nodes.get(locked).api_endpoint
    customer = Customer(
        api_port=home.ports["api_port"],
        gateway_port=home.ports["gateway_rest_port"],
        organization_id=worst,
        keys=keys,
        node_id=own,
        endpoint=about.api_endpoint,
        peer_port=int(about.peer_address.rpartition(":")[2]),
        locked=endpoint,
        restored=restored,
        authority=str(home.root),
        slow_names=home.unanswered,
        most_nodes=nodes - 3,
    )
    with home.client(theirs[0]) as client:
        name = client.nodes.get(hers).api_endpoint
    victim = {
        "organization_id": calm,
        "keys": theirs,
        "node_id": hers,
        "endpoint": name,
    }
    return customer, victim


def _node(client: Client, name: str, webhook: str, *allowed: str) -> str:
    whitelist = ["127.0.0.1", *allowed]
    settings = {**SETTINGS, "webhook": webhook, "whitelist": whitelist}
    made = client.nodes.create(name, settings=settings)
    client.nodes.wait(made.node_id, ("waiting_init",))
    return made.node_id


async def turn(victim: Victim, customer: Customer, attack: str, seconds: float) -> Any:
    """Run the victim beside an attack; return its p99s, and the attack's responses."""
    answer = {**asdict(customer)}
    del answer["answers"]  # of which it counts its own
    async with beside(f"bench.attacks {attack} {seconds + 2}", answer) as attacking:
        figures = await victim.live(seconds)
        return figures, json.loads((await attacking)[0])


async def burned(victim: Victim, share: float, seconds: float) -> dict[str, float]:
    """Run the victim beside a process that uses that share of a processor."""
    async with beside(f"bench.burner {share} {seconds + 2}") as burning:
        figures = await victim.live(seconds)
        await burning
    return figures


@asynccontextmanager
async def beside(
    words: str, given: object = None
) -> AsyncIterator["asyncio.Task[tuple[bytes, bytes]]"]:
    """Run a module of the benchmarks beside the block."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", *words.split()),
        cwd=Path(__file__).parents[1],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,  # whose niceness counts, where sessions are scheduled
    )
    running = asyncio.create_task(process.communicate(json.dumps(given).encode()))
    await asyncio.sleep(1)  # until it has begun
    yield running


async def tidied(customer: Customer, victim: Victim) -> None:
    """Remove what an attack has left, so that the next turn is quiet."""

    def tidy() -> None:
        with victim.home.client(customer.keys[0]) as client:
            for node in client.nodes.list_():
                if node.node_name.startswith("storm "):
                    client.nodes.delete(node.node_id)
            until = time.monotonic() + PATIENCE_S
            while any(n.node_name.startswith("storm ") for n in client.nodes.list_()):
                assert time.monotonic() < until
                time.sleep(0.5)
            deleted = {node.node_id for node in client.nodes.deleted()}
            if customer.restored in deleted:
                client.nodes.restore(customer.restored)
            own = victim.receiver.url("prompt", 1)
            client.nodes.change_settings(customer.node_id, webhook=own)

    await asyncio.to_thread(tidy)
    await asyncio.sleep(5)  # lnds that were ended and begun are done by then


async def measured(
    victim: Victim,
    customer: Customer,
    attacks: Sequence[str],
    seconds: float,
    rounds: int,
) -> int:
    """Compare the attacks' turns with the two quiet turns of their round."""
    print(f"B16 hostile: {', '.join(attacks)}", flush=True)
    figures = Figures()
    done = {attack: Done() for attack in attacks}
    before = _running(victim)
    beside_it = [f"{kind} {each}" for each in attacks for kind in (ATTACKED, BURNED)]
    for name in turns([QUIET, *beside_it, AGAIN], rounds=rounds):
        busy = Processors()
        kind, _, attack = name.partition(" ")
        if kind == ATTACKED:
            late, answer = await turn(victim, customer, attack, seconds)
            done[attack].add(answer)
        elif kind == BURNED:
            late = await burned(victim, done[attack].share, seconds)
        else:
            late = await victim.live(seconds)
        print(f"  {name}: {busy}", flush=True)
        for what, p99 in late.items():
            figures.add(f"{what} {name}", p99)
        if kind == ATTACKED:
            done[attack].refused += victim.refused
            done[attack].ended |= _running(victim) != before
            await tidied(customer, victim)
        victim.refused.clear()
    return max(compared(attack, done[attack], figures) for attack in attacks)


@dataclass
class Done:
    """What the turns of an attack did, all together."""

    answers: dict[str, int] = field(default_factory=dict)
    used_s: float = 0  # of a processor
    share: float = 0  # of a processor, in the last turn
    refused: list[str] = field(default_factory=list)
    ended: bool = False

    def add(self, answer: dict[str, Any]) -> None:
        """Add what the attacker of a turn counted."""
        self.share = answer["cpu_s"] / answer["seconds"]
        self.used_s += answer["cpu_s"]
        for status, number in answer["answers"].items():
            self.answers[status] = self.answers.get(status, 0) + number


def compared(attack: str, done: Done, figures: Figures) -> int:
    """Report one attack; return 1 if a goal is missed."""
    report = Report(f"B16 hostile: {attack}")
    report.note(f"the attacker was answered {done.answers}")
    report.note(f"and used {done.used_s:.0f} s of a processor")
    for what, limit in GOALS.items():
        quiet, attacked = f"{what} {QUIET}", f"{what} {ATTACKED} {attack}"
        burning = f"{what} {BURNED} {attack}"
        report.note(
            f"p99 of {what}: quiet {figures.median(quiet):.1f} ms, beside the same use "
            f"of processors {figures.median(burning):.1f} ms, "
            f"attacked {figures.median(attacked):.1f} ms"
        )
        report.null(figures.ratio(f"{what} {AGAIN}", quiet))
        report.note(str(figures.ratio(attacked, quiet, what=f"{what} to quiet")))
        report.at_most(limit, figures.ratio(attacked, burning, what=f"p99 of {what}"))
    report.holds("no node of others ended", met=not done.ended)
    refused = len(done.refused)
    report.holds(
        f"{refused} calls of the victim were refused {done.refused[:3]}",
        met=not refused,
    )
    return report.end()


def _running(victim: Victim) -> tuple[int, ...]:
    """Return the victim's lnds by their process ids."""
    claim = victim.home.home / "nodes" / victim.node_id / "claim"
    holder = processes.holder(claim)
    return (holder.pid,) if holder is not None else ()


@asynccontextmanager
async def standing(nodes: int) -> AsyncIterator[tuple[Victim, Customer]]:
    """Start an installation with both customers."""
    with open_folder() as folder, silent() as slow_names, receivers() as receiver:
        home = Home(folder, slow_names)
        try:
            await asyncio.to_thread(home.run, "up", "--detach")
            customer, about = await asyncio.to_thread(prepared, home, nodes, receiver)
            async with opened(home.settings) as platform:
                yield Victim(home, platform, receiver, **about), customer
        finally:
            await asyncio.to_thread(home.run, "down", "--nodes")


async def main(
    attacks: Sequence[str], *, seconds: float, rounds: int, nodes: int
) -> int:
    """Run the chosen attacks; return 1 if one of them misses a goal."""
    logs.configure(form="text", level="error")
    async with standing(nodes) as (victim, customer):
        await victim.live(min(seconds, 5))  # what is used the first time
        return await measured(victim, customer, attacks, seconds, rounds)


if __name__ == "__main__":
    wanted = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    every = [*ATTACKS, EVERYTHING]
    wanted.add_argument("attacks", nargs="*", metavar="|".join(every))
    wanted.add_argument("--seconds", type=float, default=60)
    wanted.add_argument("--rounds", type=int, default=3)
    wanted.add_argument("--nodes", type=int, default=25)
    given = wanted.parse_args()
    if unknown := set(given.attacks) - set(every):
        wanted.error(f"there is no {', '.join(unknown)}; there are {', '.join(every)}")
    sys.exit(
        uvloop.run(
            main(
                given.attacks or every,
                seconds=given.seconds,
                rounds=given.rounds,
                nodes=given.nodes,
            )
        )
    )
