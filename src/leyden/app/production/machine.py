"""Checks of the machine that nodes run on."""

import os
import stat
from typing import Final

from leyden.app import egress
from leyden.daemons import catalogue
from leyden.daemons.build import default_cache
from leyden.daemons.workshop import place
from leyden.domain.nodes import Type
from leyden.domain.versions import OFFERED
from leyden.runtimes.cgroups import Cgroups
from leyden.services.platform import Platform

_MIB: Final = 1 << 20
_PASSING: Final = stat.S_IXGRP | stat.S_IXOTH  # node users pass through the home


async def egress_policy(platform: Platform) -> str:
    """Try whether the egress policy can be had, and is not turned off."""
    given = platform.settings
    if given.nodes_fence == "off":
        return 'set nodes_fence = "required"'
    why = egress.unavailable_because(given)
    return f"{why}. {egress.HOW}" if why else ""


async def users(_: Platform) -> str:
    """Check that nodes can have users of their own."""
    return "" if os.geteuid() == 0 else "run Leyden as root: nodes share its user now"


async def shares(platform: Platform) -> str:
    """Try whether the kernel can hold nodes to their shares."""
    given = platform.settings
    if given.nodes_cgroups == "off":
        return 'set nodes_cgroups = "required"'
    return Cgroups(given.home_path).unavailable_reason()


async def memory(platform: Platform) -> str:
    """Compare what the nodes may take with what there is."""
    given = platform.settings
    most = {
        Type.STANDARD: given.standard_memory_mb,
        Type.PROFESSIONAL: given.professional_memory_mb,
    }
    nodes = await platform.database.reader.nodes.all_()
    wanted = sum(most[each.type] for each in nodes if not each.is_gone)
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _MIB
    if wanted <= there:
        return ""
    return (
        f"the nodes may take {wanted:,} MiB of {there:,}: lower standard_memory_mb and "
        "nodes_per_organization, or take a larger machine"
    )


async def programs(platform: Platform) -> str:
    """Look for each lnd in the cache."""
    if platform.settings.own_binaries:
        return ""
    cache = default_cache(os.environ)
    missing = [
        str(version)
        for version in OFFERED.versions
        if not place(cache, *catalogue.find("lnd", str(version))).exists()
    ]
    return f"build {', '.join(missing)}: `leyden daemons build lnd`" if missing else ""


async def private(platform: Platform) -> str:
    """Look at who may read keys and home."""
    given = platform.settings
    for path, allowed in (
        (given.home_path, _PASSING if os.geteuid() == 0 else 0),
        (given.secrets_path, 0),
        (given.home_path / "authority", 0),
    ):
        mode = stat.S_IMODE(os.stat(path).st_mode)  # noqa: PTH116
        if mode & (stat.S_IRWXG | stat.S_IRWXO) & ~allowed:
            return f"{path} has mode {mode:o}: chmod go= {path}"
    return ""
