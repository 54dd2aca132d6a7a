"""Create a cluster, and stop it.

1. Check the requirements, naming each that is missing; download and build the parts.
2. Choose addresses; write certificates and configurations.
3. Start the control plane, then each machine. Each has a first process; when it ends,
   all processes in its namespaces end.
4. Once the API responds, create storage classes, and wait for the machines.

Every step can be repeated: after being killed, `up` does the remaining steps.
"""

import asyncio
import contextlib
import datetime as dt
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from leyden.base.daemons.locks import locked
from leyden.base.daemons.progress import Progress
from leyden.base.processes import Identity
from leyden.errors import SetupError
from leyden_workshop.devcluster import (
    cgroups,
    configurations,
    control_plane,
    credentials,
    decisions,
    images,
    machine,
    namespaces,
    network,
    parts,
    readiness,
    requirements,
)
from leyden_workshop.devcluster.addresses import MOST_MACHINES, routed
from leyden_workshop.devcluster.api import opened
from leyden_workshop.devcluster.credentials import Credentials
from leyden_workshop.devcluster.packages import Packages
from leyden_workshop.devcluster.parts import Parts
from leyden_workshop.devcluster.places import Cluster, Places, machine_name

Say = Callable[[str], None]

_PLAN: Final = "plan.json"


async def up(
    places: Places,
    *,
    machines: int | None,
    pods: bool,
    cache: Path,
    progress: Progress,
    say: Say,
) -> Parts:
    """Create a cluster, or the missing parts of one; return its parts once it is ready.

    By default, `machines` is the same as before, and first one.
    """
    if pods:
        requirements.check()
    places.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    async with _alone(places, say):
        decisions.refuse_change(places, machines, pods=pods)
        made_of = await parts.ensure(cache, pods=pods, progress=progress)
        began = time.monotonic()
        if pods:
            wanted = await _start_with_pods(places, machines, made_of)
        else:
            wanted = decisions.without_pods(places)
            await _start_control_plane(places, wanted, made_of)
        own = Credentials(places.authority)
        async with opened(
            credentials.server(wanted), own.authority.certificate, own.pair("admin")
        ) as api:
            await readiness.settle(api, places.control_plane)
            say(f"the API responds ({time.monotonic() - began:.1f} s)")
            for number in range(1, wanted.machines + 1):
                folder = places.machine(number)
                await readiness.register(api, folder.name)
                await readiness.join(
                    api,
                    places.control_plane,
                    folder,
                    since=_started(folder),
                    heard_since=_started(places.control_plane),
                )
                say(f"{folder.name} is ready ({time.monotonic() - began:.1f} s)")
    return made_of


async def down(places: Places, packaged: Packages, say: Say) -> None:
    """Stop everything; the folder's files stay for the next `up`."""
    if not places.folder.is_dir():
        say("there is no cluster")
        return
    async with _alone(places, say):
        await network.unlink_host(
            places.link_address, environment=packaged.environment()
        )
        folders = [places.machine(number) for number in range(1, MOST_MACHINES + 1)]
        folders.append(places.control_plane)
        ended = await asyncio.gather(*(namespaces.end(each) for each in folders))
        await cgroups.remove(places.name)
    say("stopped" if any(ended) else "the cluster is not running")


async def load(places: Places, archive: Path, packaged: Packages) -> Sequence[str]:
    """Import an image into each running machine; return their names."""
    content = await asyncio.to_thread(archive.read_bytes)
    repository = images.by_digest(archive).partition("@")[0]
    found = []
    for number in range(1, MOST_MACHINES + 1):
        running = namespaces.running(places.machine(number))
        if running is not None:
            await machine.load(running.pid, content, packaged, repository=repository)
            found.append(machine_name(number))
    if not found:
        raise SetupError("no machine is running; `leyden dev cluster up` starts one")
    return found


def _started(folder: Path) -> dt.datetime:
    """Return when a folder's process was started: its plan is written just before."""
    written = (folder / _PLAN).stat().st_mtime
    return dt.datetime.fromtimestamp(written, dt.UTC)


def _alone(places: Places, say: Say) -> "contextlib.AbstractAsyncContextManager[int]":
    return locked(
        places.lock,
        waiting=lambda: say("waiting for another command that changes this cluster"),
    )


async def _start_with_pods(
    places: Places, machines: int | None, made_of: Parts
) -> Cluster:
    environment = made_of.packages.environment()
    await requirements.check_kernel(environment)
    kept_as = await requirements.snapshotter(places.folder, environment)
    async with network.choosing():
        if namespaces.running(places.control_plane) is None:  # it was killed
            await network.unlink_host(places.link_address, environment=environment)
        wanted = decisions.with_pods(places, machines, taken=routed())
        block = configurations.block_of(wanted)
        first = await _start_control_plane(places, wanted, made_of)
        await network.link_host(
            first.pid, block, places.link_address, environment=environment
        )
    for number in range(1, wanted.machines + 1):
        await _start_machine(places, wanted, number, first, made_of, kept_as)
    return wanted


async def _start_control_plane(
    places: Places, wanted: Cluster, made_of: Parts
) -> Identity:
    places.write(wanted)
    folder = places.control_plane
    (folder / "root").mkdir(mode=0o700, parents=True, exist_ok=True)
    own = credentials.ensure(places, wanted, now=dt.datetime.now(dt.UTC))
    if namespaces.running(folder) is None:
        control_plane.plan(places, wanted, own, made_of).write(folder / _PLAN)
    apart = wanted.block is not None
    return await namespaces.start(folder, folder / _PLAN, apart=apart)


async def _start_machine(
    places: Places,
    wanted: Cluster,
    number: int,
    first: Identity,
    made_of: Parts,
    kept_as: str,
) -> None:
    group = cgroups.prepare(places.name, machine_name(number))
    folder = places.machine(number)
    if namespaces.running(folder) is None:
        configurations.write(
            places,
            wanted,
            number,
            packages=made_of.packages,
            snapshotter=kept_as,
            group=group,
        )
        machine.plan(places, wanted, number, made_of).write(folder / _PLAN)
    found = await namespaces.start(folder, folder / _PLAN, apart=True)
    await network.link_machine(
        first.pid,
        found.pid,
        number,
        configurations.block_of(wanted),
        environment=made_of.packages.environment(),
    )
