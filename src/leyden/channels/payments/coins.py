"""The treasury wallet's coins on the chain, by address.

Everything is listed once; after that only the newest blocks are, as deep as
any reorganization may go, and unconfirmed coins. A coin in a block that the
chain does not have is unconfirmed, whatever the wallet says. A block reward
waits until it can be spent: should its block be replaced, no other block has it.
"""

import asyncio
import time
from collections import defaultdict
from typing import Any

from leyden.base.rules.units import Sats
from leyden.channels.payments.treasury import Treasury
from leyden.channels.rules.payments import Outpoint, Output
from leyden.nodes.lnd.best_chain import BestChain, Confirmation
from leyden.values import Struct

_WINDOW = 144
_FRESH_S = 0.25
_MATURITY = 100  # confirmations after which a coinbase output can be spent
_NULL_OUTPOINT = f"{'0' * 64}:"  # what a coinbase transaction spends


class _Coin(Struct, frozen=True):
    address: str
    sats: Sats
    height: int  # 0 while no block has it
    min_confirmations: int  # with fewer it counts as unconfirmed


class Coins:
    """All outputs ever paid to the wallet, with their confirmations."""

    def __init__(self, treasury: Treasury) -> None:
        self._treasury = treasury
        self._chain = BestChain(treasury)
        self._coins: dict[Outpoint, _Coin] = {}
        self._at: defaultdict[str, set[Outpoint]] = defaultdict(set)
        self.tip = 0
        self._listed_at = float("-inf")
        self._listing = asyncio.Lock()

    def at(self, address: str) -> list[Output]:
        """Return the outputs to an address."""
        return [self._output(each) for each in sorted(self._at.get(address, ()))]

    def since(self, height: int) -> list[Output]:
        """Return outputs new or possibly changed since a height; 0 means all."""
        return [
            self._output(outpoint)
            for outpoint, coin in self._coins.items()
            if not coin.height or coin.height > height - _WINDOW
        ]

    async def refresh(self, *, at_most_s: float = _FRESH_S) -> None:
        """Reload the outputs that may have changed, unless they were just reloaded."""
        async with self._listing:
            if time.monotonic() - self._listed_at < at_most_s:
                return
            began = time.monotonic()
            tip = int((await self._treasury.call("GET", "/v1/getinfo"))["block_height"])
            # A chain that has become shorter by more than the window: list it all.
            known = self.tip if tip > self.tip - _WINDOW else 0
            start = max(0, known - _WINDOW)
            response = await self._treasury.call(
                "GET", f"/v1/transactions?start_height={start}&end_height=-1"
            )
            transactions = [
                (each, _confirmation(each)) for each in response["transactions"]
            ]
            claimed = {each for _, each in transactions if each is not None}
            confirmed = await self._chain.having(claimed)
            self._forget_from(start)
            for transaction, each in transactions:
                self._keep(transaction, each.height if each in confirmed else 0)
            self.tip = tip
            self._listed_at = began

    def _forget_from(self, height: int) -> None:
        changeable = [
            outpoint
            for outpoint, coin in self._coins.items()
            if not coin.height or coin.height >= height
        ]
        for outpoint in changeable:
            self._at[self._coins.pop(outpoint).address].discard(outpoint)

    def _keep(self, transaction: dict[str, Any], height: int) -> None:
        is_coinbase = any(
            each["outpoint"].startswith(_NULL_OUTPOINT)
            for each in transaction["previous_outpoints"]
        )
        for output in transaction["output_details"]:
            if not output["is_our_address"]:
                continue
            outpoint = Outpoint(
                str(transaction["tx_hash"]), int(output["output_index"])
            )
            if not height and outpoint in self._coins:
                continue  # listed twice: also in a block that the chain lacks
            self._coins[outpoint] = _Coin(
                output["address"],
                Sats(int(output["amount"])),
                height,
                _MATURITY if is_coinbase else 0,
            )
            self._at[output["address"]].add(outpoint)

    def _output(self, outpoint: Outpoint) -> Output:
        coin = self._coins[outpoint]
        depth = max(self.tip - coin.height + 1, 1) if coin.height else 0
        return Output(
            outpoint=outpoint,
            address=coin.address,
            sats=coin.sats,
            confirmations=depth if depth >= coin.min_confirmations else 0,
        )


def _confirmation(transaction: dict[str, Any]) -> Confirmation | None:
    """Return the block that contains the transaction, according to the wallet."""
    height = int(transaction["block_height"])
    if height <= 0:
        return None
    return Confirmation(
        str(transaction["tx_hash"]), height, str(transaction["block_hash"])
    )
