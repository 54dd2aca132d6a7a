"""The interface of a treasury, which receives payments.

Calls about money have three answers: yes, no, and unknown. Unknown is the
exception TreasuryAway, so that no caller can take it for one of the other
two; the caller retries. Every method may be called any number of times.
"""

from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta
from typing import Protocol

from leyden.base.rules.units import Sats
from leyden.channels.rules.payments import (
    Holdings,
    PaidOrder,
    PaymentRequest,
    PaymentUpdate,
)


class Payments(Protocol):
    """A treasury, which accepts on-chain payments and payments of hold invoices."""

    async def request(
        self, order_id: str, sats: Sats, *, lives: timedelta, with_address: bool = True
    ) -> PaymentRequest:
        """Create an invoice for an order, and an address unless it gets none.

        The second call for the same order and sum returns the same invoice, unless that
        one has expired or was cancelled: then it creates another one.
        """
        ...

    async def lookup(self, requests: Sequence[PaymentRequest]) -> list[PaymentUpdate]:
        """Return the state of each request's invoice, and of all its outputs.

        An output that is left out does not exist (any more).
        """
        ...

    async def settle(self, request: PaymentRequest) -> bool:
        """Settle a held Lightning payment; return False if no longer held.

        Return True once the money is ours, however often this is called. Raise
        TreasuryAway for an invoice that this treasury did not create: another
        treasury may hold it.
        """
        ...

    async def cancel(self, request: PaymentRequest) -> bool:
        """Cancel a held payment, or an invoice that nobody paid.

        Return False if it was settled before: the money is ours. Raise TreasuryAway
        as `settle` does.
        """
        ...

    async def identity(self) -> str:
        """Return the public key of the treasury's lnd, which never changes."""
        ...

    async def close(self) -> None:
        """Close the connections; the next call opens them again."""
        ...

    def watch(self) -> AsyncGenerator[PaymentUpdate, None]:
        """Yield payments as they arrive; updates may be repeated or missed.

        All existing coins come first, so that none is missed however long nobody
        watched. The caller looks up invoices that were paid in that time. The
        generator ends by raising TreasuryAway.
        """
        ...


class TreasuryFunds(Protocol):
    """The treasury's funds, as its operator sees them."""

    async def holdings(self) -> Holdings:
        """Return the treasury's balances; raise TreasuryAway if it does not respond."""
        ...

    async def paid_orders(self) -> list[PaidOrder]:
        """List the orders that the newest invoices were paid for.

        The list includes orders of other installations that use the same treasury.
        """
        ...
