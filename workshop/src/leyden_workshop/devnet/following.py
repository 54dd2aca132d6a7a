"""Waiting for a private chain's lnds to sync to its newest block."""

import asyncio
import time

from leyden.errors import SetupError
from leyden_workshop.devnet.access import ChainAccess
from leyden_workshop.devnet.chain import connected
from leyden_workshop.devnet.wallet import opened

_WITHIN_S = 120.0
_LOOK_AGAIN_S = 0.1


async def wait_until_synced(network: ChainAccess, name: str) -> None:
    """Wait until an lnd has synced to the newest block."""
    deadline = time.monotonic() + _WITHIN_S
    async with (
        connected(network.btcd) as chain,
        opened(network.lnds[name]) as wallet,
    ):
        while await wallet.height() != (await chain.height(), True):
            if time.monotonic() > deadline:
                raise SetupError(f"{name} does not sync with the chain; see its log")
            await asyncio.sleep(_LOOK_AGAIN_S)
