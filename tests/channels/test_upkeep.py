"""The Pool account is renewed in time, and its owner told when it is low."""

from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from prometheus_client import REGISTRY

from leyden.base.rules.units import Sats
from leyden.base.tasks.work import Work
from leyden.channels.services import EVERYTHING, UPKEEP
from leyden.channels.tickets import pool_account
from leyden.channels.tickets.rules.auction import AuctionAccount
from leyden.errors import MarketAway, MarketRefused
from leyden.values import replace
from tests.channels.orders_harness import OrdersHarness, request_of

HEIGHT = 900_000
WELL = AuctionAccount(
    trader_key="02" + "ab" * 32,
    state="open",
    sats=Sats(5_000_000),
    available=Sats(4_000_000),
    expires=HEIGHT + 10_000,
    taproot=True,
)


@dataclass
class FakeAuctionAccount:
    """An account that is not there."""

    account: AuctionAccount = WELL
    away: bool = False
    refuses: bool = False
    renewed: list[int] = field(default_factory=list)

    async def find(self) -> AuctionAccount:
        if self.away:
            raise MarketAway
        return self.account

    async def height(self) -> int:
        return HEIGHT

    async def renew(self, *, blocks: int, fee_sat_per_kw: int) -> AuctionAccount:
        if self.refuses:
            raise MarketRefused("account must be in StateOpen")
        self.renewed.append(fee_sat_per_kw)
        self.account = replace(self.account, expires=HEIGHT + blocks)
        return self.account

    async def close(self) -> None:
        pass


def metric(name: str) -> float | None:
    return REGISTRY.get_sample_value(name)


async def keep(
    harness: OrdersHarness,
    fake_account: FakeAuctionAccount,
    logged: pytest.LogCaptureFixture,
) -> list[str]:
    """Look after the account once, and give the reasons for warnings."""
    harness.now += timedelta(minutes=2)
    async with harness.database.transaction() as tx:
        await tx.tasks.put(UPKEEP, EVERYTHING, due=harness.now)
        (claim,) = await tx.tasks.claim(
            UPKEEP, now=harness.now, until=harness.now + timedelta(seconds=30), limit=1
        )
    logged.clear()
    channels = replace(harness.channels, account=fake_account)
    await pool_account.keep(channels, Work(harness.database, claim))
    due = await harness.database.reader.tasks.next_due(UPKEEP, now=harness.now)
    assert due == harness.now + timedelta(minutes=1)
    warnings = [each for each in logged.records if each.levelname == "WARNING"]
    return [str(vars(each)["why"]) for each in warnings]


async def test_an_account_that_is_well_is_left_alone(
    harness: OrdersHarness, logged: pytest.LogCaptureFixture
) -> None:
    fake_account = FakeAuctionAccount()
    assert await keep(harness, fake_account, logged) == []
    assert fake_account.renewed == []
    assert metric("leyden_auction_free_sats") == 4_000_000


@pytest.mark.parametrize(("left", "renewed"), [(2_017, 0), (2_016, 1), (-5, 1)])
async def test_it_is_renewed_before_it_ends(
    harness: OrdersHarness, left: int, renewed: int, logged: pytest.LogCaptureFixture
) -> None:
    fake_account = FakeAuctionAccount()
    fake_account.account = replace(fake_account.account, expires=HEIGHT + left)
    for _ in range(2):
        await keep(harness, fake_account, logged)
    assert len(fake_account.renewed) == renewed


async def test_while_it_waits_for_blocks_it_is_not_renewed(
    harness: OrdersHarness, logged: pytest.LogCaptureFixture
) -> None:
    fake_account = FakeAuctionAccount()
    fake_account.account = replace(
        fake_account.account, expires=HEIGHT + 10, state="pending_batch"
    )
    assert await keep(harness, fake_account, logged) == []
    assert fake_account.renewed == []


async def test_a_renewal_that_is_refused_is_told_and_tried_again(
    harness: OrdersHarness, logged: pytest.LogCaptureFixture
) -> None:
    fake_account = FakeAuctionAccount(refuses=True)
    fake_account.account = replace(fake_account.account, expires=HEIGHT + 10)
    assert await keep(harness, fake_account, logged) == ["account must be in StateOpen"]
    fake_account.refuses = False
    assert await keep(harness, fake_account, logged) == []
    assert len(fake_account.renewed) == 1


async def test_low_funds_are_told_counting_what_is_outstanding(
    harness: OrdersHarness, logged: pytest.LogCaptureFixture
) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.settle_down()
    fake_account = FakeAuctionAccount()
    takes = order.quote.pool_fee
    fake_account.account = replace(
        fake_account.account, available=Sats(1_000_000 + takes)
    )
    assert await keep(harness, fake_account, logged) == []
    fake_account.account = replace(
        fake_account.account, available=Sats(999_999 + takes)
    )
    (why,) = await keep(harness, fake_account, logged)
    assert why == "the balance is 999,999 sat: `leyden pool deposit` adds more"


@pytest.mark.parametrize("state", ["expired", "pending_open", "closed"])
async def test_an_account_that_cannot_buy_is_told(
    harness: OrdersHarness, state: str, logged: pytest.LogCaptureFixture
) -> None:
    fake_account = FakeAuctionAccount()
    fake_account.account = replace(fake_account.account, state=state)
    (why,) = await keep(harness, fake_account, logged)
    assert why == f"the account is {state}: the platform can't buy channels"


async def test_an_auction_that_is_away_is_told_and_asked_again(
    harness: OrdersHarness, logged: pytest.LogCaptureFixture
) -> None:
    assert await keep(harness, FakeAuctionAccount(away=True), logged) == [
        MarketAway().message
    ]
