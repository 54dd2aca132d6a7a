"""The running installation: listeners and background jobs."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from leyden import __version__
from leyden.app.front import dashboard, make_front
from leyden.app.loops import put_standing, queues
from leyden.app.serving.public import metrics
from leyden.backups.wiring import restored
from leyden.base import price_source, processes
from leyden.base.background import Job, background
from leyden.base.chain_controls import ChainControls
from leyden.base.daemons.build import default_cache
from leyden.base.daemons.operator_binaries import own as own_programs
from leyden.base.http.connections import HttpConnections
from leyden.base.http.server import bind, serving, tls
from leyden.base.opening import opened
from leyden.base.platform import Platform
from leyden.base.settings import Settings, own_names, words
from leyden.base.tasks.worker import Worker
from leyden.channels.wiring.channels import make_channels, receiving_payments
from leyden.events.tails import Tails
from leyden.events.wiring.dispatcher import make_dispatcher
from leyden.events.wiring.emailing import make_emailing
from leyden.nodes.api.gateways import Gateways
from leyden.nodes.routes import Routes
from leyden.nodes.watchers import Watching
from leyden.nodes.wiring import (
    api_certificate,
    authorities,
    certificates,
    clusters,
    gateways,
    listeners,
)
from leyden.nodes.wiring.fleet import make_fleet, run_fleet_jobs
from leyden.nodes.wiring.ownership import registered
from leyden.nodes.wiring.programs import Binary, lnds
from leyden.operators.alarm_watch import AlarmWatch
from leyden.values import replace


@asynccontextmanager
async def running(
    settings: Settings,
    *,
    api: bool = True,
    loops: bool = True,
    binary: Binary | None = None,
    private_chain: ChainControls | None = None,
) -> AsyncIterator[Platform]:
    """Yield the running installation: the API, the loops, or both.

    `binary` returns the lnd of a version and may take time to build it. With a
    `private_chain`, pages have buttons to mine and to pay. At shutdown requests
    finish, claims are released, and accepted changes are on disk. Nodes and the
    gateway keep running.
    """
    processes.raise_file_limit()
    restored.refuse_unconfirmed(settings)
    async with AsyncExitStack() as stack:
        sockets, challenged = _bound(settings, stack) if api else ([], [])
        chain = settings.api_tls_certificate
        context = tls(chain, settings.api_tls_key) if chain else None
        platform = await stack.enter_async_context(opened(settings))
        cluster = await stack.enter_async_context(
            clusters.joined(settings, serves_only=not loops)
        )
        process_id = await stack.enter_async_context(
            registered(platform, elsewhere=cluster)
        )
        if binary is None:
            own = await own_programs(words(settings.own_binaries))
            binary = lnds(default_cache(os.environ), own=own)
        platform = replace(
            platform,
            dispatcher=make_dispatcher(platform),
            emailing=make_emailing(platform),
            fleet=make_fleet(platform, binary, cluster),
            channels=make_channels(platform),
            private_chain=private_chain,
            tails=Tails(platform.database, limit=settings.event_waits_per_key)
            if api
            else None,
        )
        platform = replace(
            platform,
            issuance=await stack.enter_async_context(certificates.issuing(platform)),
        )
        if platform.channels is not None:
            await stack.enter_async_context(
                receiving_payments(platform.channels, listening=loops)
            )
        await stack.enter_async_context(_metrics(settings))
        # They begin after the first answers are given, and end after the last.
        looping = await stack.enter_async_context(AsyncExitStack())
        if api:
            far = await stack.enter_async_context(_remote_gateways(platform))
            challenges = await certificates.challenges(platform)
            if challenges is not None and challenged:
                await stack.enter_async_context(
                    serving(challenges, challenged, grace_s=1)
                )
            certificate = await stack.enter_async_context(
                api_certificate.served(platform)
            )
            pages = dashboard(
                platform, version=__version__, origins=own_names.origins(settings)
            )
            await stack.enter_async_context(listeners.companions(platform, cluster))
            await stack.enter_async_context(listeners.routes(platform, far))
            front = make_front(platform, pages, far=far, challenges=challenges)
            connections = await stack.enter_async_context(
                serving(
                    front,
                    sockets,
                    tls=certificate or context,
                    grace_s=settings.stop_grace_s,
                )
            )
            stack.callback(pages.streams.close)  # pages stay open: end them first
            if platform.tails is not None:
                stack.push_async_callback(platform.tails.close)
            if far is not None:
                stack.callback(far.close)
            await looping.enter_async_context(background(_for_pages(platform)))
        if loops:
            await looping.enter_async_context(_looping(platform, process_id))
        await _check_authority(platform, settings)
        if api:
            delay_s = settings.stop_delay_s
            stack.push_async_callback(_take_leave, connections, delay_s)
        yield platform


async def _check_authority(platform: Platform, settings: Settings) -> None:
    if platform.fleet is not None:
        authority = platform.fleet.authority
        await asyncio.to_thread(authorities.check, settings, authority)


async def _take_leave(connections: HttpConnections, delay_s: float) -> None:
    """Serve on for a while, and let callers reconnect elsewhere after each response."""
    connections.is_closing = True
    await asyncio.sleep(delay_s)


def _bound(
    settings: Settings, stack: AsyncExitStack
) -> tuple[list[socket.socket], list[socket.socket]]:
    """Bind the ports of the API and of ACME challenges until the end."""
    sockets = bind(settings.api_host, settings.api_port)
    for each in sockets:
        stack.callback(each.close)
    challenged = certificates.bind_challenges(settings)
    for each in challenged:
        stack.callback(each.close)
    return sockets, challenged


def _for_pages(platform: Platform) -> dict[str, Job]:
    """Return the jobs of a process that serves pages."""
    settings, found = platform.settings, dict[str, Job]()
    if platform.fleet is not None:
        found["samples"] = partial(platform.samples.follow, platform.fleet)
    if settings.price_source and not settings.has_private_chain:
        source = (settings.price_source, settings.price_currency)
        found["prices"] = partial(
            price_source.follow, platform.prices, *source, platform.clock
        )
    return found


@asynccontextmanager
async def _looping(platform: Platform, process_id: str) -> AsyncIterator[None]:
    """Run the background jobs, after finding running nodes again."""
    watching = None
    async with AsyncExitStack() as stack:
        if platform.database.is_alone:
            async with platform.database.transaction() as tx:
                await tx.tasks.release_all()
        if platform.fleet is not None:
            watching = Watching(platform.fleet)
            await stack.enter_async_context(
                run_fleet_jobs(platform.settings, platform.fleet, watching)
            )
        alarms = AlarmWatch(platform)
        worker = Worker(
            platform.database,
            queues(platform, watching, alarms),
            clock=platform.clock,
            process_id=process_id,
        )
        await put_standing(platform, alarms)
        async with background({"worker": worker.run, "alarms": alarms.watch}):
            yield


@asynccontextmanager
async def _remote_gateways(platform: Platform) -> AsyncIterator[Gateways | None]:
    """Follow the routes for gateways on other machines, if any may ask."""
    settings, fleet = platform.settings, platform.fleet
    if fleet is None or (gateway := gateways.far_gateway(settings)) is None:
        yield None
        return
    async with background({"routes told": Routes(fleet, gateway).follow}):
        yield Gateways(gateway, failures_per_minute=settings.failures_per_minute)


@asynccontextmanager
async def _metrics(settings: Settings) -> AsyncIterator[None]:
    if not settings.metrics_port:
        yield
        return
    sockets = bind(settings.metrics_host, settings.metrics_port, setting="metrics_port")
    async with serving(metrics, sockets, grace_s=1):
        yield
