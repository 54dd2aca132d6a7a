"""The home that the database records: whose nodes these are.

The record is the home's identity, its place and its certificate authority. Another
home, or a copy of this one, is told so by a SetupError.
"""

import secrets
from collections.abc import Sequence
from typing import Final

from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.nodes.certificates.authority import Authority
from leyden.nodes.rows.homes import Home
from leyden.nodes.rules.nodes import Node, RuntimeName
from leyden.nodes.runtimes.local import layout
from leyden.nodes.wiring.identity import Here
from leyden.values import replace

INSTEAD: Final = (
    "Local nodes run in one home, on one machine: start `leyden serve` and `leyden "
    "worker` there. To move the home here, stop it and its nodes there, copy the "
    "whole folder, and run `leyden data-dir adopt`. Nodes on several machines need the "
    "Kubernetes runtime (docs/operators/cluster.md)"
)
_IN_CLUSTER: Final = (
    "Nodes belong to one namespace of one cluster: set kubeconfig and "
    "kubernetes_namespace to it"
)


def as_home(here: Here, settings: Settings) -> Home:
    """Return the home's record for the database."""
    return Home(
        identity=here.identity,
        authority=Authority(settings.home_path / "authority").digest,
        place=here.place,
        host=here.host,
    )


def missing(here: Here, nodes: Sequence[Node]) -> list[Node]:
    """List nodes that have run but have no folder in this home.

    In a home whose nodes are in a cluster none of them has.
    """
    return [
        node
        for node in nodes
        if (node.has_process or node.has_wallet)
        and (node.runtime is RuntimeName.LOCAL and node.moves_to is None)
        and (here.cluster or not layout.is_here(layout.root(here.folder), node))
    ]


async def check_home(platform: Platform, here: Here) -> Here:
    """Return this home; record it if it is the first, reject any other one."""
    ours = as_home(here, platform.settings)
    known = await platform.database.reader.homes.find()
    if known is None:
        lost = missing(here, await platform.database.reader.nodes.all_())
        if lost:
            without = "never ran in" if here.cluster else "have no folder in"
            raise SetupError(
                f"{len(lost)} nodes of this database {without} {shown(here)}, such as "
                f"{lost[0].id}: this is not their home, or only a part of it. "
                f"{_instead(here)}"
            )
        async with platform.database.transaction() as tx:
            await tx.homes.add(ours)
        known = await platform.database.reader.homes.find()
    if here.cluster and known is not None:
        here = replace(here, place=known.place)
        ours = as_home(here, platform.settings)
    refuse(known or ours, ours, here)
    return here


async def name_of_cluster(platform: Platform) -> str:
    """Return the mark of the nodes' namespace, created at the first start."""
    async with platform.database.transaction() as tx:
        await tx.homes.name_cluster(secrets.token_hex(16))
    known = await platform.database.reader.homes.find()
    return "" if known is None else known.cluster


def shown(here: Here) -> str:
    """Return a description of where nodes are."""
    return here.cluster or str(here.folder)


def _instead(here: Here) -> str:
    return _IN_CLUSTER if here.cluster else INSTEAD


def refuse(known: Home, ours: Home, here: Here) -> None:
    """Raise SetupError unless this is the home that the database records."""
    if known.identity != ours.identity:
        raise SetupError(
            f"the nodes of this database belong to another home, last on {known.host}, "
            f"not to {shown(here)}. {_instead(here)}"
        )
    if known.place != ours.place:
        raise SetupError(
            f"{here.folder} is a copy of the home that the nodes of this database "
            f"belong to, last on {known.host}, or was moved here. Two lnds of the same "
            "node lose its money: make sure that no node runs there any more, then "
            "run `leyden data-dir adopt`"
        )
    refuse_another_authority(known, ours, here)


def refuse_another_authority(known: Home, ours: Home, here: Here) -> None:
    """Raise SetupError if the home has another certificate authority."""
    if known.authority != ours.authority:
        raise SetupError(
            f"{here.folder / 'authority'} is not the authority that clients of these "
            "nodes trust; restore the authority from your backup, or run `leyden "
            "data-dir adopt --new-authority` and give clients the new root"
        )
