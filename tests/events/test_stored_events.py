"""What orders, money and members tell their organization."""

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Role
from leyden.base.settings import Settings
from leyden.channels import order_events
from leyden.channels.money import corrections
from leyden.channels.money.corrections import Correction
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.events.rules.events import TYPES
from leyden.people import accounts, api_keys, invitations, team
from tests.channels.orders_harness import (
    HARBOUR,
    LIGHTHOUSE,
    PRICE,
    OrdersHarness,
    request_of,
)
from tests.channels.stored_order import ORDER
from tests.conftest import NOW
from tests.events.stored_events import stored_events, stored_types

TICKETED = ["order.created", "payment.received", "order.paid", "order.ticket_ready"]


async def bought(harness: OrdersHarness) -> Order:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.settle_down()
    return order


async def test_a_purchase_is_told_from_its_order_to_its_channel(
    harness: OrdersHarness,
) -> None:
    order = await bought(harness)
    harness.market.register(await harness.ticket(order))
    await harness.follow_tickets()
    harness.market.match(await harness.ticket(order), unused=163)
    await harness.follow_tickets()
    await harness.hear_again()
    of = {"order_id": order.id, "capacity": 1_000_000}
    assert await stored_events(harness.database, HARBOUR) == [
        ("order.created", {**of, "status": "waiting_payment"}),
        (
            "payment.received",
            {"order_id": order.id, "rail": "lightning", "amount": PRICE},
        ),
        ("order.paid", {**of, "status": "creating"}),
        ("order.ticket_ready", {**of, "status": "created"}),
        ("order.submitted", {**of, "status": "submitted"}),
        (
            "credit.changed",
            {"order_id": order.id, "reason": "unused_fee", "amount": 163},
        ),
        ("order.filled", {**of, "status": "filled"}),
    ]
    assert await stored_events(harness.database, LIGHTHOUSE) == []


async def test_a_cancelled_order_gives_its_money_back(harness: OrdersHarness) -> None:
    order = await bought(harness)
    await harness.cancel(order)
    await harness.cancel(order)
    assert await stored_events(harness.database, HARBOUR, skip=len(TICKETED)) == [
        (
            "credit.changed",
            {"order_id": order.id, "reason": "released", "amount": PRICE},
        ),
        (
            "order.cancelled",
            {"order_id": order.id, "capacity": 1_000_000, "status": "cancelled"},
        ),
    ]


async def test_an_order_paid_by_credit_is_told_at_once(harness: OrdersHarness) -> None:
    await harness.give_credit(PRICE)
    order = await harness.create()
    used = {"order_id": order.id, "reason": "credit_used", "amount": -PRICE}
    granted = {"order_id": "", "reason": "coupon", "amount": PRICE}
    found = await stored_events(harness.database, HARBOUR)
    assert found[0] == ("credit.changed", granted)
    assert [kind for kind, _ in found] == [
        "credit.changed",
        "order.created",
        "credit.changed",
        "order.paid",
    ]
    assert found[2][1] == used


async def test_a_payment_on_the_chain_is_told_once_and_when_it_is_taken_back(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    outpoint = harness.payments.send(order.onchain_address, PRICE + 700)
    harness.payments.mine()
    await harness.settle_down()
    onchain = {"order_id": order.id, "rail": "onchain", "amount": PRICE + 700}
    surplus = {"order_id": order.id, "reason": "surplus", "amount": 700}
    assert (await stored_events(harness.database, HARBOUR))[1:3] == [
        ("payment.received", onchain),
        ("credit.changed", surplus),
    ]
    harness.payments.reorganise(1, drop=[outpoint])
    await harness.start_sweeping()
    kinds = await stored_events(harness.database, HARBOUR, skip=3)
    back = {"order_id": order.id, "reason": "reversed", "amount": PRICE + 700}
    assert ("payment.returned", back) in kinds


async def test_an_order_that_is_not_paid_expires(harness: OrdersHarness) -> None:
    await harness.create()
    await harness.pass_time(hours=2)
    assert await stored_types(harness.database, HARBOUR) == [
        "order.created",
        "order.expired",
    ]


async def test_what_an_operator_corrects_is_told(harness: OrdersHarness) -> None:
    for correction, key in ((Correction.CREDIT, "1"), (Correction.REFUND, "2")) * 2:
        await corrections.correct(
            harness.database,
            HARBOUR,
            correction,
            sats=500,
            reason="a gift",
            actor="operator:alice",
            key=key,
            now=NOW,
        )
    assert await stored_events(harness.database, HARBOUR) == [
        ("credit.changed", {"order_id": "", "reason": "correction", "amount": 500}),
        ("payment.returned", {"order_id": "", "reason": "refund", "amount": 500}),
        ("credit.changed", {"order_id": "", "reason": "refund", "amount": -500}),
    ]


@pytest.mark.parametrize("status", OrderStatus)
def test_each_status_of_an_order_is_a_type(status: OrderStatus) -> None:
    kinds = [each.type for each in order_events.of_move(ORDER, status)]
    assert len(kinds) == (status is not OrderStatus.WAITING_PAYMENT)
    assert set(kinds) <= TYPES.keys()


async def test_keys_and_members_are_told(db: Database, sealer: Sealer) -> None:
    platform = Platform(
        settings=Settings(), database=db, sealer=sealer, clock=lambda: NOW
    )
    of = (await accounts.create_organization(platform, "Pier", actor="op")).id
    alice = await accounts.create_user(
        platform,
        "alice@example.org",
        password=None,
        organization_id=of,
        role=Role.OWNER,
        actor="op",
    )
    invitation, *_ = await invitations.invite(
        platform,
        of,
        email="bob@example.org",
        role=Role.VIEWER,
        actor=f"user:{alice.id}",
        now=NOW,
    )
    bob = await invitations.enrol(
        platform, invitation, "correct horse battery", now=NOW
    )
    for role in (Role.ADMIN, Role.ADMIN):
        await team.set_role(
            platform, of, bob.id, role, actor=f"user:{alice.id}", now=NOW
        )
    await team.remove(platform, of, bob.id, actor=f"user:{alice.id}", now=NOW)
    key, text = await api_keys.create(
        platform,
        of,
        name="harbour",
        scopes=["node"],
        expires=None,
        actor=f"user:{alice.id}",
    )
    await api_keys.revoke(platform, of, key.id, actor=f"user:{alice.id}")
    found = await stored_events(db, of)
    assert found == [
        ("member.joined", {"user_id": alice.id, "role": "owner"}),
        ("member.joined", {"user_id": bob.id, "role": "viewer"}),
        (
            "member.role_changed",
            {"user_id": bob.id, "role": "admin", "from_role": "viewer"},
        ),
        ("member.removed", {"user_id": bob.id, "role": "admin"}),
        (
            "key.created",
            {"key_id": key.id, "name": "harbour", "scopes": ["node"], "expires": ""},
        ),
        ("key.revoked", {"key_id": key.id}),
    ]
    assert text not in str(found)
    assert "@" not in str(found)
