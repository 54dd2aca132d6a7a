"""The treasury: its balance, the Pool account, and payments for unknown orders."""

import asyncio
from collections.abc import Awaitable
from typing import Final, TypeVar

from leyden.base.rules.units import Sats
from leyden.channels.direct.base import Purse
from leyden.channels.direct.jit import purse as purses
from leyden.channels.direct.jit import state as jit
from leyden.channels.direct.jit.state import JitTotals
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.payments import Holdings, PaidOrder
from leyden.channels.rules.pricing import ChannelKind
from leyden.channels.services import ChannelServices
from leyden.channels.tickets import pool_account
from leyden.channels.tickets.pool_account import PoolAccountState
from leyden.errors import Away, MarketRefused
from leyden.values import Struct

T = TypeVar("T")

_PATIENCE_S: Final = 5.0  # a person waits for this
_MAX_TICKETS: Final = 200


class TreasuryBalance(Struct, frozen=True, kw_only=True):
    """The platform's funds; an unknown one is None, with the reason."""

    holdings: Holdings | None
    no_holdings: str
    standing: PoolAccountState | None
    no_standing: str
    alarm: str
    outstanding: Sats  # that tickets may still take
    tickets: list[Order]  # orders whose ticket is not registered or not created yet
    jit: JitTotals | None  # None: no just-in-time channels are sold
    purse_free: Sats | None  # coins for just-in-time channels
    no_purse: str


async def read(channels: ChannelServices) -> TreasuryBalance:
    """Query treasury and auction at once; one may fail without the other."""
    reader = channels.database.reader.orders
    (
        (holdings, no_holdings),
        (standing, no_standing),
        (purse_free, no_purse),
    ) = await asyncio.gather(
        _answer_of(
            channels.treasury.holdings() if channels.treasury else None,
            "This platform has no treasury.",
        ),
        _answer_of(
            pool_account.read(channels.account, channels.database)
            if channels.account
            else None,
            "The market is simulated, without a Pool account.",
        ),
        _answer_of(
            _purse_free(channels, channels.purse) if channels.purse else None, ""
        ),
    )
    return TreasuryBalance(
        holdings=holdings,
        no_holdings=no_holdings,
        standing=standing,
        no_standing=no_standing,
        alarm=standing.alarm(low=channels.rules.upkeep.low) if standing else "",
        outstanding=await reader.outstanding(),
        tickets=[
            each
            for status in (OrderStatus.CREATING, OrderStatus.CREATED)
            for each in await reader.in_status(status, limit=_MAX_TICKETS)
            if each.kind is ChannelKind.TICKET
        ],
        jit=await jit.totals(channels.database.reader) if channels.purse else None,
        purse_free=purse_free,
        no_purse=no_purse,
    )


async def _purse_free(channels: ChannelServices, purse: Purse) -> Sats:
    wallet = await purses.read(channels, purse)
    return await jit.free(channels.database.reader, wallet)


async def _answer_of(
    question: Awaitable[T] | None, otherwise: str
) -> tuple[T | None, str]:
    if question is None:
        return None, otherwise
    try:
        async with asyncio.timeout(_PATIENCE_S):
            return await question, ""
    except TimeoutError:
        return None, "It does not respond."
    except (Away, MarketRefused) as error:
        return None, str(error)


async def unknown_payments(channels: ChannelServices) -> list[PaidOrder]:
    """List Lightning payments without an order, among the newest invoices.

    These orders were created after the backup from which this installation was
    restored. Only a person can decide what to do about them.
    """
    if channels.treasury is None:
        return []
    paid = await channels.treasury.paid_orders()
    reader, hashes = channels.database.reader, [each.payment_hash for each in paid]
    known = {
        *await reader.orders.invoiced(hashes),
        *await reader.extensions.invoiced(hashes),
    }
    return [each for each in paid if each.payment_hash not in known]
