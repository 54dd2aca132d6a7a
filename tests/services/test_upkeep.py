"""The account at the auction is renewed in time, and its owner told when it is low."""

from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from prometheus_client import REGISTRY

from leyden.domain.auction import AuctionAccount
from leyden.domain.units import Sats
from leyden.errors import MarketAway, MarketRefused
from leyden.services.channels import pool_account
from leyden.services.channels.shop import EVERYTHING, UPKEEP
from leyden.tasks import Work
from leyden.values import replace
from tests.services.till import Till, request_of

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
class Purse:
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


async def keep(till: Till, purse: Purse, logged: pytest.LogCaptureFixture) -> list[str]:
    """Look after the account once, and give the reasons for warnings."""
    till.now += timedelta(minutes=2)
    async with till.database.transaction() as tx:
        await tx.tasks.put(UPKEEP, EVERYTHING, due=till.now)
        (claim,) = await tx.tasks.claim(
            UPKEEP, now=till.now, until=till.now + timedelta(seconds=30), most=1
        )
    logged.clear()
    shop = replace(till.shop, account=purse)
    await pool_account.keep(shop, Work(till.database, claim))
    due = await till.database.reader.tasks.next_due(UPKEEP, now=till.now)
    assert due == till.now + timedelta(minutes=1)
    warnings = [each for each in logged.records if each.levelname == "WARNING"]
    return [str(vars(each)["why"]) for each in warnings]


async def test_an_account_that_is_well_is_left_alone(
    till: Till, logged: pytest.LogCaptureFixture
) -> None:
    purse = Purse()
    assert await keep(till, purse, logged) == []
    assert purse.renewed == []
    assert metric("leyden_auction_free_sats") == 4_000_000


@pytest.mark.parametrize(("left", "renewed"), [(2_017, 0), (2_016, 1), (-5, 1)])
async def test_it_is_renewed_before_it_ends(
    till: Till, left: int, renewed: int, logged: pytest.LogCaptureFixture
) -> None:
    purse = Purse()
    purse.account = replace(purse.account, expires=HEIGHT + left)
    for _ in range(2):
        await keep(till, purse, logged)
    assert len(purse.renewed) == renewed


async def test_while_it_waits_for_blocks_it_is_not_renewed(
    till: Till, logged: pytest.LogCaptureFixture
) -> None:
    purse = Purse()
    purse.account = replace(purse.account, expires=HEIGHT + 10, state="pending_batch")
    assert await keep(till, purse, logged) == []
    assert purse.renewed == []


async def test_a_renewal_that_is_refused_is_told_and_tried_again(
    till: Till, logged: pytest.LogCaptureFixture
) -> None:
    purse = Purse(refuses=True)
    purse.account = replace(purse.account, expires=HEIGHT + 10)
    assert await keep(till, purse, logged) == ["account must be in StateOpen"]
    purse.refuses = False
    assert await keep(till, purse, logged) == []
    assert len(purse.renewed) == 1


async def test_low_funds_are_told_counting_what_is_outstanding(
    till: Till, logged: pytest.LogCaptureFixture
) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.settle_down()
    purse = Purse()
    takes = order.quote.pool_fee
    purse.account = replace(purse.account, available=Sats(1_000_000 + takes))
    assert await keep(till, purse, logged) == []
    purse.account = replace(purse.account, available=Sats(999_999 + takes))
    (why,) = await keep(till, purse, logged)
    assert why == "999999 sat are left to buy with: `leyden pool deposit`"


@pytest.mark.parametrize("state", ["expired", "pending_open", "closed"])
async def test_an_account_that_cannot_buy_is_told(
    till: Till, state: str, logged: pytest.LogCaptureFixture
) -> None:
    purse = Purse()
    purse.account = replace(purse.account, state=state)
    (why,) = await keep(till, purse, logged)
    assert why == f"the account is {state}: nothing can be bought"


async def test_an_auction_that_is_away_is_told_and_asked_again(
    till: Till, logged: pytest.LogCaptureFixture
) -> None:
    assert await keep(till, Purse(away=True), logged) == [MarketAway().message]
