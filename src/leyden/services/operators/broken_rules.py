"""The rules that `verify` checks, by the names that it prints.

I1  all accounts together add up to zero
I2  a stored balance is the sum of its entries
I3  no account is negative that must not be
I4  a payment is booked once
I5  what is booked as received is what the treasury received
I6  an order holds what its state says, and all it held is accounted for
I7  a coupon was claimed once, and only by the organization it is for
I8  an order moved along the table of moves
I9  an order has at most one ticket
I10 a pending event has a task that will send it, or a paused receiver; so has a
    subscription that is behind the log
I11 what went to the auction for a channel is what its lease cost, and what it
    left of its share is the buyer's, unless the quote said otherwise
I12 a node has at most one lnd
I13 what was acknowledged is on disk
"""

from leyden.values import Struct


class Broken(Struct, frozen=True):
    """A rule that does not hold, and where."""

    rule: str
    where: str

    def __str__(self) -> str:
        """Return the violation as one line."""
        return f"{self.rule}: {self.where}"
