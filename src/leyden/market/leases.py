"""What a lease cost: poold tells the chain's part as if every account were an old one.

It is worked out anew: from what poold tells, the fee rate of the batch; from that, what
the auctioneer took from an account of our kind. Right to the satoshi that rounding
hides.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from leyden.domain.tickets import Lease
from leyden.domain.units import Sats

# By the auction's own estimate (pool's order/tradingfees.go), in bytes and in weight.
_ACCOUNT = 43 + 41  # the account's new output and its input
_CHANNEL = 43  # half of it is the seller's
_OLD_WITNESS, _TAPROOT_WITNESS = 229, 66


def by_nonce(told: Iterable[Any], *, taproot: bool) -> dict[str, Lease]:
    """Give what was bought, by the nonce of the bid."""
    batches: dict[bytes, list[Any]] = defaultdict(list)
    for lease in told:
        batches[lease.channel_point.txid].append(lease)
    found: dict[str, Lease] = {}
    for batch in batches.values():
        batch.sort(key=lambda lease: lease.order_nonce)
        told_fee = sum(lease.chain_fee_sat for lease in batch)
        fee = chain_fee(told_fee, len(batch), taproot=taproot)
        for place, lease in enumerate(batch):
            share = fee // len(batch) + (fee % len(batch) if place == 0 else 0)
            found[lease.order_nonce.hex()] = _lease(lease, share)
    return found


def chain_fee(told: int, channels: int, *, taproot: bool) -> int:
    """Give what an account paid to the chain for so many channels in one batch."""
    as_told = _weight(channels, _OLD_WITNESS)
    rate = -(-told * 1_000 // as_told)
    witness = _TAPROOT_WITNESS if taproot else _OLD_WITNESS
    return rate * _weight(channels, witness) // 1_000


def _weight(channels: int, witness: int) -> int:
    return (_ACCOUNT + (_CHANNEL * channels + 1) // 2) * 4 + witness


def _lease(told: Any, fee: int) -> Lease:
    point = told.channel_point
    return Lease(
        channel_point=f"{point.txid[::-1].hex()}:{point.output_index}",
        premium=Sats(told.premium_sat),
        execution_fee=Sats(told.execution_fee_sat),
        chain_fee=Sats(fee),
        self_chan_balance=Sats(told.self_chan_balance),
    )
