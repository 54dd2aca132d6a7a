"""Check that the best chain has the transactions that an lnd's wallet calls confirmed.

After a reorganisation of an even number of blocks, lnd's wallet still calls the
transactions of the lowest removed block confirmed. When it disconnects a block, it
stores no hash for the block before it, so it does not recognise that one when it is
disconnected next, and keeps its transactions (btcwallet up to 0.16.19, in lnd 0.20.1,
0.20.2 and 0.21.2, with any chain backend). It counts their confirmations forever. It
also names the removed block for transactions of the new block at that height. So a
confirmation counts only if the best chain has the named block, or has a block at the
same height that contains the transaction.
"""

import asyncio
import base64
from collections.abc import Collection
from typing import Any, Final, Protocol

from leyden.nodes.lnd.transactions import transaction_ids
from leyden.values import Struct

BLOCK_HASH: Final = "/v2/chainkit/blockhash"
BLOCK: Final = "/v2/chainkit/block"
_AT_ONCE: Final = 16
_MAX_CACHED: Final = 1_000


class Confirmation(Struct, frozen=True):
    """A transaction, and the block that has it according to the wallet."""

    txid: str
    height: int
    block_hash: str


class LndCaller(Protocol):
    """A client of an lnd."""

    async def call(self, method: str, path: str) -> dict[str, Any]:
        """Call lnd; raise if it does not respond, or with its reason if it refuses."""
        ...


class BestChain:
    """The chain that an lnd's backend considers the best one now."""

    def __init__(self, lnd: LndCaller) -> None:
        self._lnd = lnd
        self._known: dict[int, str] = {}  # hashes by height
        # Whether a block contains a transaction, by block hash and transaction id.
        self._contains: dict[tuple[str, str], bool] = {}
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._checking = asyncio.Lock()

    async def having(self, named: Collection[Confirmation]) -> set[Confirmation]:
        """Return the confirmations that the best chain has.

        Raise if the chain is shorter than a named height: the backend may be catching
        up, so the result is unknown. All hashes are of one chain, because the highest
        block is the same before and after the others are fetched.
        """
        async with self._checking:
            hashes = await self._hashes({each.height for each in named})
            return {
                each
                for each in named
                if hashes[each.height] == each.block_hash
                or await self._has(hashes[each.height], each.txid)
            }

    async def _hashes(self, heights: set[int]) -> dict[int, str]:
        self._known = {each: self._known[each] for each in heights & self._known.keys()}
        while heights:
            top = max(heights)
            first = await self._at(top)
            if self._known and not await self._is_unchanged(max(self._known)):
                self._known = {}
            missing = sorted(heights - self._known.keys())
            found = await asyncio.gather(*map(self._at, missing))
            if await self._at(top) == first:
                self._known.update(zip(missing, found, strict=True))
                break
        return self._known

    async def _is_unchanged(self, height: int) -> bool:
        return await self._at(height) == self._known[height]

    async def _at(self, height: int) -> str:
        async with self._turns:
            response = await self._lnd.call(
                "GET", f"{BLOCK_HASH}?block_height={height}"
            )
        return base64.b64decode(response["block_hash"])[::-1].hex()

    async def _has(self, block_hash: str, txid: str) -> bool:
        """Return whether a block contains a transaction; cached."""
        key = block_hash, txid
        if key not in self._contains:
            name = base64.urlsafe_b64encode(bytes.fromhex(block_hash)[::-1]).decode()
            response = await self._lnd.call("GET", f"{BLOCK}?block_hash={name}")
            raw = base64.b64decode(response["raw_block"])
            contains = await asyncio.to_thread(lambda: txid in transaction_ids(raw))
            if len(self._contains) >= _MAX_CACHED:
                self._contains.clear()
            self._contains[key] = contains
        return self._contains[key]
