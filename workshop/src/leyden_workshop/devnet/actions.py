"""Actions on a private chain: mining, funding and status."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from leyden.errors import LeydenError, Malformed
from leyden_workshop.devnet import access, faucet
from leyden_workshop.devnet.addresses import output_script
from leyden_workshop.devnet.chain import connected
from leyden_workshop.devnet.journal import Journal
from leyden_workshop.devnet.mining_key import MiningKey
from leyden_workshop.devnet.wallet import opened

MAX_BLOCKS = 10_000


def journal(home: Path) -> Path:
    """Return the path of the block journal."""
    return access.folder(home) / "blocks.journal"


async def mine(home: Path, blocks: int) -> int:
    """Mine blocks and journal them to disk; return the new height."""
    if not 1 <= blocks <= MAX_BLOCKS:
        raise Malformed(f"blocks: must be from 1 to {MAX_BLOCKS}")
    async with connected(access.load(home).btcd) as chain:
        await chain.mine(blocks)
        await Journal(journal(home)).catch_up(chain)
        return await chain.height()


async def height(home: Path) -> int:
    """Return the height of the newest block."""
    async with connected(access.load(home).btcd) as chain:
        return await chain.height()


async def fund(home: Path, address: str, sats: int, *, confirmations: int) -> str:
    """Pay an address, mine `confirmations` blocks, and return the txid."""
    network = access.load(home)
    key = MiningKey.load_or_create(access.folder(home) / "mining.key")
    script = output_script(network.chain, address)
    async with connected(network.btcd) as chain:
        txid = await faucet.fund(chain, key, script, sats)
    if confirmations:
        await mine(home, confirmations)
    return txid


async def status(home: Path) -> dict[str, Any]:
    """Return the chain's height, and each lnd's state."""
    network = access.load(home)
    found: dict[str, Any] = {"chain": network.chain, "height": None, "lnds": []}
    with suppress(LeydenError):
        found["height"] = await height(home)
    for name, reached in network.lnds.items():
        found["lnds"].append({"name": name, **await _lnd(reached)})
    return found


async def _lnd(reached: access.LndEndpoint) -> dict[str, Any]:
    away = {"state": "away", "height": None, "synced": False, "balance_sats": None}
    try:
        async with opened(reached) as wallet:
            state = await wallet.state()
            if state != "SERVER_ACTIVE":
                return {**away, "state": state}
            height, synced = await wallet.height()
            return {
                "state": state,
                "height": height,
                "synced": synced,
                "balance_sats": await wallet.balance(),
            }
    except LeydenError:
        return away
