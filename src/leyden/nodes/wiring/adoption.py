"""Moving nodes to this home, or to a cluster alone, with `leyden data-dir adopt`.

1. Refuse while any process runs on the home that owns the nodes, and while nodes are
   elsewhere that are not served from here.
2. Record this home. Claims on node tasks held by others end.
3. If requested, start nodes whose wallets are missing here without one.
"""

from collections.abc import Sequence

from leyden.base.database.stores import Stores
from leyden.base.platform import Platform
from leyden.errors import SetupError
from leyden.nodes.changes import change
from leyden.nodes.fleet import OF_THE_HOME
from leyden.nodes.rows.homes import Home
from leyden.nodes.rules.nodes import DesiredState, Node, RuntimeName
from leyden.nodes.rules.observations import Observation, observe
from leyden.nodes.runtimes.local import layout
from leyden.nodes.wiring import clusters, identity
from leyden.nodes.wiring.home_record import as_home, refuse_another_authority
from leyden.nodes.wiring.identity import Here
from leyden.nodes.wiring.ownership import nobody_else, refuse_unserved
from leyden.values import Struct, replace


class HomeComparison(Struct, frozen=True, kw_only=True):
    """This home compared with the home that owns the nodes."""

    known: Home | None  # the one that the database remembers
    ours: Home
    nodes: int
    without_wallet: Sequence[Node]  # which have one that is not here


async def standing(platform: Platform) -> HomeComparison:
    """Compare this home with the home recorded in the database."""
    here = await _home(platform)
    nodes = await platform.database.reader.nodes.all_()
    return HomeComparison(
        known=await platform.database.reader.homes.find(),
        ours=as_home(here, platform.settings),
        nodes=len(nodes),
        without_wallet=[each for each in nodes if _has_lost_its_wallet(here, each)],
    )


async def adopt(
    platform: Platform,
    *,
    new_authority: bool,
    start_empty: bool,
    accept_copies: bool = False,
    actor: str,
) -> HomeComparison:
    """Assign the nodes to this home; return how it stands to them then."""
    here = await _home(platform)
    await _refuse_moving(platform)
    ours = as_home(here, platform.settings)
    async with nobody_else(platform) as (tx, known):
        if known is not None and not new_authority:
            refuse_another_authority(known, ours, here)
        await tx.homes.add(ours)
        await tx.homes.take(ours, kinds=OF_THE_HOME)
        if accept_copies:
            await tx.node_starts.accept_all()
        await tx.audit.add(
            at=platform.clock(),
            actor=actor,
            action="home adopted",
            subject=ours.identity,
            host=ours.host,
            before=known.host if known else "",
            start_empty=start_empty,
            accept_copies=accept_copies,
        )
    if start_empty:
        await _start_empty(platform, here)
    return await standing(platform)


async def accept(platform: Platform, node_id: str, *, actor: str) -> None:
    """Accept a copy of a node's folder that was made after its last start."""
    now = platform.clock()
    async with platform.database.transaction() as tx:
        before = await tx.nodes.lock(node_id)
        if not await tx.node_starts.accept(node_id):
            raise SetupError(
                f"node {node_id} was never started: there is nothing to accept"
            )
        await tx.audit.add(
            at=now,
            actor=actor,
            action="copy of a node accepted",
            subject=node_id,
            organization_id=before.organization_id,
        )
        after = before
        if before.wanted is DesiredState.RUNNING and not before.has_process:
            after = replace(before, crashes=0, due=now)
        await change(tx, before, after, now=now)


async def _home(platform: Platform) -> Here:
    settings = platform.settings
    if settings.runs_here:
        return identity.read(settings.home_path)
    known = await platform.database.reader.homes.find()
    if known is None or not known.cluster:
        raise SetupError(
            "runtime: no node of this database was ever in a cluster; there is "
            'nothing to adopt. To move nodes there, set runtime = "both"'
        )
    async with clusters.joined(settings) as cluster:
        if cluster is None:
            raise SetupError("testnet_chain: must be set, as it was for the nodes")
        await cluster.mark(known.cluster)  # or raise: it is another installation's
        return replace(cluster.here, place=known.place)


async def _refuse_moving(platform: Platform) -> None:
    """Raise SetupError where a move is not done, or a node not where we serve it."""
    if found := await platform.database.reader.relocations.unfinished():
        raise SetupError(
            f"{len(found)} nodes are being moved, the first of them "
            f'{found[0].node_id}: start the platform with runtime = "both" until that '
            "is done"
        )
    await refuse_unserved(platform)


async def _start_empty(platform: Platform, here: Here) -> None:
    for found in await platform.database.reader.nodes.all_():
        if _has_lost_its_wallet(here, found):
            async with platform.database.transaction() as tx:
                await _forget_wallet(tx, found, platform)


async def _forget_wallet(tx: Stores, found: Node, platform: Platform) -> None:
    now = platform.clock()
    before = await tx.nodes.lock(found.id)
    after = replace(before, has_wallet=False)
    if before.has_process:
        gone = Observation(process=before.process, alive=False)
        after = observe(after, gone, now)
    if after.wanted is DesiredState.RUNNING:
        after = replace(after, crashes=0, due=now)
    await change(tx, before, after, now=now)


def _has_lost_its_wallet(here: Here, node: Node) -> bool:
    if node.runtime is not RuntimeName.LOCAL or node.moves_to is not None:
        return False  # its data is not to be here, or lies sealed
    root = layout.root(here.folder)
    if node.has_process and not layout.is_here(root, node):
        return True
    return node.has_wallet and not layout.has_wallet(root, node)
