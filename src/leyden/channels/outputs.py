"""On-chain payments: booked once deep enough, reversed after a reorg.

Outputs to an order's address add up. Money that the order still needs is
held for it; the rest becomes credit. Nothing here does I/O.
"""

import logging
from collections.abc import Collection

from leyden.base.rules.alarms import AlarmKind, Finding
from leyden.base.rules.units import Sats
from leyden.channels.holding import credit, entry, hold, reopen
from leyden.channels.rules import ledger
from leyden.channels.rules.ledger import Reason
from leyden.channels.rules.orders import TICKETED, Order, OrderEvent, OrderStatus
from leyden.channels.rules.payments import (
    GONE,
    KnownOutput,
    Outpoint,
    Output,
    OutputState,
)
from leyden.channels.services import ChannelSettings
from leyden.channels.unit_of_work import UnitOfWork
from leyden.values import replace

log = logging.getLogger(__name__)

_COUNTS = {OutputState.BOOKED, OutputState.BURIED}


def record(
    work: UnitOfWork, order: Order, output: Output, rules: ChannelSettings
) -> None:
    """Book the output, reverse its booking, or leave it unchanged."""
    known = work.output(output.outpoint)
    if known is None:
        if output.confirmations == GONE or output.sats <= 0:
            return
        known = work.keep(
            KnownOutput(
                outpoint=output.outpoint,
                order_id=order.id,
                sats=output.sats,
                state=OutputState.SEEN,
                first_seen=work.now,
            )
        )
    if known.sats != output.sats:
        log.error(
            "the treasury reports an output differently than before",
            extra={"order": order.id},
        )
        work.report(
            Finding(
                kind=AlarmKind.TREASURY_DIFFERS,
                subject=str(output.outpoint),
                what=f"order {order.id}: the treasury reports {output.sats:,} sat for "
                f"output {output.outpoint}, and reported {known.sats:,} before",
            )
        )
        return
    match next_state(order, known, output, rules):
        case OutputState.BOOKED if known.state not in _COUNTS:
            _book(work, order, known)
        case (OutputState.SEEN | OutputState.GONE) as state if known.state in _COUNTS:
            _take_back(work, order, known, state)
        case state if state is not known.state:
            work.keep(replace(known, state=state))


def next_state(
    order: Order, known: KnownOutput, output: Output, rules: ChannelSettings
) -> OutputState:
    """Return the state of an output, given its number of confirmations."""
    depth = output.confirmations
    needed = rules.confirmations.needed(max(order.to_be_paid, output.sats))
    if depth == GONE:
        return OutputState.GONE
    if known.state in _COUNTS:
        # Once it counts, it does so as long as it is in any block.
        if depth < 1:
            return OutputState.SEEN
        buried = depth >= rules.buried or known.state is OutputState.BURIED
        return OutputState.BURIED if buried else OutputState.BOOKED
    return OutputState.BOOKED if depth >= needed else OutputState.SEEN


def _book(work: UnitOfWork, order: Order, known: KnownOutput) -> None:
    lacking = 0
    if order.status is OrderStatus.WAITING_PAYMENT:
        lacking = max(order.total_fee - work.holds(order), 0)
    to_order = Sats(min(known.sats, lacking))
    booked = work.keep(
        replace(
            known,
            state=OutputState.BOOKED,
            bookings=known.bookings + 1,
            to_order=to_order,
        )
    )
    hold(
        work,
        order,
        to_order,
        source=ledger.RECEIVED,
        what=Reason.PAYMENT,
        key=booked.key,
    )
    credit(
        work,
        order,
        known.sats - to_order,
        source=ledger.RECEIVED,
        what=Reason.SURPLUS if to_order else Reason.LATE,
        key=booked.key,
    )


def _take_back(
    work: UnitOfWork, order: Order, known: KnownOutput, state: OutputState
) -> None:
    """Reverse the booking; an amount spent meanwhile becomes a receivable."""
    log.warning(
        "a chain reorganization removed a payment",
        extra={"order": order.id, "of": str(known.outpoint)},
    )
    work.keep(replace(known, state=state))
    key = f"{known.key}:reversed"
    from_order = 0
    if order.status is OrderStatus.WAITING_PAYMENT or order.may(OrderEvent.REVERSED):
        from_order = known.to_order
    if from_order:
        work.post(
            [
                entry(
                    order,
                    known.to_order,
                    source=ledger.held(order.id),
                    target=ledger.RECEIVED,
                    what=Reason.REVERSED,
                    key=key,
                )
            ]
        )
    # The buyer has the ticket: the payment for it is not taken from later credit, but
    # owed. Everything else became credit, and is taken from there.
    owed = 0
    if order.status in TICKETED and not order.may(OrderEvent.REVERSED):
        owed = known.to_order
    available = work.balance(ledger.credit(order.organization_id))
    for part, sats, of_credit in (
        ("order", owed, 0),
        ("rest", known.sats - from_order - owed, available),
    ):
        work.post(
            ledger.reversal_entries(
                sats,
                organization_id=order.organization_id,
                available=of_credit,
                key=f"{key}:{part}",
                order_id=order.id,
            )
        )
    if (
        order.may(OrderEvent.REVERSED)
        and from_order
        and work.holds(order) < order.total_fee
    ):
        reopen(work, order)


def confirming(work: UnitOfWork, order: Order, confirmed: Collection[Outpoint]) -> Sats:
    """Add up the payments to the order that a block has, or had, but are not booked."""
    return Sats(
        sum(
            each.sats
            for each in work.outputs_of(order)
            if each.state is OutputState.SEEN
            and (each.outpoint in confirmed or each.bookings)
        )
    )
