"""F1: kill -9 at each step to the disk from a coupon to an order that is given up."""

import random
from pathlib import Path

import pytest

from leyden.domain import ledger
from leyden.services.verify import verify
from leyden.storage import schema
from tests.crash import shop_victim
from tests.crash.conftest import Said, run_victim
from tests.crash.shop_victim import TEAM, WORTH
from tests.services.till import PRICE

pytestmark = [pytest.mark.usefixtures("strace"), pytest.mark.timeout(900)]

EVERYTHING = ("created", "ticket", "refund")


def told(url: str, folder: Path, *, kill_at_fsync: int | None = None) -> Said:
    return run_victim(
        "one order",
        url,
        str(folder),
        module="tests.crash.shop_victim",
        kill_at_fsync=kill_at_fsync,
    )


@pytest.mark.parametrize(
    "every", [4, pytest.param(1, marks=pytest.mark.long)], ids=["some", "all"]
)
async def test_whatever_is_killed_the_money_is_where_it_belongs(
    tmp_path: Path, every: int
) -> None:
    first = random.SystemRandom().randint(1, every)
    print(f"killed at {first}, and at each {every}th after it")  # noqa: T201
    for number in range(first, 200, every):
        folder = tmp_path / str(number)
        folder.mkdir()
        url = f"sqlite:///{folder}/leyden.db"
        schema.migrate(url)
        said = told(url, folder, kill_at_fsync=number)
        after = told(url, folder)
        assert not after.killed
        assert after.of("created") == [f"{WORTH} {after.of('created')[0].split()[1]}"]
        for word in EVERYTHING:  # what was said before is said again, to the letter
            assert said.of(word) in ([], after.of(word)), f"killed at {number}"
        assert after.of("refund") == [str(PRICE)]
        await check_books(url, folder)
        if not said.killed:
            assert number > 8, "the story has to reach the disk"
            return
    raise AssertionError("the story does not end")


async def check_books(url: str, folder: Path) -> None:
    shop = await shop_victim.shop_of(url, folder)
    assert [str(each) for each in await verify(shop.database, shop.payments)] == []
    sums = await shop.database.reader.ledger.sums()
    assert sums[ledger.credit(TEAM)] == PRICE
    assert sums[ledger.RECEIVED] == WORTH - PRICE
    assert sums[ledger.PROMO] == -WORTH
    await shop.database.close()
