"""The platform of this machine, once it is up: its status, its logs, its end."""

import asyncio
import json
import os
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from leyden.base import processes, settings
from leyden.base.cli.output import print_one
from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.nodes.runtimes.local import nftables
from leyden.nodes.runtimes.local.cgroups import Cgroups
from leyden.nodes.wiring.home import holder

_STOPS_WITHIN_S = 60.0
_NODE_GRACE_S = 60.0
_GATEWAY_GRACE_S = 5.0
_LOOK_EVERY_S = 0.1


def down(home: Path | None, *, nodes: bool) -> None:
    """Stop the platform; nodes keep running unless you pass --nodes."""
    given = settings_of(home)
    stop_platform(given)
    asyncio.run(stop_rest(given, nodes=nodes))


def status(home: Path | None, *, as_json: bool) -> None:
    """Print what is running; exit 1 if the platform is not up."""
    given = settings_of(home)
    found = {**platform_status(given), **rest_status(given)}
    print_one(found, as_json=as_json)
    sys.exit(0 if found["api"] == "ready" else 1)


def logs(
    home: Path | None, lines: int, names: tuple[str, ...], *, follow: bool
) -> None:
    """Print the last lines of the platform's log, or of the daemons NAMES."""
    print_logs(log_files(settings_of(home)), lines, names, follow=follow)


def settings_of(home: Path | None) -> Settings:
    """Return the settings of this home, or of the one that they name."""
    environment = dict(os.environ)
    if home is not None:
        environment["LEYDEN_HOME"] = str(home)
    return settings.load(environment)


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


def stop_platform(given: Settings) -> None:
    """Stop the process that holds the home, and wait until it has ended."""
    pid = holder(given)
    if pid is None:
        say("the platform is not running")
        return
    identity = processes.identify(pid)
    if identity is not None:
        processes.signal(identity, 15)
    _wait_until_stopped(given)
    say("stopped")


async def stop_rest(given: Settings, *, nodes: bool) -> bool:
    """Stop the gateway, and nodes if `nodes`; return False if nodes keep it running."""
    running = list(_nodes(given))
    if running and not nodes:
        say(
            f"{len(running)} nodes and what they need keep running; `leyden down "
            "--nodes` stops them too"
        )
        return False
    await asyncio.gather(
        *(processes.stop(each, grace_s=_NODE_GRACE_S) for each in running)
    )
    if running:
        say(f"{len(running)} nodes stopped")
    if gateway := processes.holder(given.home_path / "gateway" / "claim"):
        await processes.stop(gateway, grace_s=_GATEWAY_GRACE_S)
        say("gateway stopped")
    if nftables.remove(given.home_path):
        say("egress policy removed")
    Cgroups(given.home_path).remove()
    return True


def platform_status(given: Settings) -> dict[str, Any]:
    """Return the process that holds the home, and where it answers."""
    process = holder(given)
    root = given.home_path / "authority" / "root.pem" if given.api_tls else None
    return {
        "home": str(given.home_path),
        "process": process,
        # Another home's platform may answer on our port.
        "api": "not running" if process is None else health(given.api_url, root),
        "base_url": given.api_url,
        "dashboard": given.dashboard_url,
    }


def rest_status(given: Settings) -> dict[str, Any]:
    """Return what runs beside that process."""
    gateway = processes.holder(given.home_path / "gateway" / "claim")
    return {"gateway": word(gateway), "nodes_running": len(list(_nodes(given)))}


def log_files(given: Settings) -> dict[str, Path]:
    """Return the log files of the platform and its gateway, by name."""
    home = given.home_path
    found = {path.stem: path for path in sorted((home / "logs").glob("*.log"))}
    envoy = home / "gateway" / "envoy.log"
    return {**found, "gateway": envoy} if envoy.exists() else found


def print_logs(
    files: Mapping[str, Path], lines: int, names: tuple[str, ...], *, follow: bool
) -> None:
    """Print the last lines of these files, and go on if `follow`."""
    wanted = names or ("leyden",)
    for name in wanted:
        if name not in files:
            known = (
                f"choose from {', '.join(sorted(files))}"
                if files
                else "`leyden up` writes logs here, `leyden serve` to standard error"
            )
            raise SetupError(f"no log of {name}: {known}")
    if follow:
        paths = [str(files[name]) for name in wanted]
        os.execvp("tail", ["tail", "-n", str(lines), "-F", *paths])  # noqa: S606, S607
    for name in wanted:
        with files[name].open(errors="replace") as file:
            print("".join(deque(file, lines)), end="")


def word(found: processes.ProcessIdentity | None) -> str:
    """Return whether a program runs, in words."""
    return "not running" if found is None else f"running as {found.pid}"


def _wait_until_stopped(given: Settings) -> None:
    deadline = time.monotonic() + _STOPS_WITHIN_S
    while holder(given) is not None:
        if time.monotonic() > deadline:
            raise SetupError(
                f"the platform did not stop within {_STOPS_WITHIN_S:.0f} s; "
                "see `leyden logs`"
            )
        time.sleep(_LOOK_EVERY_S)


def health(base_url: str, root: Path | None = None) -> str:
    """Return the health status from the address, bypassing any proxy."""
    tls = ssl.create_default_context()
    if root is not None:
        tls.load_verify_locations(root)
    # A proxy that the environment names does not know our loopback address.
    direct = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=tls)
    )
    try:
        with direct.open(f"{base_url}/health/ready", timeout=2) as answer:
            return str(json.load(answer)["status"])
    except urllib.error.HTTPError as error:
        with error:  # which holds the connection open
            return f"not ready ({error.code})"
    except (OSError, ValueError):
        return "not running"


def _nodes(given: Settings) -> Iterator[processes.ProcessIdentity]:
    for path in sorted((given.home_path / "nodes").glob("*/claim")):
        if (found := processes.holder(path)) is not None:
            yield found
