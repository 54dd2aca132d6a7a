"""The things that run by themselves: one line each."""

import contextlib
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial

from leyden.errors import Stale
from leyden.services import (
    courier,
    expiry,
    following,
    issuance,
    reconciler,
    refunds,
    sweep,
    upkeep,
)
from leyden.services.checkout import TicketMaker
from leyden.services.due import Due
from leyden.services.fleet import (
    CERTIFICATES,
    HOUSEKEEPING,
    NODE,
    ROUTES,
    WATCH,
    Fleet,
)
from leyden.services.housekeeping import Housekeeping
from leyden.services.issuance import Issuance
from leyden.services.platform import Platform
from leyden.services.routes import Routes
from leyden.services.samples import SAMPLING
from leyden.services.shop import (
    CLOSING,
    EXPIRY,
    SWEEP,
    TICKET,
    TICKETS,
    UPKEEP,
    WITHDRAWAL,
    Shop,
)
from leyden.services.watching import Watching
from leyden.tasks import LEASE, Lane, Work

_FORGET_EVERY = timedelta(hours=1)

# Put when the program starts; each goes on for ever by rescheduling itself.
STANDING: tuple[str, ...] = ("forget answers",)
STANDING_IN_THE_SHOP = (SWEEP, TICKETS)
STANDING_AT_THE_AUCTION = (UPKEEP,)
STANDING_IN_THE_FLEET = (HOUSEKEEPING, SAMPLING)
STANDING_FOR_NAMES = (CERTIFICATES,)

_IN_THE_SHOP: dict[str, Callable[[Shop, Due], Awaitable[None]]] = {
    EXPIRY: expiry.lapse,
    CLOSING: expiry.close_invoice,
    WITHDRAWAL: refunds.withdraw,
    TICKETS: following.follow,
    SWEEP: sweep.sweep,
    UPKEEP: upkeep.keep,
}


def lanes(platform: Platform, watching: Watching | None = None) -> list[Lane]:
    """Give every kind of task with what runs it."""

    async def forget_answers(work: Work) -> None:
        now = platform.clock()
        async with work.transaction() as tx:
            await tx.answers.forget(now=now)
            await work.again(tx, due=now + _FORGET_EVERY)

    found = [Lane(kind="forget answers", run=forget_answers, at_once=1)]
    if platform.fleet is not None and watching is not None:
        found += fleet_lanes(platform.fleet, watching)
        take = partial(platform.samples.take, platform.fleet)
        found.append(Lane(kind=SAMPLING, run=take, at_once=1, at_home=True))
    if platform.courier is not None:
        deliver = partial(courier.deliver, platform.courier)
        forget = partial(courier.forget_old, platform.courier)
        found.append(Lane(kind=courier.WEBHOOKS, run=deliver, at_once=courier.AT_ONCE))
        found.append(Lane(kind=courier.FORGETTING, run=forget, at_once=1))
    if platform.shop is not None:
        found += shop_lanes(platform.shop)
    if platform.issuance is not None:
        found += issuance_lanes(platform.issuance)
    return found


def fleet_lanes(fleet: Fleet, watching: Watching) -> list[Lane]:
    """Give the kinds of tasks that running nodes takes: for their own home alone."""
    return [
        Lane(
            kind=WATCH,
            run=watching.watch,
            share=watching.share,
            lease=watching.lease,
            stands=True,
            at_home=True,
        ),
        # Many at once: a stop may take its ten minutes, and a start wait for others.
        Lane(
            kind=NODE,
            run=partial(reconciler.step, fleet),
            at_once=512,
            lease=min(watching.lease, LEASE),
            at_home=True,
            watched=watching.shards,
        ),
        Lane(kind=ROUTES, run=Routes(fleet).bring, at_once=1, at_home=True),
        Lane(kind=HOUSEKEEPING, run=Housekeeping(fleet).look, at_once=1, at_home=True),
    ]


def shop_lanes(shop: Shop) -> list[Lane]:
    """Give the kinds of tasks that selling channels takes."""
    return [
        # Many tickets share their commits; the market takes as many as it likes.
        Lane(kind=TICKET, run=TicketMaker(shop).make, at_once=1_024),
        *(
            Lane(kind=kind, run=partial(step, shop))
            for kind, step in _IN_THE_SHOP.items()
        ),
    ]


def issuance_lanes(given: Issuance) -> list[Lane]:
    """Give the kinds of tasks that certificates from elsewhere take."""
    return [
        Lane(kind=CERTIFICATES, run=partial(issuance.look, given), at_once=1),
        # Few: an authority counts its callers, and nobody waits for a certificate.
        Lane(kind=issuance.ISSUANCE, run=partial(issuance.obtain, given), at_once=2),
    ]


# What only a process of the home does, and loses when the nodes move to another one.
OF_THE_HOME = (NODE, WATCH, ROUTES, HOUSEKEEPING, SAMPLING)


async def put_standing(platform: Platform, watching: Watching | None = None) -> None:
    """Make sure that each standing task is in the queue, and let it run once now."""
    now = platform.clock()
    standing = STANDING
    if platform.shop is not None:
        standing += STANDING_IN_THE_SHOP
        if platform.shop.account is not None:
            standing += STANDING_AT_THE_AUCTION
    if platform.fleet is not None:
        standing += STANDING_IN_THE_FLEET
    if platform.issuance is not None:
        standing += STANDING_FOR_NAMES
    while True:
        with contextlib.suppress(Stale):  # others put, or claim, the same just now
            async with platform.database.transaction() as tx:
                for kind in standing:
                    await tx.tasks.put(kind, "all", due=now)
                if watching is not None:
                    await tx.tasks.put_many(WATCH, watching.keys, due=now)
            return
