"""How we are paid.

Calls about money have three answers: yes, no, and not known. Not known is the
exception TreasuryAway, so that nobody can take it for one of the other two; whoever
gets it asks again. Every method may be called any number of times.
"""

from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta
from typing import Protocol

from leyden.domain.payments import Holdings, PaymentRequest, PaymentUpdate
from leyden.domain.units import Sats


class Payments(Protocol):
    """A treasury: it takes Lightning payments into hold invoices, and coins."""

    async def request(
        self, order_id: str, sats: Sats, *, lives: timedelta
    ) -> PaymentRequest:
        """Make an invoice and an address for an order.

        The second call for the same order and sum finds the same invoice.
        """
        ...

    async def look(self, requests: Sequence[PaymentRequest]) -> list[PaymentUpdate]:
        """Tell how these stand: each one's invoice, and every output to its address.

        An output that is not told of is not there (any more).
        """
        ...

    async def settle(self, request: PaymentRequest) -> bool:
        """Take a held Lightning payment. False: it is not held any more.

        True once it is ours, however often it is called. Of an invoice that it never
        made a treasury knows nothing: TreasuryAway, for another one may hold it.
        """
        ...

    async def cancel(self, request: PaymentRequest) -> bool:
        """Hand a held payment back, or close an invoice that nobody paid.

        False: it was settled before, the money is ours. TreasuryAway as for `settle`.
        """
        ...

    async def identity(self) -> str:
        """Say who it is: the public key of its lnd, the same for ever."""
        ...

    def watch(self) -> AsyncGenerator[PaymentUpdate, None]:
        """Tell of payments as they come: each may come twice, and some not at all.

        All coins there are come first, so that none is missed however long nobody
        watched. Invoices of that time have to be looked for. Ends with TreasuryAway.
        """
        ...


class TreasuryFunds(Protocol):
    """The treasury as its operator looks at it."""

    async def holdings(self) -> Holdings:
        """Return what is in it; TreasuryAway when it does not answer."""
        ...
