"""What the database itself refuses of orders, coupons and coins, whoever asks."""

from datetime import timedelta

import pytest

from leyden.base.database.database import Database
from leyden.base.database.statements import Statement
from leyden.base.rules.units import Sats
from leyden.channels.money.rules.coupons import Coupon
from leyden.channels.rules.payments import KnownOutput, Outpoint, OutputState
from leyden.errors import Violated
from tests.channels.rows.test_orders import add, an_order, organizations
from tests.conftest import NOW

__all__ = ["organizations"]


@pytest.fixture
async def furnished(db: Database) -> Database:
    """Two orders with an output each, a coupon with a name on it, an account."""
    for number in (1, 2):
        assert await add(db, an_order(number))
    async with db.transaction() as tx:
        await tx.outputs.add(
            [
                KnownOutput(
                    outpoint=Outpoint(f"{number:064x}", 0),
                    order_id=an_order(number).id,
                    sats=Sats(700),
                    state=OutputState.SEEN,
                    first_seen=NOW,
                )
                for number in (1, 2)
            ]
        )
        coupon = Coupon(
            id="0b5c3d1e-7a44-4c39-9a0e-0c1f2b7d9e55FC",
            sats=Sats(700),
            organization_id="harbour",
            created=NOW,
            expires=NOW + timedelta(days=1),
        )
        await tx.coupons.add([coupon])
        await tx.corporate_accounts.set_limit("harbour", Sats(700), since=NOW)
    return db


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE channel_order SET credit_used = -1",
        "UPDATE channel_order SET charged = 1000000",
        "UPDATE channel_order SET credit_refund = -1",
        "UPDATE channel_order SET service_fee = -1",
        "UPDATE channel_order SET status = 'lost'",
        "UPDATE channel_order SET invoice_state = 'paid'",
        "UPDATE channel_order SET payment_hash = NULL",
        "UPDATE channel_order SET payment_hash = 'one for both'",
        "UPDATE channel_order SET onchain_address = 'one for both'",
        "UPDATE chain_output SET txid = 'one for both'",
        "UPDATE chain_output SET order_id = 'nobody''s'",
        "UPDATE chain_output SET to_order = 701",
        "UPDATE coupon SET sats = 0",
        "UPDATE coupon SET claimed_by = 'harbour'",
        "UPDATE coupon SET claimed_by = 'lighthouse', claimed_at = 0",
        "UPDATE corporate_account SET most_owed = -1",
    ],
)
async def test_what_cannot_be_is_refused(furnished: Database, sql: str) -> None:
    with pytest.raises(Violated):
        async with furnished.transaction() as tx:
            await tx.ledger._run(Statement(sql))


async def test_what_can_be_is_taken(furnished: Database) -> None:
    for sql in (
        "UPDATE channel_order SET credit_used = 0, charged = 700",
        "UPDATE coupon SET claimed_by = 'harbour', claimed_at = 0",
        "UPDATE corporate_account SET most_owed = 0",
    ):
        async with furnished.transaction() as tx:
            await tx.ledger._run(Statement(sql))
