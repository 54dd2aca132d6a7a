"""An installation, opened for a command or running for everybody."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from leyden import __version__, processes
from leyden.api.app import Api
from leyden.api.endpoints import OPERATIONS
from leyden.api.gateways import Gateways
from leyden.api.metrics import metrics
from leyden.api.public import Public
from leyden.api.server import bind, serving, tls
from leyden.app import certificates, doors, identity
from leyden.app.courier import courier_of, words
from leyden.app.fleet import fleet_of, looked_after
from leyden.app.front import Front, proxies
from leyden.app.ownership import Ownership, owned
from leyden.app.pages import Pages
from leyden.app.programs import Binary, lnds
from leyden.app.shop import open_for_payments, shop_of
from leyden.daemons.build import default_cache
from leyden.daemons.own import own as own_programs
from leyden.domain.times import utc_now
from leyden.gateway.certificates import open_or_create
from leyden.loops import lanes, put_standing
from leyden.services.fitting_keys import keep_check
from leyden.services.platform import Platform
from leyden.services.routes import Routes
from leyden.services.watching import Watching
from leyden.settings import Settings
from leyden.storage import first_look
from leyden.storage.database import open_database
from leyden.storage.secrets import Keyring, Sealer, load_keyring, save_keyring
from leyden.tasks import Worker
from leyden.values import replace
from leyden.web.addresses import is_page
from leyden.webhooks.names import Names

# Whoever has called since the sockets were bound is answered before anything else.
_THOSE_WHO_WAITED_S = 0.02
_LOCK = ".migrate.lock"


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Platform]:
    """Open the installation's database and keys; refuse one that does not fit."""
    first_look.check(settings.database)
    path = settings.secrets_path
    keyring = load_keyring(path)
    keep_check(settings.database, keyring)
    sealer = Sealer(keyring, reload=lambda: load_keyring(path))
    database = await open_database(settings.database)
    try:
        yield Platform(
            settings=settings, database=database, sealer=sealer, clock=utc_now
        )
    finally:
        await database.close()


def migrate(settings: Settings) -> str:
    """Make or bring up to date the schema, and the keys of a new installation."""
    # Imported only where it is used: SQLAlchemy takes longer than a whole start.
    from leyden.storage import schema  # noqa: PLC0415

    with processes.alone(settings.home_path / _LOCK):
        newest = schema.migrate(settings.database)
        _make_files(settings)
    return newest


def _make_files(settings: Settings) -> None:
    """Make what a new installation has once: its keys, its identity, its authority."""
    from leyden.services import rotation  # noqa: PLC0415  with all of SQLAlchemy

    if not settings.secrets_path.exists():
        rotation.refuse_lost_keys(settings.database, settings.secrets_path)
        save_keyring(settings.secrets_path, Keyring.new())
    keep_check(settings.database, load_keyring(settings.secrets_path))
    identity.ensure(settings.home_path)
    open_or_create(settings.home_path / "authority", now=utc_now())


@asynccontextmanager
async def running(
    settings: Settings,
    *,
    api: bool = True,
    loops: bool = True,
    binary: Binary | None = None,
) -> AsyncIterator[Platform]:
    """Run the installation: answer requests, do what runs by itself, or both.

    `binary` gives the lnd of a version, and may take its time to build it. On the way
    out requests finish, leases are given back, and what was promised is on disk. Nodes
    and the gateway go on without us.
    """
    processes.open_as_many_as_we_may()
    async with AsyncExitStack() as stack:
        sockets, challenged = _bound(settings, stack) if api else ([], [])
        chain = settings.api_tls_certificate
        context = tls(chain, settings.api_tls_key) if chain else None
        platform = await stack.enter_async_context(opened(settings))
        ownership = await stack.enter_async_context(owned(platform, watches=loops))
        if binary is None:
            own = await own_programs(words(settings.own_binaries))
            binary = lnds(default_cache(os.environ), own=own)
        names = Names()
        stack.callback(names.close)
        platform = replace(
            platform,
            courier=courier_of(platform, names),
            fleet=fleet_of(platform, binary),
            shop=shop_of(platform),
        )
        platform = replace(
            platform,
            issuance=await stack.enter_async_context(certificates.issuing(platform)),
        )
        if platform.shop is not None:
            await stack.enter_async_context(
                open_for_payments(platform.shop, listening=loops)
            )
        await stack.enter_async_context(_metrics(settings))
        # They begin after the first answers are given, and end after the last.
        looping = await stack.enter_async_context(AsyncExitStack())
        if api:
            far = await stack.enter_async_context(_far_gateways(platform))
            challenges = await certificates.challenges(platform)
            if challenges is not None and challenged:
                await stack.enter_async_context(
                    serving(challenges, challenged, grace_s=1)
                )
            if platform.issuance is not None and settings.acme_api_name:
                context = await stack.enter_async_context(
                    certificates.own_name(platform)
                )
            public = Public(
                platform,
                Api(platform, OPERATIONS),
                version=__version__,
                gateways=far,
                challenges=challenges,
            )
            pages = Pages(platform, version=__version__)
            front = Front(
                pages=pages, is_page=is_page, api=public, proxies=proxies(settings)
            )
            await stack.enter_async_context(
                serving(front, sockets, tls=context, grace_s=settings.stop_grace_s)
            )
            stack.callback(pages.close)  # pages stay open: end them first
            if far is not None:
                stack.callback(far.close)
            await asyncio.sleep(_THOSE_WHO_WAITED_S)
            for_people = asyncio.create_task(_made(pages, public), name="pages")
            stack.callback(for_people.cancel)
        if loops:
            await looping.enter_async_context(_looping(platform, ownership))
        if platform.fleet is not None:
            await asyncio.to_thread(platform.fleet.authority.check)
        if api:
            await for_people
        yield platform


def _bound(
    settings: Settings, stack: AsyncExitStack
) -> tuple[list[socket.socket], list[socket.socket]]:
    """Take the ports of the API, and of answers to an authority; let go at the end."""
    sockets = bind(settings.api_host, settings.api_port)
    for each in sockets:
        stack.callback(each.close)
    challenged = certificates.bind_challenges(settings)
    for each in challenged:
        stack.callback(each.close)
    return sockets, challenged


async def _made(pages: Pages, public: Public) -> None:
    """Make what people look at, so that the first of them need not wait."""
    await pages.make()
    await asyncio.to_thread(lambda: (public.document, public.page))


@asynccontextmanager
async def _looping(platform: Platform, ownership: Ownership) -> AsyncIterator[None]:
    """Let run what runs by itself: the nodes are found again before anything else."""
    watching = None
    async with AsyncExitStack() as stack:
        if platform.database.is_alone:
            async with platform.database.transaction() as tx:
                await tx.tasks.free_all()
        if platform.fleet is not None:
            watching = Watching(platform.fleet)
            watching.share_with(ownership.watchers)
            ownership.counted.append(watching.share_with)
            await stack.enter_async_context(
                looked_after(platform.settings, platform.fleet, watching)
            )
        worker = Worker(
            platform.database,
            lanes(platform, watching),
            clock=platform.clock,
            hold=ownership.hold,
        )
        await put_standing(platform, watching)
        working = asyncio.create_task(worker.run(), name="worker")
        try:
            yield
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)


@asynccontextmanager
async def _far_gateways(platform: Platform) -> AsyncIterator[Gateways | None]:
    """Know what gateways on other machines are to be told, if any may ask."""
    given, fleet = platform.settings, platform.fleet
    if fleet is None or (told := doors.far_gateway(given)) is None:
        yield None
        return
    following = asyncio.create_task(Routes(fleet, told).follow(), name="routes told")
    try:
        yield Gateways(told, failures_per_minute=given.failures_per_minute)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


@asynccontextmanager
async def _metrics(settings: Settings) -> AsyncIterator[None]:
    if not settings.metrics_port:
        yield
        return
    sockets = bind("127.0.0.1", settings.metrics_port, setting="metrics_port")
    async with serving(metrics, sockets, grace_s=1):
        yield
