"""A poold beside a hosted node, which lasts as long as a block.

poold gets an address on this machine for its lnd: see bridge.py.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from leyden.base import processes
from leyden.base.processes.daemons import Keeper, free_port
from leyden.customer.claim.bridge import Node, bridged
from leyden.customer.claim.poold import Poold, access_for
from leyden.customer.claim.rest import Lnd, Pool
from leyden.values import Struct


class Beside(Struct, frozen=True, kw_only=True):
    """What a poold beside a node needs."""

    node: Node
    macaroon: Path  # of the node, with which poold calls it
    folder: Path
    program: Path
    chain: str
    auctioneer: str  # host:port; "": poold knows that of a public network


@asynccontextmanager
async def keeper_beside(wanted: Beside) -> AsyncIterator[tuple[Keeper, Pool]]:
    """Yield who starts the poold of a folder, also again, and its addresses.

    It is stopped at the end of the block. One that a killed command left behind is
    replaced by the first start.
    """
    grpc, rest = free_port(), free_port()
    reached = access_for(
        wanted.folder, wanted.chain, grpc=grpc, rest=rest, lnd=wanted.node.name
    )
    async with bridged(wanted.node, wanted.folder) as bridge:
        keeper = Keeper(
            Poold(
                name="poold",
                program=wanted.program,
                folder=wanted.folder,
                chain=wanted.chain,
                access=reached,
                lnd=Lnd(
                    rest="",
                    grpc=bridge.address,
                    peer="",
                    certificate=str(bridge.certificate),
                    macaroon=str(wanted.macaroon),
                ),
                auctioneer=wanted.auctioneer,
            )
        )
        try:
            yield keeper, reached
        finally:
            if (running := keeper.running()) is not None:
                await processes.stop(running, grace_s=keeper.daemon.grace_s)
