"""A database with one order in it, and what is decided about the order."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from leyden.base.database.database import Database
from leyden.base.rules.accounts import Organization
from leyden.base.rules.units import Sats
from leyden.channels.rules import ledger
from leyden.channels.rules.ledger import Entry, Reason
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.payments import InvoiceState
from leyden.channels.rules.pricing import AuctionTerms, Channel, Terms, quote
from leyden.channels.services import CLOSING, EXPIRY, TICKET, WITHDRAWAL
from leyden.channels.unit_of_work import UnitOfWork
from leyden.values import replace
from tests.conftest import NOW

HARBOUR = "harbour"
QUOTE = quote(Channel(capacity=Sats(1_000_000)), Terms(), AuctionTerms())


def an_order(number: int) -> Order:
    return Order(
        id=f"00000000-0000-4000-8000-{number:012d}FO",
        organization_id="harbour",
        status=OrderStatus.WAITING_PAYMENT,
        created=NOW,
        expires=NOW,
        quote=QUOTE,
        onchain_address=f"bcrt1q{number:038d}",
        lightning_invoice=f"lnbcrt{number:050d}",
        payment_hash=f"{number:064x}",
        invoice=InvoiceState.OPEN,
    )


LATER = NOW + timedelta(hours=2)
ORDER = an_order(1)
TO_A_NODE = replace(QUOTE.channel, node_key="02" + "ab" * 32)
DIRECT = replace(ORDER, quote=replace(QUOTE, channel=TO_A_NODE))
HELD = ledger.held(ORDER.id)
CREDIT = ledger.credit(HARBOUR)


@dataclass
class StoredOrder:
    """Where decisions about the order are made, and what was written of them."""

    database: Database

    async def have(self, order: Order, balances: Mapping[str, int]) -> None:
        """Add the order and its organization, and money."""
        async with self.database.transaction() as tx:
            await tx.accounts.add(Organization(id=HARBOUR, name=HARBOUR, created=NOW))
            await tx.orders.add(order)
            work = await UnitOfWork.load(tx, [order.id], now=NOW)
            for account, sats in balances.items():
                source, target = (account, "promo") if sats < 0 else ("promo", account)
                work.post(
                    [
                        Entry(
                            key=f"before:{account}",
                            what=Reason.CORRECTION,
                            source=source,
                            target=target,
                            sats=Sats(abs(sats)),
                        )
                    ]
                )
            await work.flush(tx)

    @asynccontextmanager
    async def deciding(self) -> AsyncIterator[tuple[UnitOfWork, Order]]:
        async with self.database.transaction() as tx:
            work = await UnitOfWork.load(tx, [ORDER.id], now=LATER, with_outputs=True)
            yield work, work.order(ORDER.id)
            await work.flush(tx)

    async def written(self) -> list[Entry]:
        """Return the entries that were decided about."""
        found = await self.database.reader.ledger.of_order(ORDER.id)
        assert {each.at for each in found} <= {LATER}
        return [each.entry for each in found]

    async def found(self) -> list[tuple[str, str]]:
        """Return kind and subject of what raises an alarm."""
        found = await self.database.reader.findings.list_(now=LATER)
        return [(kind, subject) for kind, subject, _ in found]

    async def order(self) -> Order:
        return await self.database.reader.orders.get(ORDER.id)

    async def due(self, kind: str) -> datetime | None:
        return await self.database.reader.tasks.next_due(kind, now=NOW)

    async def all_due(self) -> dict[str, datetime]:
        kinds = (CLOSING, EXPIRY, TICKET, WITHDRAWAL)
        found = {kind: await self.due(kind) for kind in kinds}
        return {kind: due for kind, due in found.items() if due is not None}


of_the_order = partial(Entry, organization_id=HARBOUR, order_id=ORDER.id)
