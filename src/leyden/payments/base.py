"""The interface of payments to us.

Calls about money have three answers: yes, no, and unknown. Unknown is the
exception TreasuryAway, so that no caller can take it for one of the other
two; the caller retries. Every method may be called any number of times.
"""

from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta
from typing import Protocol

from leyden.domain.payments import (
    Holdings,
    PaidOrder,
    PaymentRequest,
    PaymentUpdate,
)
from leyden.domain.units import Sats


class Payments(Protocol):
    """A treasury: accepts Lightning payments to hold invoices, and coins."""

    async def request(
        self, order_id: str, sats: Sats, *, lives: timedelta
    ) -> PaymentRequest:
        """Create an invoice and an address for an order.

        The second call for the same order and sum returns the same invoice.
        """
        ...

    async def lookup(self, requests: Sequence[PaymentRequest]) -> list[PaymentUpdate]:
        """Return updates for these: each one's invoice and all its outputs.

        An output that is left out does not exist (any more).
        """
        ...

    async def settle(self, request: PaymentRequest) -> bool:
        """Settle a held Lightning payment; return False if no longer held.

        True once the money is ours, however often this is called. A treasury knows
        nothing of an invoice that it never created: TreasuryAway, for another one
        may hold it.
        """
        ...

    async def cancel(self, request: PaymentRequest) -> bool:
        """Cancel a held payment back, or an invoice that nobody paid.

        Return False if it was settled before: the money is ours. TreasuryAway as
        for `settle`.
        """
        ...

    async def identity(self) -> str:
        """Return the public key of the treasury's lnd, which never changes."""
        ...

    async def close(self) -> None:
        """Release the connections; whatever is asked next opens them again."""
        ...

    def watch(self) -> AsyncGenerator[PaymentUpdate, None]:
        """Yield payments as they arrive: some may come twice, some not at all.

        All existing coins come first, so that none is missed however long nobody
        watched. Invoices paid in that time have to be looked up. Ends with
        TreasuryAway.
        """
        ...


class TreasuryFunds(Protocol):
    """What is in the treasury, for its operator."""

    async def holdings(self) -> Holdings:
        """Return the treasury's balances; raise TreasuryAway without an answer."""
        ...

    async def paid_orders(self) -> list[PaidOrder]:
        """List orders that were paid over Lightning, of the newest invoices.

        They are of all who had invoices made here, whether they know so or not.
        """
        ...
