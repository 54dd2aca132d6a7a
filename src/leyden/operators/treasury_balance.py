"""The treasury: its balance, the Pool account, and payments for unknown orders."""

import asyncio
from collections.abc import Awaitable
from typing import Final, TypeVar

from leyden.base.rules.units import Sats
from leyden.channels.rules.orders import Order, Status
from leyden.channels.rules.payments import Holdings, PaidOrder
from leyden.channels.rules.pricing import ChannelKind
from leyden.channels.shop import Shop
from leyden.channels.tickets import pool_account
from leyden.channels.tickets.pool_account import Standing
from leyden.errors import Away, MarketRefused
from leyden.values import Struct

T = TypeVar("T")

_PATIENCE_S: Final = 5.0  # a person waits for this
_MOST_TICKETS: Final = 200


class TreasuryBalance(Struct, frozen=True, kw_only=True):
    """The shop's funds; an unknown one is None, with the reason."""

    holdings: Holdings | None
    no_holdings: str
    standing: Standing | None
    no_standing: str
    alarm: str
    outstanding: Sats  # that tickets may still take
    tickets: list[Order]  # orders whose ticket is not registered or not created yet


async def read(shop: Shop) -> TreasuryBalance:
    """Query treasury and auction at once; one may fail without the other."""
    reader = shop.database.reader.orders
    (holdings, no_holdings), (standing, no_standing) = await asyncio.gather(
        _asked(
            shop.treasury.holdings() if shop.treasury else None,
            "This platform has no treasury.",
        ),
        _asked(
            pool_account.read(shop.account, shop.database) if shop.account else None,
            "The market is simulated, without a Pool account.",
        ),
    )
    return TreasuryBalance(
        holdings=holdings,
        no_holdings=no_holdings,
        standing=standing,
        no_standing=no_standing,
        alarm=standing.alarm(low=shop.rules.upkeep.low) if standing else "",
        outstanding=await reader.outstanding(),
        tickets=[
            each
            for status in (Status.CREATING, Status.CREATED)
            for each in await reader.in_status(status, most=_MOST_TICKETS)
            if each.kind is ChannelKind.TICKET
        ],
    )


async def _asked(question: Awaitable[T] | None, otherwise: str) -> tuple[T | None, str]:
    if question is None:
        return None, otherwise
    try:
        async with asyncio.timeout(_PATIENCE_S):
            return await question, ""
    except TimeoutError:
        return None, "It does not respond."
    except (Away, MarketRefused) as error:
        return None, str(error)


async def unknown_payments(shop: Shop) -> list[PaidOrder]:
    """List Lightning payments without an order, among the newest invoices.

    These orders were created after the backup from which this installation was
    restored. Only a person can decide what to do about them.
    """
    if shop.treasury is None:
        return []
    paid = await shop.treasury.paid_orders()
    known = await shop.database.reader.orders.invoiced(
        each.payment_hash for each in paid
    )
    return [each for each in paid if each.payment_hash not in known]
