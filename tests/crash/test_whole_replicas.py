"""F12: two whole `leyden serve` and a `leyden worker` on one PostgreSQL.

Fifty customers ask both for the same thing at once: one gets it, the others are told
no, nobody gets it twice, and nobody sees anything break.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from leyden import app, settings
from leyden.domain.times import utc_now
from leyden.services import accounts, credit
from leyden.services.platform import Platform
from leyden.services.verify import verify
from tests.ports import free_ports
from tests.services.till import PRICE

pytestmark = pytest.mark.timeout(200)

_AT_ONCE = 50
_PROGRAM = "from leyden.cli.main import main; main()"  # whichever way it is installed


@dataclass(frozen=True)
class Town:
    """The replicas, and a customer of theirs."""

    platform: Platform
    team: str
    session: aiohttp.ClientSession
    urls: tuple[str, ...]

    async def ask(self, replica: int, path: str, **body: Any) -> tuple[int, Any]:
        url = f"{self.urls[replica % len(self.urls)]}{path}"
        async with self.session.post(url, json=body) as answer:
            return answer.status, await answer.json()

    async def fifty_ask(self, path: str, **body: Any) -> list[tuple[int, Any]]:
        asked = (self.ask(number, path, **body) for number in range(_AT_ONCE))
        return await asyncio.gather(*asked)

    async def coupon(self, sats: int) -> str:
        (coupon,) = await credit.issue_coupons(
            self.platform.database,
            sats=sats,
            count=1,
            organization_id=None,
            expires=None,
            note="",
            actor="operator:alice",
            now=utc_now(),
        )
        return coupon.id

    async def credit(self) -> int:
        return (await credit.balance(self.platform.database, self.team)).credit


@contextlib.asynccontextmanager
async def _running(
    given: Mapping[str, str], ports: tuple[int, ...], logs: Path
) -> AsyncIterator[None]:
    """Run a server on each port, and one worker."""
    begun: list[subprocess.Popen[bytes]] = []
    words = [("serve", port) for port in ports] + [("worker", 0)]
    try:
        with logs.open("wb") as log:
            for word, port in words:
                begun.append(
                    subprocess.Popen(
                        [sys.executable, "-c", _PROGRAM, word],
                        env={**os.environ, **given, "LEYDEN_API_PORT": str(port)},
                        stdout=log,
                        stderr=log,
                    )
                )
        async with asyncio.timeout(90), aiohttp.ClientSession() as session:
            for port in ports:
                while not await _answers(session, port):
                    assert all(each.poll() is None for each in begun), logs.read_text()
                    await asyncio.sleep(0.05)
        yield
    finally:
        for process in begun:
            process.terminate()
        for process in begun:
            process.wait(30)


async def _answers(session: aiohttp.ClientSession, port: int) -> bool:
    with contextlib.suppress(aiohttp.ClientError):
        async with session.get(f"http://127.0.0.1:{port}/health/ready") as answer:
            return answer.status == 200
    return False


@pytest.fixture
async def town(postgres_url: str, tmp_path: Path) -> AsyncIterator[Town]:
    ports = free_ports(2)
    given = {
        "LEYDEN_HOME": str(tmp_path / "home"),
        "LEYDEN_DATABASE_URL": postgres_url,
        "LEYDEN_METRICS_PORT": "0",
        "LEYDEN_REQUESTS_PER_MINUTE": "100000",
        "LEYDEN_UNPAID_ORDERS_PER_ORGANIZATION": str(_AT_ONCE),
        "LEYDEN_MARKET": "simulated",
        # Nobody is there: what is not covered by credit cannot be sold.
        "LEYDEN_TREASURY_HOST": "127.0.0.1:1",
    }
    loaded = settings.load(given)
    (tmp_path / "home").mkdir(mode=0o700)
    app.migrate(loaded)
    async with (
        app.opened(loaded) as platform,
        _running(given, ports, tmp_path / "log"),
    ):
        team = await accounts.create_organization(platform, "Harbour", actor="alice")
        _, key = await accounts.create_key(
            platform, team.id, name="all", scopes=["flow"], expires=None, actor="alice"
        )
        async with aiohttp.ClientSession(headers={"X-SERVICE-AUTH": key}) as session:
            urls = tuple(f"http://127.0.0.1:{port}" for port in ports)
            yield Town(platform, team.id, session, urls)
        assert "Traceback" not in (tmp_path / "log").read_text()


async def test_fifty_at_once_of_two_replicas(town: Town) -> None:
    coupon = await town.coupon(PRICE)
    redeemed = Counter(
        status for status, _ in await town.fifty_ask("/flow/redeem", coupon=coupon)
    )
    assert redeemed.pop(200) == 1
    assert set(redeemed) <= {404, 429}
    assert await town.credit() == PRICE

    created = await town.fifty_ask("/flow/create", capacity=1_000_000)
    (order,) = (each for status, each in created if status == 200)
    assert Counter(status for status, _ in created) == {200: 1, 503: _AT_ONCE - 1}
    assert order["credit_used"] == PRICE
    assert await town.credit() == 0
    async with asyncio.timeout(60):
        while order["status"] != "created":
            _, order = await town.ask(1, "/flow/status", order_id=order["order_id"])
    assert order["sidecar_ticket"]

    cancelled = await town.fifty_ask("/flow/cancel", order_id=order["order_id"])
    assert {status for status, _ in cancelled} == {200}, cancelled
    assert {each["credit_refund"] for _, each in cancelled} == {PRICE}
    assert await town.credit() == PRICE
    assert [str(each) for each in await verify(town.platform.database)] == []
