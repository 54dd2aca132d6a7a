"""Checks of the machine that nodes run on, or of the cluster.

What a pod's manifest has by itself (a user of its own, limits) needs no look there.
"""

import os
import stat
from typing import Final

from leyden.base.daemons import catalogue
from leyden.base.daemons.build import HOW, default_cache, program_path
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.nodes.rules.nodes import NodeType
from leyden.nodes.rules.versions import OFFERED
from leyden.nodes.runtimes.kubernetes import trials
from leyden.nodes.runtimes.local.cgroups import Cgroups
from leyden.nodes.wiring import clusters, egress, pods

_MIB: Final = 1 << 20
_PASSING: Final = stat.S_IXGRP | stat.S_IXOTH  # node users pass through the home


async def egress_policy(platform: Platform) -> str:
    """Try what nodes may reach: on this machine, and from a pod in the cluster."""
    settings = platform.settings
    if not settings.runs_here:
        return await _open_to_pods(settings)
    if settings.nodes_fence == "off":
        return 'set nodes_fence = "required"'
    if why := egress.unavailable_because(settings):
        return f"{why}. {egress.HOW}"
    return await _open_to_pods(settings) if settings.runs_in_cluster else ""


async def _open_to_pods(settings: Settings) -> str:
    async with pods.connected(settings) as api:
        scheduling = clusters.scheduling(settings)
        tried = [each async for each in trials.examine(settings, api, scheduling)]
    return "; ".join(f"not so: {what}: {to_do}" for what, to_do in tried if to_do)


async def users(platform: Platform) -> str:
    """Check that nodes can have users of their own."""
    if not platform.settings.runs_here or os.geteuid() == 0:
        return ""
    return "run Leyden as root: without root, nodes share its user"


async def shares(platform: Platform) -> str:
    """Try whether the kernel can hold nodes to their shares."""
    settings = platform.settings
    if not settings.runs_here:
        return ""
    if settings.nodes_cgroups == "off":
        return 'set nodes_cgroups = "required"'
    return Cgroups(settings.home_path).unavailable_reason()


async def memory(platform: Platform) -> str:
    """Compare the memory that nodes may take with the machine's."""
    settings = platform.settings
    if not settings.runs_here:
        return ""  # the cluster's scheduler counts
    memory_limits = {
        NodeType.STANDARD: settings.standard_memory_mb,
        NodeType.PROFESSIONAL: settings.professional_memory_mb,
    }
    nodes = await platform.database.reader.nodes.all_()
    wanted = sum(memory_limits[each.type] for each in nodes if not each.is_gone)
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _MIB
    if wanted <= total:
        return ""
    return (
        f"nodes can use {wanted:,} MiB of {total:,}: lower standard_memory_mb and "
        "nodes_per_organization, or use a larger machine"
    )


async def programs(platform: Platform) -> str:
    """Check that each lnd is cached, or has an image where nodes are pods."""
    settings = platform.settings
    if settings.runs_in_cluster:
        listed = clusters.images(settings)
        if missing := [str(each) for each in OFFERED.versions if each not in listed]:
            return f"add {', '.join(missing)} to kubernetes_images"
    if settings.own_binaries or not settings.runs_here:
        return ""
    cache = default_cache(os.environ)
    missing = [
        str(version)
        for version in OFFERED.versions
        if not program_path(cache, *catalogue.find("lnd", str(version))).exists()
    ]
    return f"lnd {', '.join(missing)}: not installed; {HOW}" if missing else ""


async def private(platform: Platform) -> str:
    """Check who may read keys and home."""
    settings = platform.settings
    for path, allowed in (
        (settings.home_path, _PASSING if os.geteuid() == 0 else 0),
        (settings.secrets_path, 0),
        (settings.home_path / "authority", 0),
    ):
        mode = stat.S_IMODE(os.stat(path).st_mode)  # noqa: PTH116
        if mode & (stat.S_IRWXG | stat.S_IRWXO) & ~allowed:
            return f"{path} has mode {mode:o}: chmod go= {path}"
    return ""
