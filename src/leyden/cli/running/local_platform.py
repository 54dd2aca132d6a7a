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
from pathlib import Path
from typing import Any

from leyden import processes, settings
from leyden.app.home import holder
from leyden.cli.output import print_one
from leyden.devnet import background_processes, first_run
from leyden.devnet.welcome import api_url, dashboard_url
from leyden.errors import SetupError
from leyden.settings import Settings

_STOPS_WITHIN_S = 60.0
_LOOK_EVERY_S = 0.1


def down(home: Path | None, *, nodes: bool) -> None:
    """Stop the platform; nodes keep running unless you pass --nodes."""
    given = settings_of(home)
    pid = holder(given)
    if pid is None:
        say("the platform is not running")
    else:
        identity = processes.identify(pid)
        if identity is not None:
            processes.signal(identity, 15)
        _wait_until_stopped(given)
        say("stopped")
    asyncio.run(background_processes.stop(given, nodes=nodes, say=say))


def status(home: Path | None, *, as_json: bool) -> None:
    """Print what is running; exit 1 if the platform is not up."""
    given = settings_of(home)
    found = _status(given)
    print_one(found, as_json=as_json)
    sys.exit(0 if found["api"] == "ready" else 1)


def logs(
    home: Path | None, lines: int, names: tuple[str, ...], *, follow: bool
) -> None:
    """Print the last lines of the platform's log, or of the daemons NAMES."""
    files = _log_files(settings_of(home))
    wanted = names or ("leyden",)
    for name in wanted:
        if name not in files:
            known = ", ".join(sorted(files)) or "no logs yet; see `leyden up`"
            raise SetupError(f"no log of {name}; logs: {known}")
    if follow:
        paths = [str(files[name]) for name in wanted]
        os.execvp("tail", ["tail", "-n", str(lines), "-F", *paths])  # noqa: S606, S607
    for name in wanted:
        with files[name].open(errors="replace") as file:
            print("".join(deque(file, lines)), end="")


def settings_of(home: Path | None) -> Settings:
    """Return the settings of this home, or of the one that they name."""
    environment = dict(os.environ)
    if home is not None:
        environment["LEYDEN_HOME"] = str(home)
    return settings.load(environment)


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


def _wait_until_stopped(given: Settings) -> None:
    deadline = time.monotonic() + _STOPS_WITHIN_S
    while holder(given) is not None:
        if time.monotonic() > deadline:
            raise SetupError(
                f"the platform did not stop within {_STOPS_WITHIN_S:.0f} s; "
                "see `leyden logs`"
            )
        time.sleep(_LOOK_EVERY_S)


def _status(given: Settings) -> dict[str, Any]:
    base_url = api_url(given)
    process = holder(given)
    root = given.home_path / "authority" / "root.pem" if given.api_tls else None
    kept = first_run.read(given.home_path)
    login = kept.get("dashboard_login", {}).get("email")
    file = given.home_path / first_run.FILE
    return {
        "home": str(given.home_path),
        "process": process,
        # Another home's platform may answer on our port.
        "api": "not running" if process is None else health(base_url, root),
        "base_url": base_url,
        "dashboard": dashboard_url(given),
        "sign_in_as": login and f"{login}; its password is in {file}",
        "organization_id": kept.get("organization_id"),
        **background_processes.status(given, is_up=process is not None),
    }


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


def _log_files(given: Settings) -> dict[str, Path]:
    home = given.home_path
    files = {path.stem: path for path in sorted((home / "logs").glob("*.log"))}
    return {**files, **background_processes.log_files(given)}
