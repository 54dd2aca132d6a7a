"""Operators' moves of a node between this machine and a cluster."""

import shutil

from leyden.base.platform import Platform
from leyden.errors import NotAllowed, NotFound, SetupError
from leyden.nodes import relocations
from leyden.nodes.rules.nodes import Node, RuntimeName
from leyden.nodes.rules.relocations import Relocation
from leyden.nodes.runtimes import copies
from leyden.nodes.runtimes.local import layout
from leyden.nodes.wiring import clusters

_GIB = 1 << 30
# lnd goes on writing where it arrives.
_SPARE = 1.25


async def begin(
    platform: Platform, node_id: str, to: RuntimeName, *, actor: str
) -> Relocation:
    """Begin to move a node; raise if the target cannot take it."""
    settings = platform.settings
    if settings.runtime != "both":
        raise SetupError(
            'runtime: must be "both" for a move, also in the settings of the running '
            f'platform; it is "{settings.runtime}"'
        )
    clusters.check(settings)
    node = await platform.database.reader.nodes.find(node_id)
    if node is None:
        raise NotFound(f"no node {node_id}")
    if to is RuntimeName.KUBERNETES and node.version not in clusters.images(settings):
        raise NotAllowed(
            f"kubernetes_images: names no image of lnd {node.version}, which node "
            f"{node_id} runs"
        )
    await _check_room(platform, node, to)
    return await relocations.request(
        platform.database, platform.clock, node_id, to, actor=actor
    )


async def _check_room(platform: Platform, node: Node, to: RuntimeName) -> None:
    settings = platform.settings
    if to is RuntimeName.KUBERNETES:
        needed = copies.size(layout.folder(layout.root(settings.home_path), node))
        room, where = clusters.disks(settings)[node.type] * _GIB, "its volume"
    else:
        report = await platform.database.reader.node_reports.find(node.id)
        needed = report.disk if report is not None else 0
        where = str(settings.home_path)
        room = shutil.disk_usage(where).free
    if needed * _SPARE > room:
        raise NotAllowed(
            f"node {node.id} has {needed / _GIB:.1f} GiB, but {where} has room for "
            f"{room / _GIB:.1f} GiB only: a move needs a quarter more than the node's "
            "size"
        )
