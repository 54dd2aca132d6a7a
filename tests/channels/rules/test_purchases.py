"""The life of a purchase, and the price of a channel that is bought."""

from itertools import product

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.direct.rules.purchases import (
    PURCHASE_MOVES,
    SPENT,
    LspPurchase,
    LspPurchaseStatus,
    PurchaseEvent,
    advance,
    bought_quote,
    routing_limit,
)
from leyden.channels.rules.pricing import Channel, Terms
from leyden.errors import Malformed, NotAllowed
from leyden.values import replace

PURCHASE = LspPurchase(order_id="an order", status=LspPurchaseStatus.WANTED, uri="")
CHANNEL = Channel(capacity=Sats(1_000_000), node_key=f"02{'11' * 32}")


@pytest.mark.parametrize(
    ("status", "event"), list(product(LspPurchaseStatus, PurchaseEvent)), ids=str
)
def test_every_move_is_in_the_table_or_refused(
    status: LspPurchaseStatus, event: PurchaseEvent
) -> None:
    purchase = replace(PURCHASE, status=status)
    if (status, event) in PURCHASE_MOVES:
        assert advance(purchase, event).status is PURCHASE_MOVES[status, event]
    else:
        with pytest.raises(NotAllowed, match=f"is {status} cannot be {event}"):
            advance(purchase, event)


def test_money_that_is_gone_never_comes_back_by_itself() -> None:
    for (before, _), after in PURCHASE_MOVES.items():
        if before in SPENT:
            assert after in SPENT
    moves = {
        event for before, event in PURCHASE_MOVES if before is LspPurchaseStatus.PAID
    }
    assert moves == {PurchaseEvent.DELIVERED, PurchaseEvent.LOST}


def test_a_price_is_a_ceiling_with_our_fee() -> None:
    terms = Terms(service_fee_base=Sats(700), service_fee_ppm=2_000)
    quote = bought_quote(CHANNEL, terms, "https://lsp", Sats(5_001), routing_ppm=5_000)
    assert quote.service_fee == 700 + 2_000
    highest = 5_001 + 501
    assert quote.pool_fee == highest + routing_limit(Sats(highest), 5_000)
    assert quote.pool_fee == 5_502 + 10 + 28
    assert quote.source == "https://lsp"
    assert (quote.rate_bps, quote.keeps_unused_fee) == (51, False)


@pytest.mark.parametrize(
    "wrong",
    [{"capacity": Sats(150_000)}, {"bps": 50}, {"lease_duration_blocks": 2_017}],
    ids=str,
)
def test_a_channel_that_nobody_sells_has_no_price(wrong: dict[str, object]) -> None:
    channel = replace(CHANNEL, **wrong)  # type: ignore[arg-type]
    with pytest.raises(Malformed):
        bought_quote(channel, Terms(), "https://lsp", Sats(1), routing_ppm=0)
