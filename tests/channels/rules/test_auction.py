"""When an account in the auction buys, and when it is renewed."""

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.tickets.rules.auction import AuctionAccount


def an_account(state: str = "open", expires: int = 2_016) -> AuctionAccount:
    return AuctionAccount(
        trader_key="02" + "ab" * 32,
        state=state,
        sats=Sats(5_000_000),
        available=Sats(4_200_000),
        expires=expires,
        taproot=True,
    )


@pytest.mark.parametrize(
    ("state", "buys"),
    [
        ("open", True),
        ("pending_batch", True),
        ("pending_open", False),
        ("expired", False),
        ("closed", False),
    ],
)
def test_an_account_buys_while_it_is_open(state: str, *, buys: bool) -> None:
    assert an_account(state).can_buy is buys


@pytest.mark.parametrize(
    ("state", "height", "due"),
    [
        ("open", 1_871, False),
        ("open", 1_872, True),
        ("open", 2_100, True),
        ("pending_batch", 1_872, False),
        ("expired", 2_100, False),
    ],
)
def test_an_open_account_is_renewed_a_day_before_its_end(
    state: str, height: int, *, due: bool
) -> None:
    assert an_account(state).renewal_due(height, blocks_before=144) is due
