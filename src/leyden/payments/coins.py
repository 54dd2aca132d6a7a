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

from leyden.domain.payments import Outpoint, Output
from leyden.domain.units import Sats
from leyden.lnd.best_chain import BestChain, Confirmation
from leyden.payments.treasury import Treasury
from leyden.values import Struct

_WINDOW = 144
_FRESH_S = 0.25
_RIPE = 100  # confirmations after which what a block pays its finder can be spent
_OUT_OF_NOTHING = f"{'0' * 64}:"  # what it spends


class _Coin(Struct, frozen=True):
    address: str
    sats: Sats
    height: int  # 0 while no block has it
    ripe: int  # the confirmations without which it counts for nothing


class Coins:
    """Every output that was ever paid to the wallet, with its depth."""

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
        """List what may have changed, unless that was done just now."""
        async with self._listing:
            if time.monotonic() - self._listed_at < at_most_s:
                return
            began = time.monotonic()
            tip = int((await self._treasury.call("GET", "/v1/getinfo"))["block_height"])
            # A chain that has become shorter by more than the window: list it all.
            known = self.tip if tip > self.tip - _WINDOW else 0
            start = max(0, known - _WINDOW)
            told = await self._treasury.call(
                "GET", f"/v1/transactions?start_height={start}&end_height=-1"
            )
            transactions = [
                (each, _confirmation(each)) for each in told["transactions"]
            ]
            named = {each for _, each in transactions if each is not None}
            there = await self._chain.having(named)
            self._forget_from(start)
            for transaction, each in transactions:
                self._keep(transaction, each.height if each in there else 0)
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
        found = any(
            each["outpoint"].startswith(_OUT_OF_NOTHING)
            for each in transaction["previous_outpoints"]
        )
        for output in transaction["output_details"]:
            if not output["is_our_address"]:
                continue
            outpoint = Outpoint(
                str(transaction["tx_hash"]), int(output["output_index"])
            )
            if not height and outpoint in self._coins:
                continue  # the wallet names a block that is gone and one that is there
            self._coins[outpoint] = _Coin(
                output["address"],
                Sats(int(output["amount"])),
                height,
                _RIPE if found else 0,
            )
            self._at[output["address"]].add(outpoint)

    def _output(self, outpoint: Outpoint) -> Output:
        coin = self._coins[outpoint]
        depth = max(self.tip - coin.height + 1, 1) if coin.height else 0
        return Output(
            outpoint=outpoint,
            address=coin.address,
            sats=coin.sats,
            confirmations=depth if depth >= coin.ripe else 0,
        )


def _confirmation(transaction: dict[str, Any]) -> Confirmation | None:
    """Return what the wallet says of the block that has the transaction."""
    height = int(transaction["block_height"])
    if height <= 0:
        return None
    return Confirmation(
        str(transaction["tx_hash"]), height, str(transaction["block_hash"])
    )
