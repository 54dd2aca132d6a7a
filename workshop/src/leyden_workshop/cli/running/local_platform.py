"""Processes left running on this machine: status, logs and stopping."""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from leyden import processes
from leyden.daemons import build
from leyden.devnet import access, cluster, network, overview
from leyden.devnet.daemon import claim, output
from leyden.errors import SetupError
from leyden.runtimes import nftables
from leyden.runtimes.cgroups import Cgroups
from leyden.settings import Settings

Say = Callable[[str], None]

_NODE_GRACE_S = 60.0
_GATEWAY_GRACE_S = 5.0


async def stop(given: Settings, *, nodes: bool, say: Say) -> None:
    """Stop remaining processes; nodes and their dependencies if `nodes`."""
    running = list(_nodes(given))
    in_pods = cluster.is_running(given.home_path)
    if in_pods and not nodes:
        say(
            "nodes, their cluster and chain, and the gateway go on; "
            "`leyden down --nodes` stops them too"
        )
        return
    if running and not nodes:
        say(
            f"{len(running)} nodes, their chain and the gateway keep running; `leyden "
            "down --nodes` stops them too"
        )
        return
    await asyncio.gather(
        *(processes.stop(each, grace_s=_NODE_GRACE_S) for each in running)
    )
    if running:
        say(f"{len(running)} nodes stopped")
    if in_pods:
        await cluster.stop(
            given.home_path, cache=build.default_cache(os.environ), say=say
        )
    if gateway := processes.holder(given.home_path / "gateway" / "claim"):
        await processes.stop(gateway, grace_s=_GATEWAY_GRACE_S)
        say("gateway stopped")
    if nftables.remove(given.home_path):
        say("egress policy removed")
    Cgroups(given.home_path).remove()
    if await network.stop(given.home_path):
        say("private chain stopped")


def status(given: Settings, *, is_up: bool) -> dict[str, Any]:
    """Return which daemons are running, the number of nodes, and the market's line."""
    found: dict[str, Any] = {
        "gateway": _word(processes.holder(given.home_path / "gateway" / "claim")),
        "nodes_running": len(list(_nodes(given))),
    }
    with suppress(SetupError):
        chain = access.load(given.home_path)
        if chain.cluster is not None:
            is_up = cluster.is_running(given.home_path)
            found["cluster"] = "running" if is_up else "not running"
            del found["nodes_running"]  # `leyden dev cluster status` lists its pods
        for name in chain.daemons:
            folder = access.folder(given.home_path) / name
            found[name] = _word(processes.holder(claim(folder)))
        if is_up or chain.auctioneer is None:
            found["market"] = asyncio.run(overview.line(given.home_path))
        else:
            found["market"] = "not open: the platform is not running"
    return found


def log_files(given: Settings) -> dict[str, Path]:
    """Return the log files of gateway and daemons, by name."""
    home = given.home_path
    found = {"gateway": home / "gateway" / "envoy.log"}
    with suppress(SetupError):
        for name in access.load(home).daemons:
            found[name] = output(access.folder(home) / name)
    return {name: path for name, path in found.items() if path.exists()}


def _nodes(given: Settings) -> Iterator[processes.Identity]:
    for path in sorted((given.home_path / "nodes").glob("*/claim")):
        if (found := processes.holder(path)) is not None:
            yield found


def _word(found: processes.Identity | None) -> str:
    return "not running" if found is None else f"running as {found.pid}"
