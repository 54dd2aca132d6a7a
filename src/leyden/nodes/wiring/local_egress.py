"""The users that nodes run as, and their egress policy, by nftables."""

import asyncio
import fcntl
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from prometheus_client import Gauge

from leyden.base.files import write_private
from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.nodes.runtimes.local import nftables
from leyden.nodes.runtimes.local.egress_policy import EgressPolicy, block_of, table_of
from leyden.nodes.runtimes.local.layout import Layout
from leyden.nodes.runtimes.local.placement import Placement
from leyden.nodes.wiring import egress
from leyden.nodes.wiring.node_openings import Grounds, make_policy
from leyden.values import replace

# In a folder, which systemd keeps writable for a unit; the rest of /run is not.
LOCK: Final = Path("/run/leyden/lock")
_FIRST_UID_FILE: Final = "first_uid"  # in the home: nodes' files belong to these users
_BLOCK: Final = 1 << 16
_MAX_BLOCKS: Final = 64
_LOOK_AGAIN_S: Final = 30.0
_REQUIRED_AGAIN_S: Final = 10.0
_MISSING: Final = Gauge(
    "leyden_egress_policy_missing",
    "1 while nodes are not held by the egress policy that should hold them.",
)

log = logging.getLogger(__name__)


def enforce(settings: Settings, placement: Placement, grounds: Grounds) -> Placement:
    """Choose whom nodes run as where each has a user, and hold these users to a policy.

    One installation at a time does so: what the one has chosen, the next one sees.
    """
    why = _hindrance(settings, placement)
    if why:
        if settings.nodes_fence == "required":
            raise SetupError(egress.startup_error(settings, why))
        log.warning(
            "no egress policy: nodes can reach everything that this machine can",
            extra={"why": why},
        )
        return placement
    with _one_at_a_time():
        known = nftables.remove_abandoned()
        placement = _block(settings, placement, known)
        nftables.apply(make_policy(settings, placement, grounds), known)
    _keep(settings.home_path, placement)
    log.info("egress policy of nodes is active", extra={"users": block_of(placement)})
    return placement


async def keep(settings: Settings, layout: Layout) -> None:
    """Keep the policy in place, and true when a name comes to mean another address."""
    required = settings.nodes_fence == "required"
    if not required and _hindrance(settings, layout.placement):
        return
    applied: EgressPolicy | None = None
    while True:
        applied = await asyncio.to_thread(repair, settings, layout, applied)
        _MISSING.set(int(applied is None))
        await asyncio.sleep(_REQUIRED_AGAIN_S if required else _LOOK_AGAIN_S)


class LocalEgress:
    """Holds the nodes of this machine to the egress policy, as the settings ask."""

    def __init__(self, settings: Settings, layout: Layout) -> None:
        self._given = settings
        self._layout = layout
        self._gate = (
            egress.Gate(partial(is_in_place, settings, layout))
            if settings.nodes_fence == "required"
            else None
        )

    async def admit(self) -> None:
        """Return where a node may start; raise Away where the policy is missing."""
        if self._gate is not None:
            await self._gate.passed()

    async def keep(self) -> None:
        """Keep the policy in place until cancelled, or return where there is none."""
        await keep(self._given, self._layout)


def is_in_place(settings: Settings, layout: Layout) -> bool:
    """Return whether the policy is in place, applied again if that can be."""
    try:
        if table_of(settings.home_path) in nftables.applied():
            return True
    except SetupError:
        return False
    return repair(settings, layout, None) is not None


def repair(
    settings: Settings, layout: Layout, applied: EgressPolicy | None
) -> EgressPolicy | None:
    """Apply the policy where it is not as it should be; None where that fails."""
    try:
        wanted = make_policy(settings, layout.placement, layout.grounds)
        missing = not nftables.is_applied(wanted)
        if missing or wanted != applied:
            nftables.apply(wanted)
        if missing:
            log.warning("the egress policy of nodes was missing; restored it")
    except SetupError as error:
        log.error(  # noqa: TRY400
            "the egress policy of nodes may not be in place",
            extra={"why": error.message},
        )
        return None
    return wanted


def _hindrance(settings: Settings, placement: Placement) -> str:
    if placement.first_uid is None:
        return (
            egress.unavailable_because(settings) or "nodes don't run as their own users"
        )
    if settings.nodes_fence == "off":
        return egress.unavailable_because(settings)
    return nftables.unavailable_reason()


def _block(
    settings: Settings, placement: Placement, known: nftables.Policies
) -> Placement:
    """Choose the user ids: as set, else as before, else the first free."""
    if settings.nodes_first_uid:
        return placement
    ours = table_of(settings.home_path)
    taken = [held.users for table, held in known.items() if table != ours]
    step = max(_BLOCK, placement.network.num_addresses)
    start = -(-(placement.first_uid or 0) // step) * step
    candidates = [start + number * step for number in range(_MAX_BLOCKS)]
    before = _first_uid(settings.home_path)
    if before is not None and before % placement.network.num_addresses == 0:
        candidates.insert(0, before)
    for first in candidates:
        chosen = replace(placement, first_uid=first)
        low, high = block_of(chosen)
        if not any(low <= last and begin <= high for begin, last in taken):
            return chosen
    raise SetupError(
        f"other installations use all {_MAX_BLOCKS} blocks of users; set "
        "nodes_first_uid to a free one"
    )


def _first_uid(home: Path) -> int | None:
    try:
        return int((home / _FIRST_UID_FILE).read_text())
    except (FileNotFoundError, ValueError):
        return None


def _keep(home: Path, placement: Placement) -> None:
    if _first_uid(home) != placement.first_uid:
        write_private(home / _FIRST_UID_FILE, f"{placement.first_uid}\n")


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    LOCK.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    with LOCK.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
