"""The cost of leases, computed anew from poold's report.

poold reports the chain fee as if every account were of the old kind. So the
batch's fee rate is computed from poold's report, and from the rate what the
auctioneer took from an account of our kind. The result is exact up to the
satoshi that rounding hides.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from leyden.base.rules.units import Sats
from leyden.channels.rules.leases import Lease

# By the auction's own estimate (pool's order/tradingfees.go), in bytes and in weight.
_ACCOUNT = 43 + 41  # the account's new output and its input
_CHANNEL = 43  # half of it is the seller's
_OLD_WITNESS, _TAPROOT_WITNESS = 229, 66


def by_nonce(
    leases: Iterable[Any], *, taproot: bool, height: int = 0
) -> dict[str, Lease]:
    """Return the leases that were bought, by the nonce of the bid."""
    batches: dict[bytes, list[Any]] = defaultdict(list)
    for lease in leases:
        batches[lease.channel_point.txid].append(lease)
    found: dict[str, Lease] = {}
    for batch in batches.values():
        batch.sort(key=lambda lease: lease.order_nonce)
        reported_fee = sum(lease.chain_fee_sat for lease in batch)
        fee = chain_fee(reported_fee, len(batch), taproot=taproot)
        for index, lease in enumerate(batch):
            share = fee // len(batch) + (fee % len(batch) if index == 0 else 0)
            found[lease.order_nonce.hex()] = _lease(lease, share, height)
    return found


def chain_fee(reported: int, channels: int, *, taproot: bool) -> int:
    """Return an account's chain fee for so many channels in one batch."""
    old_weight = _weight(channels, _OLD_WITNESS)
    rate = -(-reported * 1_000 // old_weight)
    witness = _TAPROOT_WITNESS if taproot else _OLD_WITNESS
    return rate * _weight(channels, witness) // 1_000


def _weight(channels: int, witness: int) -> int:
    return (_ACCOUNT + (_CHANNEL * channels + 1) // 2) * 4 + witness


def _lease(lease: Any, fee: int, height: int) -> Lease:
    point = lease.channel_point
    return Lease(
        channel_point=f"{point.txid[::-1].hex()}:{point.output_index}",
        premium=Sats(lease.premium_sat),
        execution_fee=Sats(lease.execution_fee_sat),
        chain_fee=Sats(fee),
        self_chan_balance=Sats(lease.self_chan_balance),
        peer=lease.channel_remote_node_key.hex(),
        height=height,
    )
