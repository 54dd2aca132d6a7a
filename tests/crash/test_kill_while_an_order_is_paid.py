"""F1: kill -9 at each step to the disk from a coupon to an order that ends."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from leyden.channels.books.verify import verify
from leyden.channels.rules import ledger
from tests.channels.orders_harness import PRICE
from tests.crash import orders_victim
from tests.crash.conftest import Said, crash_points, run_victim, some_or_all
from tests.crash.orders_victim import LEFT, TEAM, WORTH
from tests.crash.shared import HAPPENED, SharedPayer, SharedSeller
from tests.crash.tails import check_events
from tests.fakes.channels import FEE_VBYTES

pytestmark = [pytest.mark.usefixtures("strace"), pytest.mark.timeout(900)]

DIRECT = 18_999
# The fee of the chain is charged for 240 vbytes at 50 sat, and paid at 10.
LEFT_OF_DIRECT = 240 * 50 - FEE_VBYTES * 10
_DIRECT_CREDIT = ("credit", str(LEFT_OF_DIRECT))
# The LSP's 5,000, a tenth more, and routing; 3 sat of that are used.
BOUGHT = 2_000 + 5_500 + 10 + 28
LEFT_OF_BOUGHT = 500 + 10 + 28 - 2
PRICES = {"direct order": DIRECT, "bought order": BOUGHT}
EVERYTHING = ("created", "ticket", "refund", "credit")
# What is credited in the end, how much of the price is gone, and what was said of it.
STORIES = {
    "one order": (PRICE, 0, ("refund", str(PRICE))),
    "direct order": (LEFT_OF_DIRECT, DIRECT - LEFT_OF_DIRECT, _DIRECT_CREDIT),
    "bought order": (
        LEFT_OF_BOUGHT,
        BOUGHT - LEFT_OF_BOUGHT,
        ("credit", str(LEFT_OF_BOUGHT)),
    ),
    "filled order": (LEFT, PRICE - LEFT, ("credit", str(LEFT))),
}


def paid_update(
    story: str,
    url: str,
    folder: Path,
    *minutes: int,
    kill_at_fsync: int | None = None,
    kill_at: tuple[str, int] | None = None,
) -> Said:
    return run_victim(
        story,
        url,
        str(folder),
        *map(str, minutes),
        module="tests.crash.orders_victim",
        kill_at_fsync=kill_at_fsync,
        kill_at=kill_at,
    )


@pytest.mark.parametrize(
    "story",
    [
        "one order",
        "direct order",
        "bought order",
        pytest.param("filled order", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize(("calls", "least"), [("fsync,fdatasync", 8), (HAPPENED, 4)])
@some_or_all
async def test_whatever_is_killed_the_money_is_where_it_belongs(
    fresh: Iterator[str],
    tmp_path: Path,
    every: int,
    calls: str,
    least: int,
    story: str,
) -> None:
    for number, url in zip(crash_points(every), fresh, strict=False):
        folder = tmp_path / str(number)
        folder.mkdir()
        said = paid_update(story, url, folder, kill_at=(calls, number))
        after = paid_update(story, url, folder)
        assert not after.killed
        assert after.of("created") == [f"{WORTH} {after.of('created')[0].split()[1]}"]
        for word in EVERYTHING:  # what was said before is said again, to the letter
            assert said.of(word) in ([], after.of(word)), f"killed at {number}"
        _, _, (word, sats) = STORIES[story]
        assert after.of(word) == [sats]
        await check_books(story, url, folder)
        if not said.killed:
            assert number > least, "the story has to reach the disk"
            return


async def check_books(story: str, url: str, folder: Path) -> None:
    credited, gone, _ = STORIES[story]
    channels = await orders_victim.shop_of(url, folder)
    assert [
        str(each) for each in await verify(channels.database, channels.payments)
    ] == []
    sums = await channels.database.reader.ledger.sums()
    assert sums[ledger.credit(TEAM)] == credited
    spent = (ledger.AUCTION, ledger.SELLER, ledger.LSPS, ledger.EARNED)
    assert sum(sums.get(each, 0) for each in spent) == gone
    assert sums[ledger.RECEIVED] == WORTH - PRICES.get(story, PRICE)
    assert isinstance(channels.seller, SharedSeller)
    with channels.seller.held():
        assert len(channels.seller.channels) == (story == "direct order")
    assert isinstance(channels.payer, SharedPayer)
    with channels.payer.held():
        assert len(channels.payer.sent) == (story == "bought order")
        assert sums.get(ledger.LSPS, 0) == -(-channels.payer.spent_msat // 1_000)
    assert sums[ledger.PROMO] == -WORTH
    await check_events(channels.database, TEAM)
    await channels.database.close()
