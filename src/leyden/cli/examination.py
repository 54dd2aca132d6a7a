"""What `leyden doctor` looks at: one line each, with what mends it."""

import os
import platform
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from leyden.daemons import build as builds
from leyden.daemons import catalogue
from leyden.daemons.workshop import place
from leyden.runtimes import nftables
from leyden.settings import Settings

_ROOM_GIB = 6  # sources, Go's build cache and the daemons, the first time
_GIB = 1 << 30


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that is well, or not, and how to mend it."""

    what: str
    well: bool
    needed: bool = True
    mend: str = ""


def examine(given: Settings, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Look at this machine; nothing is changed."""
    yield Finding(what=f"Python {platform.python_version()}", well=True)
    yield from _programs(environment)
    yield _room(builds.default_cache(environment))
    yield _home(given.home_path)
    for name in ("api_port", "metrics_port"):
        yield _port(name, getattr(given, name), given.home_path)
    yield Finding(
        what="names like NODE.localhost resolve in every program",
        well=_resolves("node.localhost"),
        needed=False,
        mend="curl and browsers resolve them anyway; for others add the line that "
        "`leyden up` prints to /etc/hosts",
    )
    yield Finding(
        what="each node has a user of its own",
        well=os.geteuid() == 0,
        needed=False,
        mend="only root can start a program as another user; nodes share this one",
    )
    yield _fence(given)


def _fence(given: Settings) -> Finding:
    why = "only root can do so" if os.geteuid() else nftables.trouble()
    if given.nodes_fence == "off":
        why = "the setting nodes_fence is off"
    return Finding(
        what="nodes are kept from each other and from private networks by nftables",
        well=not why,
        needed=given.nodes_fence == "required",
        mend=f"{why}; as root: apt-get install nftables",
    )


def _programs(environment: Mapping[str, str]) -> Iterator[Finding]:
    cache = builds.default_cache(environment)
    built = all(
        place(cache, tools, program).exists()
        for tools, program in (
            catalogue.find("lnd", None),
            catalogue.find("btcd", None),
        )
    )
    if built:
        yield Finding(what=f"lnd and btcd, built in {cache}", well=True)
        return
    yield Finding(
        what="Go, to build lnd and btcd the first time",
        well=shutil.which("go") is not None,
        needed=False,
        mend="none is needed: a Go toolchain is installed from PyPI into the cache",
    )
    yield Finding(
        what="pip or uv, to install what is missing",
        well=bool(shutil.which("uv") or shutil.which("pip") or _has_pip()),
        needed=shutil.which("go") is None,
        mend="sudo apt-get install python3-venv python3-pip",
    )


def _has_pip() -> bool:
    return any((Path(path) / "pip").is_dir() for path in sys.path)


def _room(cache: Path) -> Finding:
    folder = next(each for each in (cache, *cache.parents) if each.exists())
    free = shutil.disk_usage(folder).free
    return Finding(
        what=f"{free / _GIB:.0f} GiB of disk are free for {cache}",
        well=free >= _ROOM_GIB * _GIB,
        mend=f"make {_ROOM_GIB} GiB free, or choose another disk with LEYDEN_CACHE",
    )


def _home(home: Path) -> Finding:
    folder = next(each for each in (home, *home.parents) if each.exists())
    return Finding(
        what=f"{home} can be written",
        well=os.access(folder, os.W_OK),
        mend="choose another folder with LEYDEN_HOME",
    )


def _port(name: str, port: int, home: Path) -> Finding:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            free = True
        except OSError:
            free = False
    ours = (home / "ready").exists()
    return Finding(
        what=f"port {port} is free" if free else f"port {port} is in use by us",
        well=free or ours,
        mend=f"stop the program that has it, or set LEYDEN_{name.upper()}",
    )


def _resolves(name: str) -> bool:
    try:
        socket.getaddrinfo(name, 443)
    except OSError:
        return False
    return True
