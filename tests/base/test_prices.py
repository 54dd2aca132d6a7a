"""What a bitcoin costs: from the operator's source, and only while it is known."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web

from leyden.app.installation import running
from leyden.app.migration import migrate
from leyden.base.price_source import ask
from leyden.base.prices import Price, Prices
from leyden.base.settings import load
from leyden.errors import SetupError
from tests.conftest import NOW
from tests.nodes.wiring.test_authority import settings
from tests.waiting import until

MINUTE = timedelta(minutes=1)


def clock() -> datetime:
    return NOW


class Source:
    """A server of prices, and how often it was asked."""

    def __init__(self) -> None:
        self.text = '{"time": 1772366400, "USD": 70000, "EUR": 65000.5}'
        self.status = 200
        self.asked = 0
        self.url = ""

    async def answer(self, _: web.Request) -> web.Response:
        self.asked += 1
        return web.Response(text=self.text, status=self.status)


@asynccontextmanager
async def serving() -> AsyncIterator[Source]:
    source, app = Source(), web.Application()
    app.router.add_get("/price", source.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    source.url = f"http://127.0.0.1:{runner.addresses[0][1]}/price"
    try:
        yield source
    finally:
        await runner.cleanup()


async def test_a_price_is_known_for_ten_minutes() -> None:
    prices = Prices()
    assert prices.last(NOW) is None
    async with serving() as source:
        await ask(prices, source.url, "EUR", clock)
    price = Price("EUR", 65_000.5, NOW)
    assert prices.last(NOW + 10 * MINUTE) == price
    assert prices.last(NOW + 11 * MINUTE) is None


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('{"EUR": 65000}', 200),
        ('{"USD": "70000"}', 200),
        ('{"USD": 0}', 200),
        ('{"USD": -7}', 200),
        ('{"USD": true}', 200),
        ("[70000]", 200),
        ("<html>", 200),
        (f'{{"USD": 70000, "pad": "{"x" * 100_000}"}}', 200),
        ('{"USD": 70000}', 503),
    ],
)
async def test_a_source_that_fails_leaves_the_last_price(
    text: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    prices = Prices()
    async with serving() as source:
        await ask(prices, source.url, "USD", clock)
        source.text, source.status = text, status
        with caplog.at_level(logging.WARNING):
            await ask(prices, f"{source.url}?key=harbour", "USD", clock)
    assert prices.last(NOW) == Price("USD", 70_000.0, NOW)
    (said,) = [each for each in caplog.records if "no price" in each.message]
    assert "harbour" not in str(said.__dict__)


async def test_a_source_that_is_away_is_no_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    prices = Prices()
    await ask(prices, "http://127.0.0.1:1/price", "USD", clock)
    assert prices.last(NOW) is None
    assert "price_source gives no price" in caplog.text


def jobs() -> set[str]:
    return {task.get_name() for task in asyncio.all_tasks()}


async def test_an_installation_asks_its_source_but_never_on_a_private_chain(
    tmp_path: Path,
) -> None:
    async with serving() as source:
        given = settings(tmp_path, price_source=source.url)
        migrate(given)
        async with running(given, loops=False) as platform:
            await until(lambda: platform.prices.last(platform.clock()))
            assert {"samples", "prices"} <= jobs()
        asked = source.asked
        private = settings(
            tmp_path,
            price_source=source.url,
            testnet_rpc_certificate=str(tmp_path / "devnet" / "rpc.cert"),
        )
        async with running(private, loops=False) as platform:
            assert "samples" in jobs()
            assert "prices" not in jobs()
            assert platform.prices.last(platform.clock()) is None
        assert source.asked == asked


def test_a_source_is_a_url_and_a_currency_has_three_letters() -> None:
    with pytest.raises(SetupError, match="price_source: must be an https:// URL"):
        load({"LEYDEN_PRICE_SOURCE": "file:///prices"})
    with pytest.raises(SetupError, match="price_currency: "):
        load({"LEYDEN_PRICE_CURRENCY": "dollars"})
