"""F12: two whole `leyden serve` and a `leyden worker` of one home, on one PostgreSQL.

Fifty customers ask both for the same thing at once: one gets it, the others are told
no, nobody gets it twice, and nobody sees anything break.
"""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.channels.orders_harness import PRICE
from tests.installations import Customer, Installation, machine, until

pytestmark = pytest.mark.timeout(400)

_AT_ONCE = 50
_PORTS = (8000, 8001)
_SETTINGS = {
    "LEYDEN_TESTNET_CHAIN": "",  # no nodes here, and no gateway
    "LEYDEN_UNPAID_ORDERS_PER_ORGANIZATION": str(_AT_ONCE),
    "LEYDEN_MARKET": "simulated",
    # Nobody is there: what is not covered by credit cannot be sold.
    "LEYDEN_TREASURY_HOST": "127.0.0.1:1",
}
# Asks all of them at once, on the machine where they are.
_ASKS = """
import asyncio, json, sys, aiohttp
given = json.load(sys.stdin)

async def main():
    headers = {"X-SERVICE-AUTH": given["key"]}
    async with aiohttp.ClientSession(headers=headers) as session:
        async def ask(url):
            async with session.post(url, json=given["body"]) as answer:
                return answer.status, await answer.json()
        print(json.dumps(await asyncio.gather(*map(ask, given["urls"]))))

asyncio.run(main())
"""


@dataclass(frozen=True)
class RunningPlatform:
    """The replicas, and a customer of theirs."""

    installed: Installation
    customer: Customer

    def ask(self, path: str, *, times: int = 1, **body: Any) -> list[tuple[int, Any]]:
        """Ask both replicas in turns, all at once."""
        ports = [_PORTS[number % len(_PORTS)] for number in range(times)]
        given = {
            "key": self.customer.key,
            "urls": [f"http://127.0.0.1:{port}{path}" for port in ports],
            "body": body,
        }
        done = subprocess.run(
            self.installed.at.command(sys.executable, "-c", _ASKS),
            input=json.dumps(given),
            capture_output=True,
            text=True,
            check=True,
        )
        return [(status, content) for status, content in json.loads(done.stdout)]

    def fifty_ask(self, path: str, **body: Any) -> list[tuple[int, Any]]:
        return self.ask(path, times=_AT_ONCE, **body)

    def coupon(self, sats: int) -> str:
        made = self.installed.run("coupons", "create", "--amount", str(sats), "--json")
        assert made.returncode == 0, made.stderr
        return str(json.loads(made.stdout)["coupon"])

    def credit(self) -> int:
        answer = self.installed.call("GET", "/flow/balance", key=self.customer.key)
        return int(answer["credit"])


@pytest.fixture
async def platform(postgres_url: str, tmp_path: Path) -> AsyncIterator[RunningPlatform]:
    with machine(tmp_path, "harbour") as at:
        installed = Installation(at, tmp_path, postgres_url, settings=_SETTINGS)
        try:
            installed.migrate()
            begun = [installed.start("serve", port=port) for port in _PORTS]
            begun.append(installed.start("worker"))

            def logs() -> str:
                return "\n".join(each.said for each in begun)

            for port in _PORTS:
                await until(lambda: installed.answers(port=port), why=logs)  # noqa: B023
            yield RunningPlatform(installed, Customer(installed))
            assert all(each.runs for each in begun), logs()
            assert "Traceback" not in logs()
        finally:
            installed.close()


@pytest.mark.long
async def test_fifty_at_once_of_two_replicas(platform: RunningPlatform) -> None:
    coupon = platform.coupon(PRICE)
    redeemed = Counter(
        status for status, _ in platform.fifty_ask("/flow/redeem", coupon=coupon)
    )
    assert redeemed.pop(200) == 1
    assert set(redeemed) <= {404, 429}
    assert platform.credit() == PRICE

    created = platform.fifty_ask("/flow/create", capacity=1_000_000)
    (order,) = (each for status, each in created if status == 200)
    assert Counter(status for status, _ in created) == {200: 1, 503: _AT_ONCE - 1}
    assert order["credit_used"] == PRICE
    assert platform.credit() == 0
    async with asyncio.timeout(60):
        while order["status"] != "created":
            ((_, order),) = platform.ask("/flow/status", order_id=order["order_id"])
            await asyncio.sleep(0.05)
    assert order["sidecar_ticket"]

    cancelled = platform.fifty_ask("/flow/cancel", order_id=order["order_id"])
    assert {status for status, _ in cancelled} == {200}, cancelled
    assert {each["credit_refund"] for _, each in cancelled} == {PRICE}
    assert platform.credit() == PRICE
    proven = platform.installed.run("verify", "--no-treasury")
    assert proven.returncode == 0, proven.stdout
