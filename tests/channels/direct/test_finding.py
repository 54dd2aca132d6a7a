"""An opening that goes on while it is looked for is never missed."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from aiohttp import web

from leyden.base.rules.units import Sats
from leyden.channels.direct.lnd import LndSeller
from leyden.channels.direct.rules.openings import Coin, OpeningState
from leyden.channels.rules.payments import Outpoint
from tests.channels.direct.lnd_in_place import answering

ORDER: Final = "an order"
COIN: Final = Coin(sats=Sats(3_000_000), outpoint=Outpoint("ab" * 32, 0))
POINT: Final = f"{'cd' * 32}:0"
MEMO: Final = {"memo": ORDER, "channel_point": POINT}
LOCKED, SIGNED, OPENED, CLOSED = range(4)


class Hasty:
    """An lnd whose opening may be one step further after each of its answers."""

    def __init__(self, steps: Sequence[int]) -> None:
        self._to_come = list(steps)
        self.step = LOCKED

    async def answer(self, request: web.Request) -> web.Response:
        if self._to_come:
            self.step = self._to_come.pop(0)
        return web.json_response(self._answers()[request.path])

    def _answers(self) -> dict[str, Any]:
        at = {"txid_str": COIN.outpoint.txid, "output_index": COIN.outpoint.vout}
        closed = {"channel_point": POINT, "close_type": "COOPERATIVE_CLOSE"}
        funding = {
            "tx_hash": POINT.partition(":")[0],
            "total_fees": "308",
            "previous_outpoints": [{"outpoint": str(COIN.outpoint)}],
        }
        return {
            "/v2/wallet/utxos/leases": {
                "locked_utxos": [{"outpoint": at}] if self.step == LOCKED else []
            },
            "/v1/channels/pending": {
                "pending_open_channels": (
                    [{"channel": MEMO}] if self.step == SIGNED else []
                ),
                "waiting_close_channels": [],
                "pending_force_closing_channels": [],
            },
            "/v1/channels": {"channels": [MEMO] if self.step == OPENED else []},
            "/v1/channels/closed": {
                "channels": [closed] if self.step == CLOSED else []
            },
            "/v1/utxos": {"utxos": []},
            "/v1/getinfo": {"block_height": 1_000},
            "/v1/transactions": {"transactions": [funding]},
        }


@pytest.fixture(
    params=[
        (LOCKED, SIGNED),
        (SIGNED, OPENED),
        (SIGNED, SIGNED, OPENED),
        (OPENED, OPENED, OPENED, CLOSED),
        (CLOSED,),
    ]
)
async def seller(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[LndSeller]:
    async with answering(tmp_path, Hasty(request.param).answer) as access:
        seller = LndSeller(access)
        yield seller
        await seller.close()


async def test_an_opening_is_found_however_fast_it_proceeds(seller: LndSeller) -> None:
    async with asyncio.timeout(10):
        found = await seller.find(ORDER, [COIN])
    assert found.state is OpeningState.PUBLISHED
    assert found.channel_point == POINT
