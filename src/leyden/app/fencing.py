"""Which users nodes run as, and the fence around them: from settings to nftables."""

import asyncio
import fcntl
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from leyden import figures, logs
from leyden.app import egress
from leyden.app.courier import networks, reach, words
from leyden.domain import nodes as domain
from leyden.domain.addresses import Network, Reach, plain
from leyden.errors import SetupError
from leyden.files import write_private
from leyden.lnd.chains import Backend, Bitcoind, Neutrino
from leyden.runtimes import nftables
from leyden.runtimes.fence import Fence, Opening, block_of, table_of
from leyden.runtimes.layout import Ground, Layout
from leyden.runtimes.seats import Seats
from leyden.settings import Settings
from leyden.values import replace

_LOCK: Final = Path("/run/leyden.lock")
_KEPT: Final = "first_uid"  # in the home: nodes' files belong to these users
_BLOCK: Final = 1 << 16
_MOST_BLOCKS: Final = 64
_RESOLVERS: Final = Path("/etc/resolv.conf")
_DNS: Final = 53
_POSTGRES: Final = 5432
_OPENING = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+(?:/[0-9]+)?)):([0-9]{1,5})")
_MOST_PORT: Final = 65_535
_LOOK_AGAIN_S: Final = 30.0
_REQUIRED_AGAIN_S: Final = 10.0
_MISSING = figures.gauge(
    "leyden_egress_policy_missing",
    "1 while nodes are not held by the egress policy that should hold them.",
)

Grounds = Mapping[domain.Network, Ground]

log = logs.get()


def seated(given: Settings, seats: Seats, grounds: Grounds) -> Seats:
    """Choose whom nodes run as where each has a user, and fence these users in.

    One installation at a time does so: what the one has chosen, the next one sees.
    """
    why = _hindrance(given, seats)
    if why:
        if given.nodes_fence == "required":
            raise SetupError(egress.refusal(given, why))
        log.warning("nodes are not fenced in: they reach what we reach", why=why)
        return seats
    with _one_at_a_time():
        known = nftables.clear_away()
        seats = _block(given, seats, known)
        nftables.put_up(fence(given, seats, grounds), known)
    _keep(given.home_path, seats)
    log.info("nodes are fenced in", users=block_of(seats))
    return seats


async def kept(given: Settings, layout: Layout) -> None:
    """Keep the fence up, and true when a name comes to mean another address."""
    required = given.nodes_fence == "required"
    if not required and _hindrance(given, layout.seats):
        return
    stood: Fence | None = None
    while True:
        stood = await asyncio.to_thread(mended, given, layout, stood)
        _MISSING.set(int(stood is None))
        await asyncio.sleep(_REQUIRED_AGAIN_S if required else _LOOK_AGAIN_S)


def gate(given: Settings, layout: Layout) -> egress.Gate | None:
    """Return what holds nodes back while the fence is missing that is required."""
    if given.nodes_fence != "required":
        return None
    return egress.Gate(partial(in_place, given, layout))


def in_place(given: Settings, layout: Layout) -> bool:
    """Tell whether the fence stands, now that it is put up again if it can be."""
    try:
        if table_of(given.home_path) in nftables.fences():
            return True
    except SetupError:
        return False
    return mended(given, layout, None) is not None


def mended(given: Settings, layout: Layout, stood: Fence | None) -> Fence | None:
    """Put the fence up where it is not as it should be, and give the one that is."""
    try:
        wanted = fence(given, layout.seats, layout.grounds)
        missing = not nftables.stands(wanted)
        if missing or wanted != stood:
            nftables.put_up(wanted)
        if missing:
            log.warning("the fence around nodes was gone; it stands again")
    except SetupError as error:
        log.error("nodes may not be fenced in", why=error.message)  # noqa: TRY400
        return None
    return wanted


def fence(given: Settings, seats: Seats, grounds: Grounds) -> Fence:
    """Give the fence that the settings ask for."""
    openings = {*_openings(given), *_to_backends(grounds), *_to_resolvers()}
    return Fence(
        home=given.home_path,
        seats=seats,
        openings=tuple(sorted(openings, key=str)),
        closed=tuple(networks("nodes_may_not_reach", given.nodes_may_not_reach)),
        locked=tuple(_locked(given)),
    )


def signers(given: Settings) -> Reach:
    """Return which addresses a node's remote signer may have, when one is named.

    What webhooks may be sent to is within the installation's own network as well.
    """
    openings = list(_openings(given))
    return Reach(
        exceptions=(
            *(each.network for each in openings if each.port is None),
            *reach(given).exceptions,
        ),
        openings=tuple(
            (each.network, each.port) for each in openings if each.port is not None
        ),
        forbidden=tuple(networks("nodes_may_not_reach", given.nodes_may_not_reach)),
    )


def _hindrance(given: Settings, seats: Seats) -> str:
    if seats.first_uid is None:
        return egress.hindrance(given) or "nodes have no users of their own"
    if given.nodes_fence == "off":
        return egress.hindrance(given)
    return nftables.trouble()


def _block(given: Settings, seats: Seats, known: nftables.Fences) -> Seats:
    """Take the users that are set, else those from before, else the first free ones."""
    if given.nodes_first_uid:
        return seats
    ours = table_of(given.home_path)
    taken = [fenced.users for table, fenced in known.items() if table != ours]
    step = max(_BLOCK, seats.network.num_addresses)
    start = -(-(seats.first_uid or 0) // step) * step
    candidates = [start + number * step for number in range(_MOST_BLOCKS)]
    before = _kept(given.home_path)
    if before is not None and before % seats.network.num_addresses == 0:
        candidates.insert(0, before)
    for first in candidates:
        chosen = replace(seats, first_uid=first)
        low, high = block_of(chosen)
        if not any(low <= last and begin <= high for begin, last in taken):
            return chosen
    raise SetupError(
        f"all {_MOST_BLOCKS} blocks of users are other installations'; "
        "set nodes_first_uid to one that is free"
    )


def _openings(given: Settings) -> Iterator[Opening]:
    for word in words(given.nodes_may_reach):
        match = _OPENING.fullmatch(word)
        where, port = (match[1] or match[2], int(match[3])) if match else (word, None)
        if port is not None and not 1 <= port <= _MOST_PORT:
            raise SetupError(f"nodes_may_reach: {port} is no port")
        (network,) = networks("nodes_may_reach", where)
        yield Opening(network, port)


def _to_backends(grounds: Grounds) -> Iterator[Opening]:
    for ground in grounds.values():
        for where in _hosts(ground.backend):
            host, port = _host_and_port(where)
            if port is None:  # which must never mean all of them
                raise SetupError(
                    f"{where}: name its port too, as HOST:PORT; nodes are let through "
                    "the fence to that alone"
                )
            for network in _resolved(host):
                yield Opening(network, port)


def _hosts(backend: Backend) -> Iterator[str]:
    if isinstance(backend, Neutrino):
        yield from (*backend.only_peers, *backend.more_peers)
        if backend.fee_url:
            url = urlsplit(backend.fee_url)
            usual = "" if url.port else ":443" if url.scheme == "https" else ":80"
            yield url.netloc.rpartition("@")[2] + usual
        return
    yield backend.host
    if isinstance(backend, Bitcoind):
        for address in (backend.zmq_blocks, backend.zmq_transactions):
            if address:
                yield urlsplit(address).netloc


def _to_resolvers() -> Iterator[Opening]:
    """Let nodes resolve names: lnd finds peers and its owner's signer by them."""
    try:
        lines = _RESOLVERS.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        match line.split():
            case ["nameserver", address, *_]:
                for network in _resolved(address.partition("%")[0]):
                    for protocol in ("tcp", "udp"):
                        yield Opening(network, _DNS, protocol)


def _locked(given: Settings) -> Iterator[Opening]:
    """Name what is the platform's own, should it have a public address.

    No more than its port: the treasury's host may well have a peer's port for nodes.
    """
    url = urlsplit(given.database_url)
    database = (url.hostname or "", url.port or _POSTGRES)
    ours = (given.treasury_host, given.pool_host)
    for host, port in (database, *map(_host_and_port, ours)):
        for network in _resolved(host):
            yield Opening(network, port)


def _host_and_port(text: str) -> tuple[str, int | None]:
    """Take HOST, HOST:PORT or [HOST]:PORT apart."""
    parts = urlsplit(f"//{text}")
    try:
        return parts.hostname or "", parts.port
    except ValueError:
        return parts.hostname or "", None


def _resolved(host: str) -> list[Network]:
    if not host:
        return []
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        log.warning("nodes cannot reach a host without address", host=host, why=error)
        return []
    addresses = {plain(ip_address(str(each[4][0]).partition("%")[0])) for each in found}
    return sorted((ip_network(each) for each in addresses), key=str)


def _kept(home: Path) -> int | None:
    try:
        return int((home / _KEPT).read_text())
    except (FileNotFoundError, ValueError):
        return None


def _keep(home: Path, seats: Seats) -> None:
    if _kept(home) != seats.first_uid:
        write_private(home / _KEPT, f"{seats.first_uid}\n")


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    with _LOCK.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
