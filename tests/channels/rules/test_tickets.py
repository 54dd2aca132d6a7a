"""What a ticket hides, and what its lease cost."""

from leyden.base.rules.units import Sats
from leyden.channels.rules.leases import Lease
from leyden.channels.tickets.rules.tickets import Ticket


def test_a_lease_costs_all_that_the_auction_charged() -> None:
    lease = Lease(
        channel_point=f"{'ab' * 32}:1",
        premium=Sats(4_999),
        execution_fee=Sats(1_001),
        chain_fee=Sats(653),
        self_chan_balance=Sats(200_000),
    )
    assert lease.cost == 206_653


def test_a_ticket_is_not_shown_in_a_log() -> None:
    assert "sidecar1secret" not in repr(Ticket(ref="a ref", text="sidecar1secret"))
