"""Blocks that take nothing, and transactions that spend a coin of lnd's once more."""

import base64
from collections.abc import Mapping
from typing import Any, Protocol

from leyden.channels.direct.rules.openings import Coin
from leyden_workshop.devnet.chain import BtcdChain
from leyden_workshop.devnet.spending import ScriptOutput
from tests.channels.contracts.blocks import block_after, hash_of

_ANYBODY = bytes.fromhex("51")  # OP_TRUE


class Caller(Protocol):
    """Whoever calls an lnd as its owner."""

    async def call(
        self, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> dict[str, Any]:
        """Call it."""
        ...


async def mine_nothing(chain: BtcdChain, blocks: int) -> None:
    """Find blocks that no waiting transaction gets into."""
    for _ in range(blocks):
        best = await chain.call("getbestblockhash")
        before = await chain.call("getblockheader", best)
        block = block_after(before, ScriptOutput(0, _ANYBODY))
        await chain.call("submitblock", block.hex())
        assert (await chain.height()) == before["height"] + 1


async def unmine(chain: BtcdChain, depth: int) -> None:
    """Let a longer branch that takes no transaction replace the newest blocks."""
    root = await chain.call("getblockhash", await chain.height() - depth)
    before = await chain.call("getblockheader", root)
    for _ in range(depth + 1):
        block = block_after(before, ScriptOutput(0, _ANYBODY))
        await chain.call("submitblock", block.hex())
        before |= {
            "height": before["height"] + 1,
            "hash": hash_of(block),
            "time": before["time"] + 1,
        }
    assert await chain.call("getbestblockhash") == before["hash"]


async def abandon(owner: Caller, channel_point: str) -> None:
    """Have an lnd forget a channel that never comes."""
    txid, _, index = channel_point.partition(":")
    how = "pending_funding_shim_only=false&i_know_what_i_am_doing=true"
    await owner.call("DELETE", f"/v1/channels/abandon/{txid}/{index}?{how}")


async def rival_of(owner: Caller, coin: Coin, *, sat_per_vb: int) -> str:
    """Return a signed transaction of this coin, in hex; lnd forgets that it has one."""
    answer = await owner.call("GET", "/v1/newaddress?type=TAPROOT_PUBKEY")
    outpoint = {
        "txid_str": coin.outpoint.txid,
        "output_index": coin.outpoint.vout,
    }
    paid = {answer["address"]: str(coin.sats // 2)}
    template = {"inputs": [outpoint], "outputs": paid}
    funded = await owner.call(
        "POST",
        "/v2/wallet/psbt/fund",
        {"raw": template, "sat_per_vbyte": str(sat_per_vb)},
    )
    signed = await owner.call(
        "POST", "/v2/wallet/psbt/finalize", {"funded_psbt": funded["funded_psbt"]}
    )
    for each in funded["locked_utxos"]:
        await owner.call(
            "POST",
            "/v2/wallet/utxos/release",
            {"id": each["id"], "outpoint": each["outpoint"]},
        )
    return base64.b64decode(signed["raw_final_tx"]).hex()
