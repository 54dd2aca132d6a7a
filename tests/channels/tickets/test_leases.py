"""What a lease cost is worked out from what poold tells of it."""

import pytest

from leyden.channels.tickets import leases
from leyden.channels.tickets.stubs import auctioneer_pb2 as auctioneer
from leyden.channels.tickets.stubs import trader_pb2 as trader


def lease_of(
    nonce: bytes, fee: int, *, batch: int = 7, output: int = 0
) -> trader.Lease:
    return trader.Lease(
        channel_point=auctioneer.OutPoint(
            txid=bytes([batch]) * 31 + b"\x01", output_index=output
        ),
        order_nonce=nonce,
        premium_sat=1_499,
        execution_fee_sat=301,
        chain_fee_sat=fee,
        self_chan_balance=20_000,
    )


@pytest.mark.parametrize(
    ("fee", "taproot", "paid"), [(326, True, 245), (326, False, 326), (0, True, 0)]
)
def test_the_chain_takes_less_from_a_taproot_account(
    fee: int,
    taproot: bool,  # noqa: FBT001
    paid: int,
) -> None:
    assert leases.chain_fee(fee, 1, taproot=taproot) == paid


@pytest.mark.parametrize("rate", [253, 500, 1_000, 4_321, 12_500])
@pytest.mark.parametrize("channels", [1, 2, 3, 10])
def test_it_is_right_to_the_satoshi(rate: int, channels: int) -> None:
    bytes_ = 43 + 41 + (43 * channels + 1) // 2
    as_told = rate * (bytes_ * 4 + 229) // 1_000
    paid = rate * (bytes_ * 4 + 66) // 1_000
    assert abs(leases.chain_fee(as_told, channels, taproot=True) - paid) <= 1
    assert leases.chain_fee(as_told, channels, taproot=False) == as_told


def test_a_lease_has_its_channel_point_as_people_write_it() -> None:
    found = leases.by_nonce([lease_of(b"\xaa" * 32, 326, output=3)], taproot=True)
    lease = found["aa" * 32]
    assert lease.channel_point == f"01{'07' * 31}:3"
    assert lease.cost == 1_499 + 301 + 245 + 20_000


def test_channels_of_one_batch_share_what_the_chain_takes() -> None:
    both = [lease_of(b"\xbb" * 32, 184), lease_of(b"\xaa" * 32, 184)]
    found = leases.by_nonce(both, taproot=True)
    fees = [found[nonce * 32].chain_fee for nonce in ("aa", "bb")]
    assert sum(fees) == leases.chain_fee(368, 2, taproot=True)
    assert 0 <= fees[0] - fees[1] <= 1
