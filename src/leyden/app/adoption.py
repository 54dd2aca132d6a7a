"""Moving local nodes to this home: what an operator says, and what is done then.

1. Refuse while any process runs on the home that has the nodes.
2. Remember this home. Whoever held a task of nodes has lost it.
3. Nodes whose wallets are not here begin without one, if that was said.
"""

import asyncio
from collections.abc import Sequence

from leyden.app import identity
from leyden.app.identity import Here
from leyden.app.ownership import Silence, as_home, refuse_another_authority
from leyden.domain.nodes import Node, Wanted
from leyden.domain.observations import Observation, observe
from leyden.loops import OF_THE_HOME
from leyden.services.changes import change
from leyden.services.platform import Platform
from leyden.storage.homes import Home
from leyden.storage.nouns import Nouns
from leyden.values import Struct, replace

_LOOK_EVERY_S = 0.5


class Standing(Struct, frozen=True, kw_only=True):
    """How a home stands to the database's nodes."""

    known: Home | None  # the one that the database remembers
    ours: Home
    nodes: int
    without_wallet: Sequence[Node]  # which have one that is not here


async def standing(platform: Platform) -> Standing:
    """Look at this home, and at the one that the database remembers."""
    here = identity.read(platform.settings.home_path)
    nodes = await platform.database.reader.nodes.all_()
    return Standing(
        known=await platform.database.reader.homes.find(),
        ours=as_home(here, platform.settings),
        nodes=len(nodes),
        without_wallet=[each for each in nodes if _has_lost_its_wallet(here, each)],
    )


async def adopt(
    platform: Platform, *, new_authority: bool, start_empty: bool, actor: str
) -> Standing:
    """Let this home have the nodes from now on; give how it stands to them then."""
    here = identity.read(platform.settings.home_path)
    ours = as_home(here, platform.settings)
    silence = Silence()
    while True:
        async with platform.database.transaction() as tx:
            known = await tx.homes.lock()
            if known is not None and not new_authority:
                refuse_another_authority(known, ours, here)
            if not await silence.left(tx, await tx.homes.processes()):
                await tx.homes.add(ours)
                await tx.homes.take(ours, kinds=OF_THE_HOME)
                await tx.audit.add(
                    at=platform.clock(),
                    actor=actor,
                    action="home adopted",
                    subject=ours.identity,
                    host=ours.host,
                    before=known.host if known else "",
                    start_empty=start_empty,
                )
                break
        await asyncio.sleep(_LOOK_EVERY_S)
    if start_empty:
        await _start_empty(platform, here)
    return await standing(platform)


async def _start_empty(platform: Platform, here: Here) -> None:
    for found in await platform.database.reader.nodes.all_():
        if _has_lost_its_wallet(here, found):
            async with platform.database.transaction() as tx:
                await _forget_wallet(tx, found, platform)


async def _forget_wallet(tx: Nouns, found: Node, platform: Platform) -> None:
    now = platform.clock()
    before = await tx.nodes.lock(found.id)
    after = replace(before, has_wallet=False)
    if before.has_process:
        gone = Observation(process=before.process, alive=False)
        after = observe(after, gone, now)
    if after.wanted is Wanted.RUNNING:
        after = replace(after, crashes=0, due=now)
    await change(tx, before, after, now=now)


def _has_lost_its_wallet(here: Here, node: Node) -> bool:
    folder = here.folder / "nodes" / node.id
    if node.has_process and not folder.is_dir():
        return True
    return node.has_wallet and not any(folder.glob("lnd/data/chain/*/*/wallet.db"))
