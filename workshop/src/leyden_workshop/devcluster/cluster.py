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
from leyden.base.processes import ProcessIdentity
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
from leyden_workshop.devcluster.addresses import MAX_MACHINES, routed
from leyden_workshop.devcluster.api import opened
from leyden_workshop.devcluster.credentials import Credentials
from leyden_workshop.devcluster.layout import Cluster, ClusterLayout, machine_name
from leyden_workshop.devcluster.packages import Packages
from leyden_workshop.devcluster.parts import Parts

Say = Callable[[str], None]

_PLAN: Final = "plan.json"


async def up(
    layout: ClusterLayout,
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
    layout.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    async with _alone(layout, say):
        decisions.refuse_change(layout, machines, pods=pods)
        made_of = await parts.ensure(cache, pods=pods, progress=progress)
        began = time.monotonic()
        if pods:
            wanted = await _start_with_pods(layout, machines, made_of)
        else:
            wanted = decisions.without_pods(layout)
            await _start_control_plane(layout, wanted, made_of)
        own = Credentials(layout.authority)
        async with opened(
            credentials.server(wanted), own.authority.certificate, own.pair("admin")
        ) as api:
            await readiness.settle(api, layout.control_plane)
            say(f"the API responds ({time.monotonic() - began:.1f} s)")
            for number in range(1, wanted.machines + 1):
                folder = layout.machine(number)
                await readiness.register(api, folder.name)
                await readiness.join(
                    api,
                    layout.control_plane,
                    folder,
                    since=_started(folder),
                    heard_since=_started(layout.control_plane),
                )
                say(f"{folder.name} is ready ({time.monotonic() - began:.1f} s)")
    return made_of


async def down(layout: ClusterLayout, packaged: Packages, say: Say) -> None:
    """Stop everything; the folder's files stay for the next `up`."""
    if not layout.folder.is_dir():
        say("there is no cluster")
        return
    async with _alone(layout, say):
        await network.unlink_host(
            layout.link_address, environment=packaged.environment()
        )
        folders = [layout.machine(number) for number in range(1, MAX_MACHINES + 1)]
        folders.append(layout.control_plane)
        ended = await asyncio.gather(*(namespaces.end(each) for each in folders))
        await cgroups.remove(layout.name)
    say("stopped" if any(ended) else "the cluster is not running")


async def load(
    layout: ClusterLayout, archive: Path, packaged: Packages
) -> Sequence[str]:
    """Import an image into each running machine; return their names."""
    content = await asyncio.to_thread(archive.read_bytes)
    repository = images.by_digest(archive).partition("@")[0]
    found = []
    for number in range(1, MAX_MACHINES + 1):
        running = namespaces.running(layout.machine(number))
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


def _alone(
    layout: ClusterLayout, say: Say
) -> "contextlib.AbstractAsyncContextManager[int]":
    return locked(
        layout.lock,
        waiting=lambda: say("waiting for another command that changes this cluster"),
    )


async def _start_with_pods(
    layout: ClusterLayout, machines: int | None, made_of: Parts
) -> Cluster:
    environment = made_of.packages.environment()
    await requirements.check_kernel(environment)
    kept_as = await requirements.snapshotter(layout.folder, environment)
    async with network.choosing():
        if namespaces.running(layout.control_plane) is None:  # it was killed
            await network.unlink_host(layout.link_address, environment=environment)
        wanted = decisions.with_pods(layout, machines, taken=routed())
        block = configurations.block_of(wanted)
        first = await _start_control_plane(layout, wanted, made_of)
        await network.link_host(
            first.pid, block, layout.link_address, environment=environment
        )
    for number in range(1, wanted.machines + 1):
        await _start_machine(layout, wanted, number, first, made_of, kept_as)
    return wanted


async def _start_control_plane(
    layout: ClusterLayout, wanted: Cluster, made_of: Parts
) -> ProcessIdentity:
    layout.write(wanted)
    folder = layout.control_plane
    (folder / "root").mkdir(mode=0o700, parents=True, exist_ok=True)
    own = credentials.ensure(layout, wanted, now=dt.datetime.now(dt.UTC))
    if namespaces.running(folder) is None:
        control_plane.plan(layout, wanted, own, made_of).write(folder / _PLAN)
    apart = wanted.block is not None
    return await namespaces.start(folder, folder / _PLAN, apart=apart)


async def _start_machine(
    layout: ClusterLayout,
    wanted: Cluster,
    number: int,
    first: ProcessIdentity,
    made_of: Parts,
    kept_as: str,
) -> None:
    group = cgroups.prepare(layout.name, machine_name(number))
    folder = layout.machine(number)
    if namespaces.running(folder) is None:
        configurations.write(
            layout,
            wanted,
            number,
            packages=made_of.packages,
            snapshotter=kept_as,
            group=group,
        )
        machine.plan(layout, wanted, number, made_of).write(folder / _PLAN)
    found = await namespaces.start(folder, folder / _PLAN, apart=True)
    await network.link_machine(
        first.pid,
        found.pid,
        number,
        configurations.block_of(wanted),
        environment=made_of.packages.environment(),
    )
