"""The faucet: coins from a private chain's own blocks.

The faucet has no state. Each block's coinbase pays the mining key. The
newest spendable coinbases are tried first; if those are spent, a block is
mined, which makes one more spendable. Change returns to the key and is not
looked for: coins are free here.
"""

from collections.abc import AsyncIterator, Sequence

from leyden.errors import Away, Malformed, Refused
from leyden_workshop.devnet.chain import BtcdChain
from leyden_workshop.devnet.mining_key import MiningKey
from leyden_workshop.devnet.spending import (
    ScriptOutput,
    SpendableOutput,
    spend,
    virtual_size,
)

COIN = 100_000_000
# A hundred coinbases; what spends many more is too large to be relayed.
MAX_SATS = 4_900 * COIN
_LEAST_SATS = 1_000  # safely more than any node calls dust
_SATS_PER_VBYTE = 2
# A coinbase may be spent in the hundredth block after it.
_MATURE_BELOW_TIP = 99
# So many spent ones in a row, and mining is quicker than looking on.
_LOOK_AT = 40
_TRIES = 20
# btcd's words for a coin that went into its mempool, or a block, a moment ago.
_TAKEN = ("already spent", "fully-spent", "already have transaction")


async def fund(chain: BtcdChain, key: MiningKey, script: bytes, sats: int) -> str:
    """Pay an output script and return the unconfirmed transaction's id.

    Two concurrent calls never spend the same coin: btcd rejects the later
    one, which then uses another coin.
    """
    if not _LEAST_SATS <= sats <= MAX_SATS:
        raise Malformed(f"amount: must be from {_LEAST_SATS:,} to {MAX_SATS:,} sat")
    paid = ScriptOutput(sats, script)
    taken: set[str] = set()
    for _ in range(_TRIES):
        coins = await _coins(chain, key, [paid], passed_over=taken)
        transaction = spend(coins, _with_change(coins, [paid], key), key)
        try:
            txid: str = await chain.call("sendrawtransaction", transaction.hex())
        except Refused as refused:
            if not any(words in refused.message for words in _TAKEN):
                raise
            taken.update(coin.txid for coin in coins)
        else:
            return txid
    raise Away("other payments are spending the same coins; try again")


async def _coins(
    chain: BtcdChain,
    key: MiningKey,
    paid: Sequence[ScriptOutput],
    *,
    passed_over: set[str],
) -> list[SpendableOutput]:
    """Return unspent coins that cover the payment and the fee."""
    found: list[SpendableOutput] = []
    async for coin in _unspent(chain, key):
        if coin.txid not in passed_over:
            found.append(coin)
        if _left(found, paid, key) >= 0:
            return found
    raise AssertionError("blocks can always be mined")


async def _unspent(chain: BtcdChain, key: MiningKey) -> AsyncIterator[SpendableOutput]:
    """Yield spendable coinbases, newest first; mine when they run out."""
    newest = await chain.height() - _MATURE_BELOW_TIP
    spent = 0
    for height in range(newest, 0, -1):
        coin = await _coinbase(chain, key, height)
        if coin is not None:
            spent = 0
            yield coin
        elif (spent := spent + 1) == _LOOK_AT:
            break
    while True:
        await chain.mine(1)
        newest += 1
        if newest > 0 and (coin := await _coinbase(chain, key, newest)) is not None:
            yield coin


async def _coinbase(
    chain: BtcdChain, key: MiningKey, height: int
) -> SpendableOutput | None:
    """Return the block's unspent coinbase to the key, or None."""
    block = await chain.call("getblock", await chain.call("getblockhash", height), 1)
    txid: str = block["tx"][0]
    output = await chain.call("gettxout", txid, 0)
    if output is None or output["scriptPubKey"]["hex"] != key.output_script.hex():
        return None
    return SpendableOutput(txid, 0, round(output["value"] * COIN))


def _left(
    coins: Sequence[SpendableOutput], paid: Sequence[ScriptOutput], key: MiningKey
) -> int:
    """Compute the change after payments and fee."""
    outputs = [*paid, ScriptOutput(0, key.output_script)]
    fee = _SATS_PER_VBYTE * virtual_size(len(coins), outputs)
    return sum(c.sats for c in coins) - sum(o.sats for o in paid) - fee


def _with_change(
    coins: Sequence[SpendableOutput], paid: Sequence[ScriptOutput], key: MiningKey
) -> list[ScriptOutput]:
    left = _left(coins, paid, key)
    change = [ScriptOutput(left, key.output_script)] if left >= _LEAST_SATS else []
    return [*paid, *change]
