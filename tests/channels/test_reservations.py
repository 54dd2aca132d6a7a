"""Which coins an order is reserved, of which seller, and within which limits."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.rules.units import Sats
from leyden.channels.direct import reservations
from leyden.channels.direct.reservations import HOUR, Reservation, choose
from leyden.channels.direct.rows.seller import KnownSeller
from leyden.channels.direct.rules.openings import Coin, SellerWallet
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.payments import Outpoint, PaymentRequest
from leyden.channels.rules.pricing import Terms, direct_quote
from leyden.errors import Conflict, SellerAway, SoldOut, Stale
from leyden.values import replace
from tests.channels.orders_harness import HARBOUR, LIGHTHOUSE, OrdersHarness, request_of
from tests.channels.test_direct_channels import OTHER, PEER, PRICE, channel
from tests.fakes.payments import FakePayments
from tests.fakes.seller import FakeSeller

THIRD = "03" + PEER[2:]
# A million, and 240 vbytes at 50 sat; a third input is 68 vbytes more, and so on.
QUOTE = direct_quote(channel(), Terms())
ALONE, OF_THREE, OF_FIVE = 1_012_000, 1_015_400, 1_022_200
RESERVE = 100_000


def wallet(*sats: int) -> SellerWallet:
    return SellerWallet(
        pubkey=PEER,
        uri=PEER,
        height=1_000,
        synced=True,
        coins=tuple(map(coin, range(len(sats)), sats)),
        unconfirmed=Sats(0),
        locked=Sats(0),
        fee_sat_per_vb=10,
    )


def coin(number: int, sats: int) -> Coin:
    return Coin(sats=Sats(sats), outpoint=Outpoint("ab" * 32, number))


def chosen(*sats: int, reserved: frozenset[int] = frozenset()) -> list[int]:
    taken = {Outpoint("ab" * 32, number) for number in reserved}
    return [each.sats for each in choose(wallet(*sats), taken, QUOTE)]


@pytest.mark.parametrize(
    ("sats", "coins"),
    [
        # One that does, and of these the smallest.
        ((3_000_000, ALONE, 2_000_000), [ALONE]),
        ((3_000_000, ALONE - 1, 2_000_000), [2_000_000]),
        # What lnd keeps back is there too.
        ((ALONE + RESERVE,), [ALONE + RESERVE]),
        ((ALONE + RESERVE - 1,), []),
        ((ALONE, RESERVE), [ALONE]),
        ((ALONE, RESERVE - 1), []),
        # Else few: the largest first.
        ((RESERVE, 412_000, 600_000), [600_000, 412_000]),
        ((RESERVE + 1, 411_999, 600_000), [600_000, 411_999, RESERVE + 1]),
        # Each beyond two costs more.
        ((400_000, 400_000, OF_THREE - 800_000, RESERVE), [400_000, 400_000, 215_400]),
        (
            (400_000, 400_000, OF_THREE - 800_001, RESERVE),
            [400_000, 400_000, 215_399, RESERVE],
        ),
        # Five at most.
        ((OF_FIVE // 5,) * 6, [OF_FIVE // 5] * 5),
        ((OF_FIVE // 5,) * 5 + (OF_FIVE // 5 - 1,), [OF_FIVE // 5] * 5),
        ((OF_FIVE // 5,) * 4 + (OF_FIVE // 5 - 1,) * 3, []),
        ((), []),
    ],
)
def test_an_order_gets_the_smallest_coin_that_does_or_few(
    sats: tuple[int, ...], coins: list[int]
) -> None:
    assert chosen(*sats) == coins


def test_coins_of_other_orders_are_neither_taken_nor_counted() -> None:
    assert chosen(ALONE, 2_000_000, reserved=frozenset({0})) == [2_000_000]
    assert chosen(ALONE, RESERVE, reserved=frozenset({1})) == []


# The seller.


@pytest.fixture
async def direct(harness: OrdersHarness) -> AsyncIterator[OrdersHarness]:
    harness.seller.fill([3_000_000] * 5)
    yield harness
    await harness.prove()


async def test_the_seller_is_known_from_its_first_order_on(
    direct: OrdersHarness,
) -> None:
    reader = direct.database.reader
    assert await reservations.seller_uri(reader) == ""
    await direct.create(channel())
    pubkey, uri = direct.seller.pubkey, f"{direct.seller.pubkey}@seller.example:9735"
    assert await reader.seller.find() == KnownSeller(pubkey, uri)
    assert await reservations.seller_uri(reader) == uri


async def test_another_lnd_sells_once_the_operator_has_named_it(
    direct: OrdersHarness,
) -> None:
    await direct.create(channel())
    direct.seller.pubkey = OTHER
    with pytest.raises(SellerAway) as raised:
        await reservations.read_wallet(direct.channels)
    assert "than before" in str(raised.value)
    direct.rules = replace(direct.rules, seller=OTHER)
    assert (await reservations.read_wallet(direct.channels)).pubkey == OTHER
    await direct.create(channel(THIRD))
    known = await direct.database.reader.seller.find()
    assert known == KnownSeller(OTHER, f"{OTHER}@seller.example:9735")
    direct.rules = replace(direct.rules, seller=THIRD)
    with pytest.raises(SellerAway):
        await reservations.read_wallet(direct.channels)


class Behind(FakeSeller):
    """A seller whose lnd is not synced with its chain."""

    async def wallet(self) -> SellerWallet:
        return replace(await super().wallet(), synced=False)


async def test_a_seller_that_is_behind_its_chain_sells_nothing(
    direct: OrdersHarness,
) -> None:
    direct.seller = Behind()
    direct.seller.fill([3_000_000])
    with pytest.raises(SellerAway) as raised:
        await direct.create(channel())
    assert "not synced" in str(raised.value)


async def test_the_treasurys_lnd_sells_nothing(direct: OrdersHarness) -> None:
    await direct.start_sweeping()  # which learns what the treasury is
    assert (
        await reservations.read_wallet(direct.channels)
    ).pubkey == direct.seller.pubkey
    direct.seller.pubkey = direct.payments.pubkey
    with pytest.raises(SellerAway) as raised:
        await reservations.read_wallet(direct.channels)
    assert "seller_host: this lnd is the treasury" in str(raised.value)


async def test_without_a_seller_there_is_none_to_look_at(direct: OrdersHarness) -> None:
    with pytest.raises(SellerAway, match="sells no direct channels"):
        await reservations.read_wallet(replace(direct.channels, seller=None))


# The limits.


async def test_an_hour_sells_as_much_as_the_operator_allows(
    direct: OrdersHarness,
) -> None:
    direct.rules = replace(
        direct.rules, seller_most_per_hour=Sats(2_000_000), order_lives=3 * HOUR
    )
    await direct.give_credit(2 * PRICE)
    for peer in (PEER, OTHER):
        await direct.create(channel(peer))
    direct.now += HOUR - timedelta(microseconds=1)
    with pytest.raises(SoldOut):
        await direct.create(channel(THIRD))
    assert not direct.payments.requests, "no invoice is made in vain"
    direct.now += timedelta(microseconds=1)
    await direct.create(channel(THIRD))


async def test_a_node_gets_as_much_as_the_operator_allows(
    direct: OrdersHarness,
) -> None:
    direct.rules = replace(direct.rules, seller_most_per_peer=Sats(2_000_000))
    await direct.create(channel())
    await direct.create(channel(), LIGHTHOUSE)
    with pytest.raises(Conflict, match=r"\(2,000,000 sat, with this order\)"):
        await find(direct, "", PEER)
    await find(direct, "", OTHER)


async def find(direct: OrdersHarness, whose: str, peer: str) -> Reservation:
    quote = direct_quote(channel(peer), Terms())
    return await reservations.prepare(direct.channels, whose, quote, now=direct.now)


async def test_what_is_reserved_is_of_the_seller_that_was_seen(
    direct: OrdersHarness,
) -> None:
    pubkey = direct.seller.pubkey
    reservation = await find(direct, HARBOUR, PEER)
    assert reservation.seller == KnownSeller(pubkey, f"{pubkey}@seller.example:9735")
    assert [each.sats for each in reservation.coins] == [3_000_000]


async def test_an_order_of_theirs_is_in_the_way_before_any_invoice(
    direct: OrdersHarness,
) -> None:
    await direct.create(channel())
    with pytest.raises(Conflict, match="another open order"):
        await find(direct, HARBOUR, PEER)
    await find(direct, LIGHTHOUSE, PEER)


async def reserve_and_keep(
    direct: OrdersHarness, order: Order, reservation: Reservation, whose: str
) -> None:
    """Keep a reservation with an order beside one that is there already."""
    other = replace(
        order,
        id="00000000-0000-4000-8000-000000000021FO",
        organization_id=LIGHTHOUSE,
        onchain_address="bcrt1qlighthouse",
        lightning_invoice="lnbcrtlighthouse",
        payment_hash="21" * 32,
    )
    async with direct.database.transaction() as tx:
        await tx.orders.add(other)
        await reservations.reserve(
            tx, direct.channels, other, reservation, whose=whose, now=other.created
        )
        coins = await tx.reserved_coins.of_order(other.id)
        assert coins == list(reservation.coins)
        raise ReservationKept


class ReservationKept(Exception):
    """It was kept, and nobody is to see it."""


async def test_what_was_reserved_for_two_is_one_orders(direct: OrdersHarness) -> None:
    both = [await find(direct, HARBOUR, PEER) for _ in range(2)]
    assert both[0] == both[1]
    order = await direct.create(channel())
    with pytest.raises(Stale, match="another order reserved the coin"):
        await reserve_and_keep(direct, order, both[1], LIGHTHOUSE)
    with pytest.raises(ReservationKept):
        await reserve_and_keep(
            direct, order, await find(direct, LIGHTHOUSE, PEER), LIGHTHOUSE
        )


class Slow(FakePayments):
    """A treasury that creates an invoice while something else happens, in full."""

    def __init__(self) -> None:
        super().__init__()
        self.happens: Callable[[], Awaitable[None]] | None = None

    async def request(
        self, order_id: str, sats: Sats, *, lives: timedelta, with_address: bool = True
    ) -> PaymentRequest:
        if self.happens is not None:
            happens, self.happens = self.happens, None
            await happens()
        return await super().request(
            order_id, sats, lives=lives, with_address=with_address
        )


async def test_a_coin_that_a_channel_has_spent_meanwhile_is_not_reserved(
    db: Database, sealer: Sealer
) -> None:
    """Its order is over and reserves nothing, but the coin is gone from the wallet."""
    payments = Slow()
    direct = OrdersHarness(db, sealer, payments=payments)
    await direct.open()
    direct.seller.fill([3_000_000] * 6)
    direct.seller.online |= {PEER, OTHER}
    await direct.give_credit(100_000)
    before: list[Order] = []

    async def another_opens() -> None:
        before.append(await direct.create(channel()))
        await direct.settle_down()
        assert await direct.status(before[0]) is OrderStatus.FILLED

    payments.happens = another_opens
    order = await direct.create(channel(OTHER), LIGHTHOUSE)
    assert len(before) == 1, "while the invoice was being created"
    payments.pay(request_of(order))
    await direct.settle_down()
    assert await direct.status(order) is OrderStatus.FILLED
    await direct.prove()


@pytest.mark.parametrize(
    ("limits", "refused"),
    [
        ({}, ReservationKept),
        ({"seller_most_per_hour": Sats(3_000_000)}, ReservationKept),
        ({"seller_most_per_hour": Sats(1_999_999)}, SoldOut),
        ({"seller_most_per_peer": Sats(2_000_000)}, ReservationKept),
        ({"seller_most_per_peer": Sats(1_999_999)}, Conflict),
    ],
)
async def test_the_limits_are_looked_at_again_as_it_is_kept(
    direct: OrdersHarness, limits: dict[str, Any], refused: type[Exception]
) -> None:
    """The order is counted itself by then, and no order of its own is in its way."""
    order = await direct.create(channel())
    reservation = await find(direct, LIGHTHOUSE, PEER)
    direct.rules = replace(direct.rules, **limits)
    with pytest.raises(refused):
        await reserve_and_keep(direct, order, reservation, LIGHTHOUSE)


async def test_an_open_order_of_theirs_is_in_the_way_as_it_is_kept(
    direct: OrdersHarness,
) -> None:
    order = await direct.create(channel())
    reservation = await find(direct, LIGHTHOUSE, PEER)
    with pytest.raises(Conflict, match="another open order"):
        await reserve_and_keep(direct, order, reservation, HARBOUR)
