"""The kinds of background tasks: one line each."""

import contextlib
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial

from leyden.backups.changes.supervision import CHANGES, ChangesProcess
from leyden.backups.channel_copies import CHANNEL_COPIES, ChannelCopies
from leyden.backups.scheduled import BACKUPS, Scheduled
from leyden.base.platform import Platform
from leyden.base.tasks.queues import Queue
from leyden.base.tasks.steps import ClaimedTask
from leyden.base.tasks.work import Work
from leyden.channels import expiry, payment_sweep
from leyden.channels.books import purse_check
from leyden.channels.books.purse_check import PURSE_CHECK
from leyden.channels.books.treasury_check import TREASURY_CHECK, TreasuryComparison
from leyden.channels.direct import extensions, opening, seller_watch
from leyden.channels.direct.jit import serving
from leyden.channels.direct.lsps1 import listening
from leyden.channels.services import (
    CLOSING,
    DIRECT_CHANNELS,
    EXPIRY,
    EXTENSION,
    JIT,
    LSPS1,
    OPENING,
    PRUNING,
    RETIRED,
    SWEEP,
    TICKET,
    TICKETS,
    UPKEEP,
    WITHDRAWAL,
    ChannelServices,
)
from leyden.channels.tickets import pool_account, ticket_source, tickets
from leyden.channels.tickets.ticket_source import TicketMaker
from leyden.errors import Stale
from leyden.events import dispatchers, event_emails, letters
from leyden.events import log as event_log
from leyden.events.dispatchers import Dispatcher
from leyden.events.rows.emails import EMAILS
from leyden.events.rows.subscriptions import NODE_WEBHOOKS, SUBSCRIPTIONS
from leyden.nodes import issuance, reconciler, relocations, samples, watchers
from leyden.nodes.fleet import (
    CERTIFICATES,
    HOUSEKEEPING,
    NODE,
    ONIONS,
    RELOCATION,
    ROUTES,
    WATCH,
    Fleet,
)
from leyden.nodes.housekeeping import Housekeeping
from leyden.nodes.issuance import Issuance
from leyden.nodes.onions.onions import Onions
from leyden.nodes.routes import Routes
from leyden.nodes.watchers import Watching
from leyden.operators.alarm_watch import ALARMS, AlarmWatch
from leyden.people import api_keys, sign_in

_FORGET_EVERY = timedelta(hours=1)
_FORGOTTEN_AT_ONCE = 500
# More than there are connections: a task that gets none is rescheduled.
_EMAILS_AT_ONCE = 32
_OPENINGS_AT_ONCE = 512

# Queued when the program starts; each of them reschedules itself.
STANDING: tuple[str, ...] = (
    "forget answers",
    event_log.FORGETTING,
    api_keys.EXPIRING_KEYS,
    sign_in.FORGETTING,
)
STANDING_WITH_ALARMS = (ALARMS,)
STANDING_WITH_WEBHOOKS = (dispatchers.FORGETTING,)
STANDING_OF_CHANNELS = (SWEEP, TICKETS, TREASURY_CHECK)
STANDING_AT_THE_AUCTION = (UPKEEP,)
STANDING_WITH_A_SELLER = (DIRECT_CHANNELS,)
STANDING_WITH_LSPS1 = (LSPS1,)
STANDING_WITH_A_PURSE = (JIT, PURSE_CHECK)
STANDING_IN_THE_FLEET = (WATCH, HOUSEKEEPING)
STANDING_WITH_TOR = (ONIONS,)
STANDING_FOR_NAMES = (CERTIFICATES,)
STANDING_WITH_A_STORE = (BACKUPS, CHANNEL_COPIES, CHANGES)

_CHANNEL_STEPS: dict[str, Callable[[ChannelServices, ClaimedTask], Awaitable[None]]] = {
    DIRECT_CHANNELS: seller_watch.watch,
    **dict.fromkeys(RETIRED, seller_watch.retire),
    EXPIRY: expiry.expire,
    EXTENSION: extensions.follow,
    PRUNING: expiry.prune,
    CLOSING: expiry.close_invoice,
    WITHDRAWAL: ticket_source.withdraw,
    TICKETS: tickets.follow,
    SWEEP: payment_sweep.sweep,
    UPKEEP: pool_account.keep,
    PURSE_CHECK: purse_check.compare,
}


def queues(
    platform: Platform,
    watching: Watching | None = None,
    alarms: AlarmWatch | None = None,
) -> list[Queue]:
    """Return a queue for every kind of task, with its function."""

    async def forget_answers(work: Work) -> None:
        now = platform.clock()
        async with work.transaction() as tx:
            deleted = await tx.answers.prune(now=now, limit=_FORGOTTEN_AT_ONCE)
            more = deleted == _FORGOTTEN_AT_ONCE
            await work.reschedule(tx, due=now if more else now + _FORGET_EVERY)

    forget_events = partial(
        event_log.prune,
        platform.database,
        keep_for=timedelta(seconds=platform.settings.events_kept_s),
        clock=platform.clock,
    )
    announce_keys = partial(api_keys.announce_expiring, clock=platform.clock)
    forget_sign_ins = partial(sign_in.prune, clock=platform.clock)
    found = [
        Queue(kind=api_keys.EXPIRING_KEYS, run=announce_keys, concurrency=1),
        Queue(kind=sign_in.FORGETTING, run=forget_sign_ins, concurrency=1),
        Queue(kind="forget answers", run=forget_answers, concurrency=1),
        Queue(kind=event_log.FORGETTING, run=forget_events, concurrency=1),
    ]
    if alarms is not None:
        found.append(
            Queue(kind=ALARMS, run=alarms.follow, concurrency=1, continuous=True)
        )
    if platform.fleet is not None and watching is not None:
        found += fleet_queues(platform.fleet, watching)
    if platform.dispatcher is not None:
        found += delivery_queues(platform, platform.dispatcher)
    if platform.emailing is not None:
        write = partial(letters.send, platform.emailing)
        found.append(Queue(kind=EMAILS, run=write, concurrency=_EMAILS_AT_ONCE))
    if platform.channels is not None:
        found += channel_queues(platform.channels)
    if platform.issuance is not None:
        found += issuance_queues(platform.issuance)
    if platform.settings.backup_store:
        run_due = Scheduled(platform).run_due
        follow = ChannelCopies(platform).follow
        send = ChangesProcess(platform).follow
        found += [
            Queue(kind=BACKUPS, run=run_due, concurrency=1),
            Queue(kind=CHANNEL_COPIES, run=follow, concurrency=1, continuous=True),
            Queue(kind=CHANGES, run=send, concurrency=1, continuous=True),
        ]
    return found


def delivery_queues(platform: Platform, dispatcher: Dispatcher) -> list[Queue]:
    """Return the queues for sending events to endpoints, and to people by email."""

    async def deliver(work: Work) -> None:
        if not work.key.endswith(event_emails.SUFFIX):
            await dispatchers.deliver(dispatcher, work)
        elif platform.emailing is not None:
            await event_emails.deliver(platform.emailing, work)

    forget = partial(dispatchers.prune, dispatcher)
    retire = partial(dispatchers.retire, dispatcher)
    at_once = dispatchers.AT_ONCE
    return [
        Queue(kind=SUBSCRIPTIONS, run=deliver, concurrency=at_once),
        Queue(kind=NODE_WEBHOOKS, run=deliver, concurrency=at_once),
        Queue(kind=dispatchers.FORGETTING, run=forget, concurrency=1),
        Queue(kind=dispatchers.RETIRED, run=retire),
    ]


def fleet_queues(fleet: Fleet, watching: Watching) -> list[Queue]:
    """Return the queues for running nodes: for their own home only."""
    found = [
        Queue(
            kind=WATCH,
            run=watching.watch,
            concurrency=1,
            claim_for=watching.claim_for,
            continuous=True,
            at_home=True,
        ),
        # Many at once: a stop may take its ten minutes, and a start wait for others.
        Queue(
            kind=NODE,
            run=partial(reconciler.step, fleet),
            concurrency=512,
            claim_for=watching.claim_for,
            at_home=True,
            watch=WATCH,
        ),
        Queue(
            kind=RELOCATION,
            run=partial(relocations.step, fleet),
            concurrency=4,
            at_home=True,
        ),
        Queue(kind=ROUTES, run=Routes(fleet).update, concurrency=1, at_home=True),
        Queue(
            kind=HOUSEKEEPING, run=Housekeeping(fleet).run, concurrency=1, at_home=True
        ),
        Queue(kind=samples.RETIRED, run=samples.retire, concurrency=1),
        Queue(kind=watchers.RETIRED, run=watchers.retire),
    ]
    if fleet.tor is not None:
        tell = Onions(fleet, fleet.tor).run
        found.append(Queue(kind=ONIONS, run=tell, concurrency=1, at_home=True))
    return found


def channel_queues(channels: ChannelServices) -> list[Queue]:
    """Return the queues for selling channels."""
    listen = partial(listening.listen, channels)
    return [
        Queue(kind=LSPS1, run=listen, concurrency=1, continuous=True),
        Queue(
            kind=JIT,
            run=partial(serving.serve, channels),
            concurrency=1,
            continuous=True,
        ),
        Queue(kind=TREASURY_CHECK, run=TreasuryComparison(channels).run, concurrency=1),
        # Many tickets share their commits; the market takes as many as it likes.
        Queue(kind=TICKET, run=TicketMaker(channels).make, concurrency=1_024),
        # As many as the seller may have coins: a peer that does not respond keeps an
        # opening waiting for ten minutes, and others' payments must not wait for that.
        Queue(
            kind=OPENING,
            run=partial(opening.open_channel, channels),
            concurrency=_OPENINGS_AT_ONCE,
        ),
        *(
            Queue(kind=kind, run=partial(step, channels))
            for kind, step in _CHANNEL_STEPS.items()
        ),
    ]


def issuance_queues(given: Issuance) -> list[Queue]:
    """Return the queues for external certificates."""
    return [
        Queue(
            kind=CERTIFICATES,
            run=partial(issuance.request_missing, given),
            concurrency=1,
        ),
        # Few: an authority counts its callers, and nobody waits for a certificate.
        Queue(
            kind=issuance.ISSUANCE, run=partial(issuance.obtain, given), concurrency=2
        ),
    ]


async def put_standing(platform: Platform, alarms: AlarmWatch | None = None) -> None:
    """Ensure that each standing task is queued, and run it once now."""
    now = platform.clock()
    standing = _standing_kinds(platform) + (STANDING_WITH_ALARMS if alarms else ())
    while True:
        with contextlib.suppress(Stale):  # others put, or claim, the same just now
            async with platform.database.transaction() as tx:
                for kind in standing:
                    await tx.tasks.put(kind, "all", due=now)
            return


def _standing_kinds(platform: Platform) -> tuple[str, ...]:
    """Return the kinds of standing tasks that this platform has."""
    channels, fleet = platform.channels, platform.fleet
    kinds_by_feature = (
        (True, STANDING),
        (platform.dispatcher is not None, STANDING_WITH_WEBHOOKS),
        (channels is not None, STANDING_OF_CHANNELS),
        (
            channels is not None and channels.account is not None,
            STANDING_AT_THE_AUCTION,
        ),
        (channels is not None and channels.seller is not None, STANDING_WITH_A_SELLER),
        (channels is not None and channels.messages is not None, STANDING_WITH_LSPS1),
        (channels is not None and channels.purse is not None, STANDING_WITH_A_PURSE),
        (fleet is not None, STANDING_IN_THE_FLEET),
        (fleet is not None and fleet.tor is not None, STANDING_WITH_TOR),
        (platform.issuance is not None, STANDING_FOR_NAMES),
        (bool(platform.settings.backup_store), STANDING_WITH_A_STORE),
    )
    return tuple(
        kind for is_there, kinds in kinds_by_feature if is_there for kind in kinds
    )
