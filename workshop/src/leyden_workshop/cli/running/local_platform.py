"""The platform of this machine with its private chain: its end, status and logs."""

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from leyden.app.cli.running import local_platform as service
from leyden.app.cli.running.local_platform import say, settings_of, word
from leyden.base import processes
from leyden.base.cli.output import print_one
from leyden.base.daemons.build import default_cache
from leyden.base.processes.daemons import claim, output
from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.nodes.wiring.home import holder
from leyden_workshop.devnet import access, cluster, first_run, network, overview


def down(home: Path | None, *, nodes: bool) -> None:
    """Stop the platform; nodes keep running unless you pass --nodes."""
    given = settings_of(home)
    service.stop_platform(given)
    asyncio.run(_stop_rest(given, nodes=nodes))


async def _stop_rest(given: Settings, *, nodes: bool) -> None:
    in_pods = cluster.is_running(given.home_path)
    if in_pods and not nodes:
        say(
            "nodes, their cluster and chain, and the gateway go on; "
            "`leyden down --nodes` stops them too"
        )
        return
    if not await service.stop_rest(given, nodes=nodes):
        return
    if in_pods:
        await cluster.stop(given.home_path, cache=default_cache(os.environ), say=say)
    if await network.stop(given.home_path):
        say("private chain stopped")


def status(home: Path | None, *, as_json: bool) -> None:
    """Print what is running; exit 1 if the platform is not up."""
    given = settings_of(home)
    account = first_run.read(given.home_path)
    login = account.get("dashboard_login", {}).get("email")
    file = given.home_path / first_run.FILE
    found = {
        **service.platform_status(given),
        "sign_in_as": login and f"{login}; its password is in {file}",
        "organization_id": account.get("organization_id"),
        **service.rest_status(given),
    }
    with suppress(SetupError):
        chain = access.load(given.home_path)
        if chain.cluster is not None:
            del found["nodes_running"]  # `leyden dev cluster status` lists its pods
        found |= _chain_status(given, chain)
    print_one(found, as_json=as_json)
    sys.exit(0 if found["api"] == "ready" else 1)


def _chain_status(given: Settings, chain: access.ChainAccess) -> dict[str, Any]:
    """Return which daemons run, and the market's line."""
    found: dict[str, Any] = {}
    is_up = holder(given) is not None
    if chain.cluster is not None:
        is_up = cluster.is_running(given.home_path)
        found["cluster"] = "running" if is_up else "not running"
    for name in chain.daemons:
        folder = access.folder(given.home_path) / name
        found[name] = word(processes.holder(claim(folder)))
    if is_up or chain.auctioneer is None:
        found["market"] = asyncio.run(overview.line(given.home_path))
    else:
        found["market"] = "not open: the platform is not running"
    return found


def logs(
    home: Path | None, lines: int, names: tuple[str, ...], *, follow: bool
) -> None:
    """Print the last lines of the platform's log, or of the daemons NAMES."""
    given = settings_of(home)
    files = service.log_files(given)
    with suppress(SetupError):
        for name in access.load(given.home_path).daemons:
            path = output(access.folder(given.home_path) / name)
            if path.exists():
                files[name] = path
    service.print_logs(files, lines, names, follow=follow)
