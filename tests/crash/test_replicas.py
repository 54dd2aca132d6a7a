"""F12, F13: several shops on one PostgreSQL, one of which is killed now and then."""

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from leyden.channels.books.verify import verify
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import OrderStatus
from tests.channels.orders_harness import PRICE
from tests.crash import orders_victim
from tests.crash.orders_victim import COUPONS, ORDERS, TEAM, WORTH, order_id
from tests.crash.tails import check_events, tailing

pytestmark = [pytest.mark.full, pytest.mark.timeout(400)]

_CUT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
_SEED = random.SystemRandom().randrange(2**32)


@pytest.fixture
def begun() -> Iterator[list["subprocess.Popen[bytes]"]]:
    """What was begun, ended with the test."""
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        process.kill()
        process.wait()


def begin(url: str, folder: Path, said: Path) -> "subprocess.Popen[bytes]":
    with said.open("ab") as out, (folder / "sighed").open("ab") as sighed:
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.crash.orders_victim", "many orders"),
                *(url, str(folder)),
            ],
            stdout=out,
            stderr=sighed,
        )


async def test_two_replicas_settle_the_same_orders_and_one_is_killed(
    postgres_url: str, tmp_path: Path, begun: list["subprocess.Popen[bytes]"]
) -> None:
    print(f"seed {_SEED}")  # noqa: T201  shown when the test fails
    chance = random.Random(_SEED)  # noqa: S311  no secret
    async with tailing(postgres_url, TEAM):
        await settle_and_kill(postgres_url, tmp_path, begun, chance)
    await check_books(postgres_url, tmp_path)


async def settle_and_kill(
    postgres_url: str,
    tmp_path: Path,
    begun: list["subprocess.Popen[bytes]"],
    chance: random.Random,
) -> None:
    steady = begin(postgres_url, tmp_path, tmp_path / "steady")
    begun.append(steady)
    for _ in range(2):
        doomed = begin(postgres_url, tmp_path, tmp_path / "doomed")
        begun.append(doomed)
        deadline = time.monotonic() + 120
        while b"at work" not in (tmp_path / "doomed").read_bytes():
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)
        await asyncio.sleep(chance.uniform(0, 1))
        doomed.kill()
        doomed.wait()
        (tmp_path / "doomed").unlink()
    last = begin(postgres_url, tmp_path, tmp_path / "last")
    begun.append(last)
    for replica in (steady, last):
        sighed = tmp_path / "sighed"
        ended = await asyncio.to_thread(replica.wait, 200)
        assert ended == 0, sighed.read_text()[-3000:]


async def test_connections_that_are_cut_lose_nothing(
    postgres_url: str, tmp_path: Path, begun: list["subprocess.Popen[bytes]"]
) -> None:
    """F6, F7, F15: each commit whose answer is lost is looked at again, not guessed."""
    replica = begin(postgres_url, tmp_path, tmp_path / "said")
    begun.append(replica)
    async with await psycopg.AsyncConnection.connect(
        postgres_url, autocommit=True
    ) as connection:
        while b"at work" not in (tmp_path / "said").read_bytes():
            assert replica.poll() is None, (tmp_path / "sighed").read_text()[-3000:]
            await asyncio.sleep(0.02)
        for _ in range(40):
            await connection.execute(_CUT)
            await asyncio.sleep(0.05)
    assert replica.wait(200) == 0, (tmp_path / "sighed").read_text()[-3000:]
    await check_books(postgres_url, tmp_path)


async def check_books(url: str, folder: Path) -> None:
    """Each order is where it belongs, and each sat is with an order or is credit."""
    channels = await orders_victim.shop_of(url, folder)
    assert [
        str(each) for each in await verify(channels.database, channels.payments)
    ] == []
    sums = await channels.database.reader.ledger.sums()
    assert sums[ledger.PROMO] == -COUPONS * WORTH
    found = await channels.database.reader.orders.get_many(
        order_id(number) for number in range(ORDERS)
    )
    statuses = {each.id: each.status for each in found}
    assert statuses == {
        order_id(number): OrderStatus.CANCELLED
        if number % 4 == 0
        else OrderStatus.CREATED
        for number in range(ORDERS)
    }
    held = sum(sats for account, sats in sums.items() if account.startswith("held:"))
    assert held == PRICE * list(statuses.values()).count(OrderStatus.CREATED)
    come_in = -sums[ledger.RECEIVED] + COUPONS * WORTH
    assert sums.get(ledger.credit(TEAM), 0) == come_in - held
    await check_events(channels.database, TEAM)
    await channels.database.close()
