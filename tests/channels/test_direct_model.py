"""Any walk through a shop that also sells to named nodes ends where the model says."""

import uuid
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from leyden.base.rules.units import Sats
from leyden.channels import sources
from leyden.channels.direct import extensions, seller_watch
from leyden.channels.direct.rules.extensions import ExtensionStatus
from leyden.channels.rules.pricing import Channel
from leyden.errors import (
    Conflict,
    Malformed,
    NotAllowed,
    OverLimit,
    SellerAway,
    SoldOut,
)
from tests.channels.direct_model import LOCK, DirectModel, Sellers
from tests.channels.model import Model
from tests.channels.orders_harness import HARBOUR, LIGHTHOUSE, request_of
from tests.channels.test_model import MAX_ORDERS, TEAMS, Ordering, ordering_on, walk
from tests.events.stored_events import stored_types

COINS = MAX_ORDERS  # in each of which one channel fits
COIN, CAPACITY = Sats(1_150_000), Sats(1_000_000)
_KEYS = [f"02{number:064x}" for number in range(4)]
# An organization orders for its own nodes: which of two that wait for the same node
# goes first is decided by nobody.
PEERS = {HARBOUR: _KEYS[:2], LIGHTHOUSE: _KEYS[2:]}
REFUSALS = (Conflict, OverLimit, SoldOut, SellerAway)


class DirectOrdering(Ordering):
    """Channels to named nodes beside those with tickets, and a seller's bad days."""

    model: DirectModel

    def __init__(self) -> None:
        super().__init__()
        self.harness.payments.lock = LOCK
        self.harness.seller.height = 0
        self.harness.seller.fill([COIN] * COINS)
        self.harness.seller.online = set(_KEYS)

    def new_model(self, **given: Any) -> Model:
        return DirectModel(**given, seller=Sellers(coins=COINS, online=set(_KEYS)))

    # Rules.

    @precondition(lambda self: len(self.orders) < MAX_ORDERS)
    @rule(who=TEAMS, first=st.booleans(), pays=st.booleans())
    def create_direct(self, *, who: str, first: bool, pays: bool) -> None:
        peer = PEERS[who][first]
        channel = Channel(capacity=CAPACITY, node_key=peer)
        offer = self.run(
            sources.quote(self.harness.channels, who, channel, now=self.harness.now)
        ).quote
        max_fee = offer.highest_fee_sat_per_vb * 240
        name = f"order {len(self.orders)}"
        expected = self.model.create_direct(
            name,
            who,
            peer,
            premium=offer.pool_fee - max_fee,
            max_fee=max_fee,
            total=offer.total_fee,
        )
        try:
            order = self.run(self.harness.create(channel, who))
        except REFUSALS:
            assert not expected
            return
        assert expected
        self.orders[name] = order
        self.settled()
        if pays and name in self.with_open_invoice():
            self.harness.payments.pay(request_of(order))
            self.model.pay(name, order.to_be_paid)
            self.settled()

    @rule(
        online=st.one_of(st.just(set(_KEYS)), st.sets(st.sampled_from(_KEYS))),
        fee=st.sampled_from([1, 10, 50, 51]),
        refuses=st.sampled_from([False, False, True]),
        freezes=st.sampled_from([False, False, True]),
        publishes=st.booleans(),
        away=st.sampled_from([False] * 5 + [True]),
    )
    def seller_changes(self, *, online: set[str], fee: int, **is_so: bool) -> None:
        """Peers come and go; fees rise; an opening is refused, or stays somewhere."""
        seller, model = self.harness.seller, self.model.seller
        seller.online, model.online = set(online), set(online)
        seller.fee_sat_per_vb = model.fee_sat_per_vb = fee
        seller.refuses = "channel rejected" if is_so["refuses"] else ""
        model.refuses = is_so["refuses"]
        seller.freezes = model.freezes = is_so["freezes"]
        seller.publishes = model.publishes = is_so["publishes"]
        seller.away = model.away = is_so["away"]

    @rule(refuses=st.booleans())
    def peers_answer(self, refuses: bool) -> None:  # noqa: FBT001
        self.harness.seller.thaw(refuses=refuses)
        self.model.thaw(refuses=refuses)
        self.settled()

    @rule()
    def seller_publishes(self) -> None:
        """What was signed is published, as lnd does whenever it starts."""
        self.harness.seller.publish()
        self.model.publish()
        self.settled()

    @rule(blocks=st.sampled_from([15, 25]))
    def hours_pass_on_the_chain(self, blocks: int) -> None:
        self.mine(blocks)
        self._let_go()

    def _let_go(self) -> None:
        for name, sale in self.model.direct().items():
            if self.model.lock_is_over(sale):
                self.harness.payments.time_out(request_of(self.orders[name]))
                self.model.let_go(name)
                self.settled()

    @precondition(lambda self: self.open_channels() and not self.model.seller.away)
    @rule(data=st.data())
    def a_channel_is_closed(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.open_channels()))
        order = self.run(self.harness.get(self.orders[name]))
        self.harness.seller.close_channel(order.channel_point)
        self.harness.seller.height -= 1  # the block that has it comes now
        self.mine(1)
        for _ in range(2):
            self.run(seller_watch.check(self.harness.channels))
        self.model.close_channel(name)
        printed = self.run(stored_types(self.database, order.organization_id))
        expected = self.model.closed_early[order.organization_id]
        assert printed.count("channel.closed_early") == expected
        self.settled()

    @precondition(lambda self: self.open_channels() and not self.model.seller.away)
    @rule(data=st.data())
    def a_lease_is_extended(self, data: st.DataObject) -> None:
        """At once, if credit or account pay for it; nobody pays an invoice here."""
        name = data.draw(st.sampled_from(self.open_channels()))
        order, channels = self.orders[name], self.harness.channels
        who = order.organization_id
        try:
            offer = self.run(extensions.quote(channels, who, order.id, 2_016))
        except (NotAllowed, Malformed):  # it was extended often
            return
        if self.model.extend(name, offer.total_fee):
            made = self.run(
                extensions.extend(
                    channels,
                    who,
                    order.id,
                    f"{uuid.uuid4()}FX",
                    2_016,
                    most=None,
                    actor="test",
                    now=self.harness.now,
                )
            )
            assert made.status is ExtensionStatus.EXTENDED
        else:
            assert offer.paid_by is None
        self.settled()

    @precondition(lambda self: self.unburied() and not self.model.seller.away)
    @rule(data=st.data(), what=st.sampled_from(["waits", "is undone", "is lost"]))
    def a_funding_is_followed(self, data: st.DataObject, what: str) -> None:
        """Bumped, or reorganised, it moves no money; only one that is lost does."""
        name = data.draw(st.sampled_from(self.unburied()))
        point = self.run(self.harness.get(self.orders[name])).channel_point
        seller = self.harness.seller
        seller.mined_from = 1_000 if what == "waits" else 0
        if what == "is undone":
            seller.reorganise(point)
            seller.height -= 1
        elif what == "is lost":
            seller.take_coin(point)
            seller.height -= 1
        for blocks in (1, 12, 6):
            self.mine(blocks)
            for _ in range(2):
                self.run(seller_watch.check(self.harness.channels))
            if what == "is lost" and blocks == 12:  # its rival is deep enough
                self.model.lose(name)
            self._let_go()
            self.settled()

    # Looking.

    def open_channels(self) -> list[str]:
        return [
            name
            for name, sale in self.model.direct().items()
            if sale.status == "filled" and not sale.closed
        ]

    def unburied(self) -> list[str]:
        """Those that a reorganisation may undo still; nobody looks at the others."""
        watched = self.run(self.database.reader.fundings.watched(limit=MAX_ORDERS))
        ids = {each.order_id for each in watched}
        return [each for each in self.open_channels() if self.orders[each].id in ids]

    def standing(self, status: str) -> list[str]:
        """Only those with tickets: nobody registers or matches the others."""
        return [each for each in super().standing(status) if not self.is_direct(each)]

    def is_direct(self, name: str) -> bool:
        return name in self.model.direct()

    def chain_grows(self, blocks: int) -> None:
        self.harness.seller.height += blocks

    async def _agree(self) -> None:
        await super()._agree()
        seller = self.harness.seller
        reserved = await self.database.reader.reserved_coins.all_()
        assert len(reserved) == self.model.reserved()
        leases = await self.database.reader.leases.extended()
        for name, sale in self.model.direct().items():
            assert leases.get(self.orders[name].id, 0) == 2_016 * sale.extensions, name
            made = seller.opened_for(self.orders[name].id)
            states = [
                "published"
                if each.published
                else "unpublished"
                if each.signed
                else "frozen"
                for each in made
            ]
            assert states == [sale.opening] * (sale.opening != "none"), name
            assert sale.status != "filled" or states == ["published"], name


@pytest.fixture(params=["sqlite", "postgres"])
def ordering(request: pytest.FixtureRequest, sealer: Any) -> None:
    ordering_on(DirectOrdering, request, sealer)


@pytest.mark.timeout(900)
@pytest.mark.usefixtures("ordering")
def test_any_walk_ends_where_the_model_says(request: pytest.FixtureRequest) -> None:
    on_postgres = "postgres" in request.node.name
    walk(DirectOrdering, examples=4 if on_postgres else 20, steps=40)


@pytest.mark.long
@pytest.mark.timeout(14_400)
@pytest.mark.usefixtures("ordering")
def test_two_thousand_long_walks_end_where_the_model_says() -> None:
    walk(DirectOrdering, examples=2_000, steps=60)
