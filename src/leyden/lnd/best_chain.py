"""Whether an lnd's chain has the transactions that its wallet says it has.

A reorganisation of an even number of blocks leaves the transactions of the lowest one
confirmed in lnd's wallet: it stores no hash for the block before one that is undone,
does not recognise that one when it is undone in turn, and keeps what it held (btcwallet
up to 0.16.19, under lnd 0.20.1, 0.20.2 and 0.21.2, whatever the backend of the chain).
The wallet goes on counting their confirmations, for good. It also names the block that
is gone for whatever the block now at that height has. So a confirmation counts only if
the chain has the block, or another one at its height that has the transaction.
"""

import asyncio
import base64
from collections.abc import Collection
from typing import Any, Final, Protocol

from leyden.lnd.transactions import transaction_ids
from leyden.values import Struct

BLOCK_HASH: Final = "/v2/chainkit/blockhash"
BLOCK: Final = "/v2/chainkit/block"
_AT_ONCE: Final = 16
_MOST_READ: Final = 1_000  # answers about blocks that are kept


class Confirmation(Struct, frozen=True):
    """A transaction, and the block that a wallet says has it."""

    txid: str
    height: int
    block_hash: str


class Caller(Protocol):
    """Whatever calls an lnd; it raises without an answer, and with lnd's refusal."""

    async def call(self, method: str, path: str) -> dict[str, Any]:
        """Call it."""
        ...


class BestChain:
    """The chain that an lnd's backend takes for the best one now."""

    def __init__(self, lnd: Caller) -> None:
        self._lnd = lnd
        self._known: dict[int, str] = {}  # hashes by height
        # Whether a block, by its hash, has a transaction.
        self._read: dict[tuple[str, str], bool] = {}
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._asking = asyncio.Lock()

    async def having(self, named: Collection[Confirmation]) -> set[Confirmation]:
        """Return those that the chain has.

        Of a chain that is shorter than what the wallet names lnd tells nothing: its
        backend may be catching up, and it is not known. All answers are of one chain:
        the highest block, asked for before and after, has all the others below it.
        """
        async with self._asking:
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
        """Look into a block, which never changes, once for each transaction."""
        key = block_hash, txid
        if key not in self._read:
            name = base64.urlsafe_b64encode(bytes.fromhex(block_hash)[::-1]).decode()
            response = await self._lnd.call("GET", f"{BLOCK}?block_hash={name}")
            raw = base64.b64decode(response["raw_block"])
            has_it = await asyncio.to_thread(lambda: txid in transaction_ids(raw))
            if len(self._read) >= _MOST_READ:
                self._read.clear()
            self._read[key] = has_it
        return self._read[key]
