"""Just-in-time channels (LSPS2, bLIP-52): their price, their life, and each decision.

    sold ─HELD─> holding ─ASKED─> opening ─SIGNED─> opened ─FORWARDED─> resuming
      ^──RETURNED──┘ ^               │                 │                 │    │
      └───────────REFUSED────────────┘             RETURNED          REFUSED CLAIMED
      └─LAPSED─> expired                               └────> unpaid <───┘    v
                                                               └─CLAIMED─> earned

                unpaid ─GIVEN_UP─> retracting ─RETRACTED─> expired
                   ^─────REFUSED───────┘

A payment to an order's channel id arrives as HTLCs that the purse's lnd holds and asks
us about. From `resuming` on, lnd may have forwarded them, and the node may claim them
at any time: an HTLC whose part is stored gets the same answer again, and is never
failed, whatever else is true by then. Otherwise its payer would be refunded by us for
what the node is paid.

An unpaid order has a channel that nobody paid for. The next payment to it pays the fee,
over that channel.

Of an order whose node trusts us, the funding transaction is published once its payment
is claimed. Until then nothing else passes its channel, and if nobody claims it, channel
and transaction are given up, which costs nothing. The channel id ends with them: lnd
gives it to no other channel.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum, auto
from typing import Any, Final

from leyden.base.rules.times import to_iso
from leyden.base.rules.units import Sats
from leyden.channels.direct.rules.lsps1 import Fault, check_known, invalid
from leyden.channels.direct.rules.openings import Coin, Opening, OpeningState
from leyden.channels.direct.rules.transactions import txid_of
from leyden.channels.rules.pricing import funding_vbytes
from leyden.values import Struct

TOKEN, PARAMS, SMALL, LARGE = 200, 201, 202, 203

MSAT: Final = 1_000  # in a satoshi
_MILLION: Final = 1_000_000
_OVERFLOW: Final = 2**64
# For the reserve that lnd keeps, which the node can't receive.
_RESERVE_PART: Final = 100
# lnd forwards nothing for less than its channels' policy, by default. It holds for each
# part of a payment.
_POLICY_BASE_MSAT: Final = 1_000
_POLICY_PPM: Final = 1
_LEAST_PART_MSAT: Final = 1_000

MIN_LIFETIME: Final = 4_320  # blocks; the platform closes no channel anyway
MAX_TO_SELF_DELAY: Final = 2_016
# The difference between what a payer's HTLC and ours expire at.
CLTV_DELTA: Final = 144

# How long a payment is held: the node may have to be woken up, and other nodes' money
# is locked meanwhile. After two blocks, LDK refuses the payment: an HTLC must have the
# invoice's own blocks left when it arrives, and payers add three.
HOLD: Final = timedelta(seconds=90)
HOLD_BLOCKS: Final = 2
# An HTLC that is neither pending nor in the history for so long was refused.
SETTLES: Final = timedelta(seconds=10)

# For so long, the next payment may use a channel that is not published.
GIVEN_UP_AFTER: Final = timedelta(minutes=10)

# A payment that an lnd still knows of may be claimed for so long.
CLAIMED_WITHIN: Final = timedelta(days=3)
# For so long, channels that were opened for nothing count.
UNPAID_COUNTS: Final = timedelta(days=7)
# A payment that a node has for so long counts as one that it did not take.
KEPT: Final = timedelta(minutes=10)

# Channel ids: in lnd's range of aliases, which begins at block 16,000,000. It counts
# its own up from there.
_FIRST_ALIAS: Final = 16_000_000
_FIRST_BLOCK: Final = 16_100_000
_BLOCKS: Final = 140_000
_SCID: Final = re.compile(r"([0-9]{1,8})x([0-9]{1,8})x([0-9]{1,5})")
_BLOCK_SHIFT, _TX_SHIFT = 40, 16

_FIELDS: Final = (
    "min_fee_msat",
    "proportional",
    "valid_until",
    "min_lifetime",
    "max_client_to_self_delay",
    "min_payment_size_msat",
    "max_payment_size_msat",
)
_MSAT_TEXT: Final = re.compile(r"0|[1-9][0-9]{0,19}")


class JitStatus(StrEnum):
    """Where a just-in-time order stands."""

    SOLD = auto()  # the wallet has its channel id; nobody has paid
    HOLDING = auto()  # a payment to it is held
    OPENING = auto()  # coins are reserved, and lnd may have been asked for the channel
    OPENED = auto()  # both have signed it
    RESUMING = auto()  # lnd may have forwarded the payment
    EARNED = auto()  # the node claimed it, and we have the fee
    UNPAID = auto()  # there is a channel, but no fee
    RETRACTING = auto()  # its channel, which is not published, is given up
    EXPIRED = auto()  # not paid in time


class JitEvent(StrEnum):
    """What can happen to a just-in-time order."""

    HELD = auto()
    RETURNED = auto()
    ASKED = auto()
    REFUSED = auto()
    SIGNED = auto()
    FORWARDED = auto()
    CLAIMED = auto()
    LAPSED = auto()
    GIVEN_UP = auto()
    RETRACTED = auto()


JIT_MOVES: Final[Mapping[tuple[JitStatus, JitEvent], JitStatus]] = {
    (JitStatus.SOLD, JitEvent.HELD): JitStatus.HOLDING,
    (JitStatus.SOLD, JitEvent.LAPSED): JitStatus.EXPIRED,
    (JitStatus.HOLDING, JitEvent.RETURNED): JitStatus.SOLD,
    (JitStatus.HOLDING, JitEvent.ASKED): JitStatus.OPENING,
    (JitStatus.OPENING, JitEvent.REFUSED): JitStatus.SOLD,
    (JitStatus.OPENING, JitEvent.SIGNED): JitStatus.OPENED,
    (JitStatus.OPENED, JitEvent.RETURNED): JitStatus.UNPAID,
    (JitStatus.OPENED, JitEvent.FORWARDED): JitStatus.RESUMING,
    (JitStatus.RESUMING, JitEvent.CLAIMED): JitStatus.EARNED,
    (JitStatus.RESUMING, JitEvent.REFUSED): JitStatus.UNPAID,
    (JitStatus.UNPAID, JitEvent.FORWARDED): JitStatus.RESUMING,
    (JitStatus.UNPAID, JitEvent.CLAIMED): JitStatus.EARNED,
    (JitStatus.UNPAID, JitEvent.GIVEN_UP): JitStatus.RETRACTING,
    (JitStatus.RETRACTING, JitEvent.RETRACTED): JitStatus.EXPIRED,
    (JitStatus.RETRACTING, JitEvent.REFUSED): JitStatus.UNPAID,
}

# The states in which the order's payment is held since `held_at`.
HELD_STATES: Final = frozenset({JitStatus.HOLDING, JitStatus.OPENING, JitStatus.OPENED})
# The states in which there may be a channel.
FUNDED: Final = frozenset(
    {
        JitStatus.OPENING,
        JitStatus.OPENED,
        JitStatus.RESUMING,
        JitStatus.EARNED,
        JitStatus.UNPAID,
        JitStatus.RETRACTING,
    }
)


class JitOffer(Struct, frozen=True, kw_only=True):
    """What is offered to one peer: the parameters of its opening fee."""

    min_fee_msat: int
    ppm: int
    valid_until: datetime
    least_msat: int  # payments
    most_msat: int

    def as_json(self) -> dict[str, Any]:
        """Return the parameters without a promise."""
        values = (
            str(self.min_fee_msat),
            self.ppm,
            to_iso(self.valid_until),
            MIN_LIFETIME,
            MAX_TO_SELF_DELAY,
            str(self.least_msat),
            str(self.most_msat),
        )
        return dict(zip(_FIELDS, values, strict=True))


class JitOrder(Struct, frozen=True, kw_only=True):
    """A channel that is opened once somebody pays the wallet."""

    id: str  # its channel id, BLOCKxTRANSACTIONxOUTPUT
    purse: str  # the public key of the lnd that sold it
    peer: str
    status: JitStatus
    created: datetime
    valid_until: datetime
    size_msat: int  # of the payment
    fee_msat: int
    capacity: Sats
    payment_hash: str = ""  # that is, or was, held
    held_at: datetime
    held_height: int = 0
    coins: tuple[Coin, ...] = ()
    channel_point: str = ""
    resumed_at: datetime
    funding_fee: Sats | None = None  # None: no channel, or not known yet
    earned_msat: int = 0
    trusts: bool = False  # the node was told that we publish once it claims
    transaction: str = ""  # signed, if it trusts us; stored before its channel is

    @property
    def scid(self) -> int:
        """The channel id as lnd has it."""
        return scid_of(self.id)

    @property
    def is_unpublished(self) -> bool:
        """Whether its channel, if it has one, may not be published."""
        return self.trusts and self.status in FUNDED and self.funding_fee is None


class CircuitKey(Struct, frozen=True, order=True):
    """What identifies an HTLC at the purse's lnd, for good."""

    chan_id: str
    htlc_id: str


class HeldHtlc(Struct, frozen=True, kw_only=True):
    """An HTLC that the purse's lnd holds and asks us about."""

    circuit: CircuitKey
    scid: int  # of the channel that it asks for
    payment_hash: str
    amount_msat: int  # to forward, of what arrived


class JitPart(Struct, frozen=True, kw_only=True):
    """An HTLC that may have been forwarded, and what we take of it."""

    circuit: CircuitKey
    payment_hash: str
    amount_msat: int
    take_msat: int
    earned_msat: int | None = None  # by lnd's history; None: not there


class Forward(Struct, frozen=True):
    """A claimed HTLC in lnd's history, and what the forward earned."""

    circuit: CircuitKey
    fee_msat: int
    scid: int  # of the channel that it left by: one of its aliases
    in_msat: int  # what arrived
    out_msat: int


class JitChannel(Struct, frozen=True, kw_only=True):
    """An open channel of the purse's lnd."""

    order_id: str  # its memo; "" if it is not one that we opened
    peer: str = ""
    point: str
    scid: int
    active: bool
    zero_conf: bool
    aliases: frozenset[int] = frozenset()
    pending: frozenset[str] = frozenset()  # hashes of payments to the node
    arriving: frozenset[str] = frozenset()  # ... and of those from it
    received: Sats = Sats(0)  # by the purse, in all payments
    remote: Sats = Sats(0)  # the node's balance
    settled: bool = True  # no payment is pending, in either direction

    @property
    def scids(self) -> frozenset[int]:
        """All ids by which the history may name it."""
        return self.aliases | {self.scid}


class HtlcAnswer(Struct, frozen=True):
    """What becomes of an HTLC: failed, or resumed, less what we take."""

    circuit: CircuitKey
    fails: bool = False
    out_msat: int | None = None  # None: resumed as it is
    take_msat: int = 0


def may(order: JitOrder, event: JitEvent) -> bool:
    """Return whether this can happen to the order now."""
    return (order.status, event) in JIT_MOVES


def may_be_claimed(order: JitOrder, *, now: datetime) -> bool:
    """Return whether an unpaid order's payment may still be claimed, and booked."""
    return order.status is JitStatus.UNPAID and order.resumed_at > now - CLAIMED_WITHIN


# Channel ids.


def scid_from(random: int) -> str:
    """Return a channel id, of a random number below 2**57."""
    block, rest = random % _BLOCKS, random // _BLOCKS
    return f"{_FIRST_BLOCK + block}x{rest & 0xFFFFFF}x{rest >> 24 & 0xFFFF}"


def scid_of(text: str) -> int:
    """Return a channel id as lnd has it."""
    if not (found := _SCID.fullmatch(text)):
        raise ValueError(f"no channel id: {text!r}")
    block, transaction, output = map(int, found.groups())
    return block << _BLOCK_SHIFT | transaction << _TX_SHIFT | output


def scid_text(scid: int) -> str:
    """Return a channel id as clients have it."""
    return (
        f"{scid >> _BLOCK_SHIFT}x{scid >> _TX_SHIFT & 0xFFFFFF}"
        f"x{scid & (1 << _TX_SHIFT) - 1}"
    )


def is_id(text: str) -> bool:
    """Return whether this is a channel id that we might have sold."""
    return bool(_SCID.fullmatch(text)) and may_be_ours(scid_of(text))


def may_be_ours(scid: int) -> bool:
    """Return whether we might have sold this channel id."""
    return _FIRST_BLOCK <= scid >> _BLOCK_SHIFT < _FIRST_BLOCK + _BLOCKS


def may_be_lnds(scid: int) -> bool:
    """Return whether lnd might call a channel so that is not confirmed."""
    return _FIRST_ALIAS <= scid >> _BLOCK_SHIFT < _FIRST_BLOCK


# Prices.


def opening_fee(size_msat: int, min_fee_msat: int, ppm: int) -> int | None:
    """Return the fee for a payment; None if a step of it overflows 64 bits."""
    product = size_msat * ppm
    if size_msat >= _OVERFLOW or product + _MILLION - 1 >= _OVERFLOW:
        return None
    return max(min_fee_msat, -(-product // _MILLION))


def capacity_for(size_msat: int, spare: Sats) -> Sats:
    """Return the capacity of a channel that can receive the payment, and `spare`."""
    sats = -(-size_msat // MSAT)
    return Sats(sats + -(-sats // _RESERVE_PART) + spare)


def funding_cost(sat_per_vb: int, *, inputs: int = 1) -> Sats:
    """Return what a funding transaction costs."""
    return Sats(sat_per_vb * funding_vbytes(inputs))


def highest_sat_per_vb(order: JitOrder) -> int:
    """Return the highest fee rate at which the order pays for its transaction."""
    return order.fee_msat // (funding_vbytes(len(order.coins)) * MSAT)


def promised(peer: str, offer: Mapping[str, Any]) -> bytes:
    """Return what a promise is made of: the peer, and all parameters."""
    return json.dumps([peer, *(offer[each] for each in _FIELDS)]).encode()


def check_token(params: Mapping[str, Any]) -> None:
    """Raise a fault for unknown fields, or a token: there are none."""
    check_known(params, ("token",))
    if params.get("token") not in (None, ""):
        raise Fault(TOKEN, "Unrecognized or stale token", {"message": "no such token"})


def parse_buy(params: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Return the parameters of the fee and the payment's size, both well-formed.

    A payment of any size is refused: LDK Node 0.7 computes the fee that it accepts for
    one wrongly, so that a channel would be opened for a payment that it refuses.
    """
    check_known(params, ("opening_fee_params", "payment_size_msat"))
    offer = params.get("opening_fee_params")
    if not isinstance(offer, dict):
        raise invalid("opening_fee_params", "is required")
    texts = {"promise", *(each for each in _FIELDS if each.endswith("_msat"))}
    right = set(offer) == {*_FIELDS, "promise"} and all(
        isinstance(offer[each], str) for each in {*texts, "valid_until"}
    )
    if not right or any(
        type(offer[each]) is not int
        for each in ("proportional", "min_lifetime", "max_client_to_self_delay")
    ):
        raise bad_offer("is not as it was offered")
    size = params.get("payment_size_msat")
    if size is None:
        raise invalid("payment_size_msat", "is required: a payment of any size is not")
    if not isinstance(size, str) or not _MSAT_TEXT.fullmatch(size):
        raise invalid("payment_size_msat", "must be millisatoshis: a string of digits")
    return offer, int(size)


def bad_offer(why: str) -> Fault:
    """Return the fault for parameters that we did not promise to this peer, or did."""
    return Fault(
        PARAMS, "Invalid opening_fee_params", {"message": f"opening_fee_params: {why}"}
    )


def price(offer: Mapping[str, Any], size_msat: int) -> int:
    """Return the fee for a payment by a promise; raise a fault beyond its limits."""
    fee = opening_fee(size_msat, int(offer["min_fee_msat"]), offer["proportional"])
    least = int(offer["min_payment_size_msat"])
    largest = int(offer["max_payment_size_msat"])
    if fee is None or size_msat > largest:
        why = f"the payment is beyond the maximum of {largest // MSAT:,} sat"
        raise Fault(LARGE, "Payment size too large", {"message": why})
    if size_msat < least or fee >= size_msat:
        why = f"the payment is below the minimum of {-(-least // MSAT):,} sat"
        raise Fault(SMALL, "Payment size too small", {"message": why})
    return fee


def divide(amounts: Sequence[int], fee_msat: int) -> list[int] | None:
    """Return what is taken of each part; None if the parts are too small for that.

    Each pays lnd's own fee for a forward, without which lnd would not forward it; the
    largest pay the rest.
    """
    takes = [_POLICY_BASE_MSAT + -(-each * _POLICY_PPM // _MILLION) for each in amounts]
    rest = fee_msat - sum(takes)
    if rest < 0:
        return None
    for index in sorted(range(len(amounts)), key=lambda each: -amounts[each]):
        more = min(rest, amounts[index] - takes[index] - _LEAST_PART_MSAT)
        takes[index] += max(0, more)
        rest -= max(0, more)
    if rest or any(
        a - t < _LEAST_PART_MSAT for a, t in zip(amounts, takes, strict=True)
    ):
        return None
    return takes


# Decisions.


class Step(StrEnum):
    """What to do next about the payments to an order's channel id."""

    WAIT = auto()  # for more parts, for the node, for the channel
    PASS = auto()  # resume as they are
    RETURN = auto()  # fail: the payer gets the money back, and may try again
    HOLD = auto()  # store that a payment is held
    OPEN = auto()
    FIND = auto()  # the opening, whose answer is not known
    FORWARD = auto()  # less our fee


class Payment(Struct, frozen=True, kw_only=True):
    """The parts of one payment that are held, none of which is stored as forwarded."""

    payment_hash: str
    amount_msat: int
    since: datetime
    height: int  # of the chain, when the first part arrived


def decide(
    order: JitOrder, payment: Payment, *, online: bool, now: datetime, height: int
) -> Step:
    """Return what to do next for a payment to this order's channel id."""
    has_lapsed = order.status is JitStatus.SOLD and now >= order.valid_until
    is_open = order.status is JitStatus.EARNED and not order.is_unpublished
    if has_lapsed or is_open or order.status is JitStatus.EXPIRED:
        return Step.PASS  # without a channel, lnd tells the payer that there is none
    if _is_over(order, payment, now=now, height=height):
        return Step.RETURN
    if order.status is JitStatus.SOLD:
        return Step.HOLD
    if payment.amount_msat < order.size_msat or not online:
        return Step.WAIT
    # While it is resuming: until it is known what became of the other payment.
    return _NEXT.get(order.status, Step.WAIT)


_NEXT: Final = {
    JitStatus.HOLDING: Step.OPEN,
    JitStatus.OPENING: Step.FIND,
    JitStatus.OPENED: Step.FORWARD,
    JitStatus.UNPAID: Step.FORWARD,
}


def _is_over(order: JitOrder, payment: Payment, *, now: datetime, height: int) -> bool:
    """Return whether the payment was held for as long as it may be.

    lnd asks about a held HTLC again after a restart, so what was stored counts.
    """
    since, first = payment.since, payment.height
    if order.status in HELD_STATES and payment.payment_hash == order.payment_hash:
        since, first = min(since, order.held_at), min(first, order.held_height)
    return now - since >= HOLD or height - first >= HOLD_BLOCKS


def outcome(
    parts: Collection[JitPart],
    claimed: Collection[CircuitKey],
    pending: Collection[str],
    *,
    waited: timedelta,
) -> JitEvent | None:
    """Return what became of forwarded parts; None while it is not known.

    The history has each HTLC that was claimed. One that is not pending either was
    refused, or lnd was away when we answered: then it asks again.
    """
    if any(each.payment_hash in pending for each in parts):
        return None
    if any(each.circuit in claimed for each in parts):
        return JitEvent.CLAIMED
    return JitEvent.REFUSED if waited >= SETTLES else None


def is_opened(order: JitOrder, opening: Opening) -> bool:
    """Return whether the order has this channel: published, or by its transaction."""
    if opening.state is OpeningState.PUBLISHED:
        return True
    if not order.transaction:
        return False
    return txid_of(order.transaction) == opening.channel_point.partition(":")[0]


class Publication(StrEnum):
    """What becomes of a funding transaction that is not published."""

    WAIT = auto()
    PUBLISH = auto()
    GIVE_UP = auto()


def publication(
    order: JitOrder,
    channel: JitChannel | None,
    *,
    is_closing: bool,
    is_held: bool,
    waited: timedelta,
) -> Publication:
    """Decide about the transaction; `channel` is the order's, if it is open.

    What a node claimed is published, whatever else is true: that is in lnd's history,
    and in the channel's balance, in case the history is silent. So is what lnd closes
    by force, or what is in that channel would never end. Nothing is given up while one
    of the order's payments `is_held` by lnd: it may be on its way into the channel.
    """
    if order.status is JitStatus.EARNED or (channel is not None and channel.remote):
        return Publication.PUBLISH
    if channel is None and is_closing:
        return Publication.PUBLISH
    if order.status is not JitStatus.UNPAID or is_held or waited < GIVEN_UP_AFTER:
        return Publication.WAIT
    if channel is not None and not channel.settled:
        return Publication.WAIT
    return Publication.GIVE_UP


def answer_for(part: JitPart) -> HtlcAnswer:
    """Return the answer for a part, which is the same each time lnd asks."""
    return HtlcAnswer(
        part.circuit,
        out_msat=part.amount_msat - part.take_msat,
        take_msat=part.take_msat,
    )


def whole_sats(msat: int) -> Sats:
    """Return the whole satoshis in this, as the ledger has them."""
    return Sats(msat // MSAT)
