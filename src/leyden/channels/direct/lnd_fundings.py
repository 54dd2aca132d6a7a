"""Funding transactions of a seller that is an lnd: watched, and bumped.

The wallet lists its transactions; the chain confirms that a block really has them.
"""

from collections.abc import Collection
from typing import Any, Final

from leyden.base.rules.units import Sats
from leyden.channels.direct.base import BumpRefused
from leyden.channels.direct.connection import (
    BLOCKS,
    BUMP,
    HASHES,
    SellerConnection,
    check_ready,
    is_denied,
    refusal,
)
from leyden.channels.direct.rules.fundings import WalletTransaction
from leyden.channels.direct.rules.openings import Coin
from leyden.channels.rules.payments import Outpoint
from leyden.errors import NodeRefused
from leyden.nodes.lnd.best_chain import BLOCK, BLOCK_HASH, BestChain, Confirmation
from leyden.nodes.lnd.transactions import virtual_size
from leyden.values import replace

_BUMP: Final = "/v2/wallet/bumpfee"


class LndFundings:
    """The fundings that the wallet of one lnd knows."""

    def __init__(self, lnd: SellerConnection) -> None:
        self._lnd = lnd
        self._chain = BestChain(lnd)

    async def spending(
        self, coins: Collection[Outpoint], *, since: int
    ) -> list[WalletTransaction]:
        """List what spends these coins, and what spends the change of that.

        A confirmation counts if the chain has that block. If the macaroon is too old
        to ask for blocks, the confirmation counts, but not as proven.
        """
        spent, ours = set(coins), set[Outpoint]()
        found: list[tuple[WalletTransaction, Confirmation]] = []
        unrelated: list[WalletTransaction] = []
        for listed in await self._lnd.transactions(since):
            transaction, confirmation = _transaction(listed)
            if spent.isdisjoint(transaction.spends):
                unrelated.append(transaction)
            else:
                found.append((transaction, confirmation))
                ours.update(coin.outpoint for coin in transaction.ours)
        claimed = {
            confirmation
            for transaction, confirmation in found
            if transaction.confirmations
        }
        try:
            confirmed = await self._chain.having(claimed)
        except NodeRefused as error:
            if not is_denied(error):
                raise refusal(error) from error
            proven = [transaction for transaction, _ in found]
        else:
            proven = [
                replace(transaction, proven=True)
                if confirmation in confirmed
                else replace(transaction, confirmations=0)
                for transaction, confirmation in found
            ]
        return proven + [
            transaction
            for transaction in unrelated
            if not ours.isdisjoint(transaction.spends)
        ]

    async def bump(self, outpoint: Outpoint, fee: Sats) -> BumpRefused | None:
        """Spend the output by lnd's sweeper, with exactly that fee.

        One block before its deadline the sweeper pays its whole budget at once; without
        a budget it would go on until half of the coin is gone to miners.
        """
        body = {
            "outpoint": {"txid_str": outpoint.txid, "output_index": outpoint.vout},
            "immediate": True,
            "budget": str(fee),
            "deadline_delta": 1,
        }
        try:
            await self._lnd.call("POST", _BUMP, body)
        except NodeRefused as error:
            check_ready(error)
            return BumpRefused(error.message[:400], forbidden=is_denied(error))
        return None

    async def denied(self) -> list[str]:
        """Make invalid calls and list those denied: lnd checks permissions first."""
        found = []
        if await self._is_denied("POST", _BUMP, {}):
            found.append(BUMP)
        if await self._is_denied("GET", f"{BLOCK_HASH}?block_height=0"):
            found.append(HASHES)
        if await self._is_denied("GET", BLOCK):
            found.append(BLOCKS)
        return found

    async def _is_denied(
        self, method: str, path: str, body: dict[str, object] | None = None
    ) -> bool:
        try:
            await self._lnd.call(method, path, body)
        except NodeRefused as error:
            check_ready(error)
            return is_denied(error)
        return False


def _transaction(listed: dict[str, Any]) -> tuple[WalletTransaction, Confirmation]:
    """Return a transaction, and the block that has it according to the wallet."""
    txid = str(listed["tx_hash"])
    transaction = WalletTransaction(
        txid=txid,
        confirmations=max(0, int(listed["num_confirmations"])),
        fee=Sats(int(listed["total_fees"])),
        vbytes=virtual_size(bytes.fromhex(listed["raw_tx_hex"])),
        spends=tuple(
            Outpoint.parse(each["outpoint"]) for each in listed["previous_outpoints"]
        ),
        ours=tuple(
            Coin(
                sats=Sats(int(each["amount"])),
                outpoint=Outpoint(txid, int(each.get("output_index", 0))),
            )
            for each in listed["output_details"]
            if each["is_our_address"]
        ),
    )
    return transaction, Confirmation(
        txid, int(listed["block_height"]), str(listed["block_hash"])
    )
