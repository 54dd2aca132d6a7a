"""The treasury's balances: coins, and the local balance of its channels."""

import asyncio

from leyden.base.rules.units import Sats
from leyden.channels.payments.treasury import Treasury, refusal
from leyden.channels.rules.payments import Holdings
from leyden.errors import NodeRefused


async def holdings(treasury: Treasury) -> Holdings:
    """Return the treasury's balances; old macaroons without channels work."""
    try:
        info, coins, channels = await asyncio.gather(
            treasury.call("GET", "/v1/getinfo"),
            treasury.call("GET", "/v1/balance/blockchain"),
            _in_channels(treasury),
        )
    except NodeRefused as error:
        raise refusal(error) from error
    return Holdings(
        confirmed=Sats(int(coins["confirmed_balance"])),
        unconfirmed=Sats(int(coins["unconfirmed_balance"])),
        in_channels=channels,
        height=int(info["block_height"]),
        synced=bool(info["synced_to_chain"]),
    )


async def _in_channels(treasury: Treasury) -> Sats | None:
    try:
        response = await treasury.call("GET", "/v1/balance/channels")
    except NodeRefused:
        return None
    return Sats(int(response["local_balance"]["sat"]))
