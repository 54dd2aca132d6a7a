"""Extensions of leases: more blocks for a direct channel that is open.

    waiting_payment ──> settling ──> extended
       │   └────────────────┴──────> failed: the payment was returned, or is credit
       └──> expired

Credit or a corporate account pays the whole price at once: then an extension begins as
`extended`. Otherwise an invoice asks for the whole price. Its payment is held until
`settling` is stored, and the lease is extended once it is settled.
"""

from datetime import datetime
from enum import StrEnum, auto
from typing import Final

from leyden.base.rules.units import Sats
from leyden.channels.rules.payments import PaymentRequest
from leyden.channels.rules.pricing import LEASES
from leyden.values import Struct

SUFFIX: Final = "FX"
# The end of a lease is at most so far away: a year, and some weeks so that a lease can
# be extended by a year before it ends.
LONGEST_BLOCKS: Final = LEASES[-1] + LEASES[1]
# Leases that are extended by themselves have so many blocks left then: two days.
AUTO_BLOCKS_LEFT: Final = 288


class ExtensionStatus(StrEnum):
    """The status of an extension, in the API's values."""

    WAITING_PAYMENT = auto()
    SETTLING = auto()  # its payment is ours, or about to be
    EXTENDED = auto()
    EXPIRED = auto()  # not paid in time
    FAILED = auto()  # it could not be extended any more


OPEN: Final = frozenset({ExtensionStatus.WAITING_PAYMENT, ExtensionStatus.SETTLING})


class Extension(Struct, frozen=True, kw_only=True):
    """More blocks for the lease of an order's channel."""

    id: str
    order_id: str
    status: ExtensionStatus
    created: datetime
    expires: datetime
    blocks: int
    ends: int  # the block at which the lease ends with it
    premium: Sats
    service_fee: Sats
    credit_used: Sats = Sats(0)
    charged: Sats = Sats(0)  # to a corporate account
    lightning_invoice: str = ""
    payment_hash: str = ""
    peer: str = ""  # the node that ordered it over LSPS7
    scid: str = ""  # of its channel, in that order
    token: str = ""  # of LSPS7

    @property
    def total_fee(self) -> Sats:
        """The whole price."""
        return Sats(self.premium + self.service_fee)

    @property
    def amount_due(self) -> Sats:
        """The amount that its invoice asks for."""
        return Sats(self.total_fee - self.credit_used - self.charged)

    @property
    def payment_request(self) -> PaymentRequest:
        """The payment request of an extension that has an invoice."""
        return PaymentRequest(
            order_id=self.id,
            sats=self.total_fee,
            onchain_address="",
            lightning_invoice=self.lightning_invoice,
            payment_hash=self.payment_hash,
        )


class Unextendable(StrEnum):
    """Why a lease was not extended by itself, in the event's words."""

    PRICE = "price_above_limit"
    CREDIT = "credit_missing"
    LIMIT = "credit_limit_reached"
    REFUSED = "not_possible"  # its channel is closing, its seller another one
