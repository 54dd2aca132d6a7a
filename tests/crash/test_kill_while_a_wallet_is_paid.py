"""F1: kill -9 at each step to the disk from a channel id to the fee of its payment."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from leyden.channels.books.verify import verify
from leyden.channels.rules import ledger
from tests.channels.jit_harness import FEE, HASH, SIZE
from tests.crash import orders_victim
from tests.crash.conftest import crash_points, some_or_all
from tests.crash.shared import SharedForwarding, SharedSeller
from tests.crash.test_kill_while_an_order_is_paid import paid_update

pytestmark = [pytest.mark.usefixtures("strace"), pytest.mark.timeout(900)]


@pytest.mark.parametrize("story", ["wallet paid", "new wallet paid"])
@some_or_all
async def test_whatever_is_killed_the_wallet_is_paid_once(
    fresh: Iterator[str], tmp_path: Path, every: int, story: str
) -> None:
    for number, url in zip(crash_points(every), fresh, strict=False):
        folder = tmp_path / str(number)
        folder.mkdir()
        said = paid_update(story, url, folder, kill_at_fsync=number)
        after = paid_update(story, url, folder)
        assert not after.killed
        assert after.of("earned") == [str(FEE)]
        for word in ("sold", "earned"):  # what was said before is said again
            assert said.of(word) in ([], after.of(word)), f"killed at {number}"
        await check_books(url, folder)
        if not said.killed:
            assert number > 8, "the story has to reach the disk"
            return


async def check_books(url: str, folder: Path) -> None:
    channels = await orders_victim.shop_of(url, folder)
    purse = channels.purse
    assert purse is not None
    assert [str(each) for each in await verify(channels.database, purse=purse)] == []
    sums = await channels.database.reader.ledger.sums()
    assert sums[ledger.EARNED] == FEE // 1_000
    assert isinstance(purse.forwarding, SharedForwarding)
    assert isinstance(purse.seller, SharedSeller)
    assert purse.forwarding.lost_msat == 0
    assert purse.forwarding.received_msat(HASH) == SIZE - FEE
    (channel,) = purse.seller.channels.values()
    assert channel.published
    await channels.database.close()
