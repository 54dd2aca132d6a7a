"""The lnd that pays other LSPs, when it does not answer."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from leyden.base.rules.units import Sats
from leyden.channels.direct.lnd_payer import LndPayer
from leyden.errors import SellerAway
from tests.channels.direct.lnd_in_place import answering


async def silence(request: web.Request) -> web.StreamResponse:
    """Begin to answer, as an lnd that freezes then."""
    response = web.StreamResponse()
    await response.prepare(request)
    await asyncio.Event().wait()
    return response


@pytest.fixture
async def payer(tmp_path: Path) -> AsyncIterator[LndPayer]:
    async with answering(tmp_path, silence) as access:
        payer = LndPayer(access, answer_s=0.2)
        yield payer
        await payer.close()


async def test_a_frozen_lnd_holds_up_no_step(payer: LndPayer) -> None:
    """The step would keep its claim, and the customer's payment would expire."""
    async with asyncio.timeout(10):
        with pytest.raises(SellerAway):
            await payer.payment("ab" * 32)
        with pytest.raises(SellerAway):
            await payer.pay("lnbcrt1", fee_limit=Sats(1))
