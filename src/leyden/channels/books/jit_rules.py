"""Check just-in-time orders against the ledger, and against each other."""

from collections.abc import AsyncIterator, Iterator, Sequence

from leyden.base.database.stores import Stores
from leyden.channels.books.broken_rules import Broken
from leyden.channels.direct.jit.steps import fee_key, funding_key
from leyden.channels.direct.rules.jit import (
    FUNDED,
    JitOrder,
    JitPart,
    JitStatus,
    whole_sats,
)
from leyden.channels.rules import ledger

_PAGE = 200
_FORWARDED = {JitStatus.RESUMING, JitStatus.EARNED}


async def broken_by(books: Stores) -> AsyncIterator[Broken]:
    """Yield what is wrong with just-in-time orders."""
    owners: dict[str, str] = {}
    after = ""
    while page := await books.jit_orders.in_states(
        list(JitStatus), after=after, limit=_PAGE
    ):
        after = page[-1].id
        for order in page:
            parts = await books.jit_orders.parts(order.id)
            for what in (*_states(order, parts), *_shared(order, owners)):
                yield _broken(order, what)
            earned = whole_sats(order.earned_msat)
            for key, target, due in (
                (fee_key(order.id), ledger.EARNED, earned),
                (funding_key(order.id), ledger.PURSE, order.funding_fee or 0),
            ):
                found = await books.ledger.find(key)
                booked = found.entry.sats if found else 0
                if booked != due or (found and found.entry.target != target):
                    yield _broken(order, f"{booked:,} sat are booked, not {due:,}")


def _states(order: JitOrder, parts: Sequence[JitPart]) -> Iterator[str]:
    status = order.status
    if bool(order.coins) is not (status in FUNDED):
        yield f"it is {status}, but its coins are {len(order.coins)}"
    if bool(order.channel_point) is not (status in FUNDED - {JitStatus.OPENING}):
        yield f"it is {status}, but its channel is {order.channel_point or 'none'}"
    if order.is_unpublished and order.channel_point and not order.transaction:
        yield "its channel is not published, and its transaction is not stored"
    if status in _FORWARDED and not parts:
        yield f"it is {status}, but no part of a payment was forwarded"
    if parts and status not in FUNDED - {JitStatus.OPENING, JitStatus.OPENED}:
        yield f"it is {status}, but parts of a payment were forwarded"
    earned = sum(each.earned_msat or 0 for each in parts)
    if earned != order.earned_msat or bool(earned) is not (status is JitStatus.EARNED):
        yield f"it is {status}, and its parts earned {earned:,} msat"


def _shared(order: JitOrder, owners: dict[str, str]) -> Iterator[str]:
    for coin in order.coins:
        other = owners.setdefault(str(coin.outpoint), order.id)
        if other != order.id:
            yield f"it has the coin {coin.outpoint}, as {other} has"


def _broken(order: JitOrder, what: str) -> Broken:
    return Broken("I14", f"just-in-time order {order.id}: {what}", order.id)
