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

_UNSIGNED_FOR = 36  # minutes

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
        later = (_UNSIGNED_FOR,) if await is_unsigned(url, folder) else ()
        after = paid_update(story, url, folder, *later)
        assert not after.killed
        assert after.of("earned") == [str(FEE)]
        for word in ("sold", "earned"):  # what was said before is said again
            assert said.of(word) in ([], after.of(word)), f"killed at {number}"
        await check_books(url, folder)
        if not said.killed:
            assert number > 8, "the story has to reach the disk"
            return


async def is_unsigned(url: str, folder: Path) -> bool:
    """Return whether lnd may yet open a channel whose transaction we have stored.

    It is not known for half an hour. The payer has the money back by then, and pays
    again.
    """
    channels = await orders_victim.shop_of(url, folder)
    is_stored = any(
        each.transaction for each in await orders_victim.wallet_orders(channels)
    )
    await channels.database.close()
    assert channels.purse is not None
    assert isinstance(channels.purse.seller, SharedSeller)
    with channels.purse.seller.held():
        opened = channels.purse.seller.channels.values()
        return is_stored and not all(each.signed for each in opened)


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
