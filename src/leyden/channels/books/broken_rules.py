"""The rules that `verify` checks, with the numbers that it prints.

I1  the balances of all accounts sum to zero
I2  a stored balance is the sum of the account's entries
I3  an account is negative only if it may be
I4  a payment is booked once
I5  the ledger books as received what the treasury received
I6  an order holds what its status requires, and all its money is accounted for
I7  a coupon was claimed once, and its credit went to the organization that claimed it
I8  an order's recorded status changes follow the table of moves
I9  an order has the ticket that its status requires; only an open one reserves coins
I10 a pending event, or a subscription that is behind the event log, has a task that
    sends it, unless its receiver is paused
I11 the price booked for a channel is what its lease cost, and the unused part of the
    fee went back to the buyer, unless the quote said otherwise
I12 at most one lnd process runs for a node
I13 an acknowledged commit is on disk
I14 a just-in-time order has booked what its forwards earned and its channel cost, and
    has a channel, coins of its own and forwarded parts as its status requires
I15 the purse's channels have what lnd's history of forwards says, and what it says of
    just-in-time orders is booked
I16 an extension of a lease has booked its price, and the lease is as much longer as
    its extensions say
I17 a channel that is bought from another LSP has a purchase as its status requires, and
    has booked what that cost, once it is paid
"""

from leyden.values import Struct


class Broken(Struct, frozen=True):
    """A violation of a rule: the rule's number, and what violates it."""

    rule: str
    where: str
    subject: str = ""  # the id of the order, or the output, if it is about one payment

    def __str__(self) -> str:
        """Return the violation as one line."""
        return f"{self.rule}: {self.where}"
