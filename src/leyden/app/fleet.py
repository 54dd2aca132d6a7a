"""Wiring what runs nodes: from settings to a fleet and what looks after it."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from leyden import __version__, logs
from leyden.app import doors, fencing, origins, seating
from leyden.app.courier import allowed, reach, words
from leyden.app.programs import Binary, within_reach
from leyden.domain.node_settings import Calls
from leyden.domain.nodes import Network
from leyden.errors import Away, SetupError, Stale
from leyden.gateway.certificates import Authority
from leyden.gateway.local import LocalGateway
from leyden.gateway.roots import Roots
from leyden.lnd.chains import Backend, Bitcoind, Btcd, Chain, Neutrino, check_backend
from leyden.lnd.options import Logs
from leyden.lnd.trust import trusting_whenever
from leyden.runtimes.layout import Ground, Layout
from leyden.runtimes.local import LocalRuntime
from leyden.runtimes.local_homes import LocalHomes
from leyden.services import certificates
from leyden.services.fleet import Doors, Fleet, Rules
from leyden.services.housekeeping import tell_of_updates
from leyden.services.platform import Platform
from leyden.services.quotas import limits
from leyden.services.starts import Starts
from leyden.services.uploads import Uploads
from leyden.services.watching import Watching
from leyden.settings import Settings

# Starts at a time: each takes a processor for a moment, and 350 MB at its unlock.
_STARTS_PER_PROCESSOR = 2

_AGAIN_S = 1.0

log = logs.get()


def fleet_of(platform: Platform, binary: Binary) -> Fleet | None:
    """Give the fleet that the settings ask for, if they do."""
    grounds = dict(_grounds(platform.settings))
    return _fleet(platform, grounds, binary) if grounds else None


@asynccontextmanager
async def looked_after(
    given: Settings, fleet: Fleet, watching: Watching
) -> AsyncIterator[None]:
    """Listen to the nodes that are watched here, and keep the gateway up.

    A thousand nodes take some seconds to find, in which requests are answered already:
    nothing that is asked for needs them found, and no lnd is started beside another.
    """
    runtime = fleet.runtime
    runtime.watch(watching.hear)
    tasks = [
        asyncio.create_task(_found(given, fleet, watching), name="nodes found again"),
        asyncio.create_task(certificates.watch(fleet), name="certificates"),
    ]
    if not fleet.database.is_alone:
        tasks.append(asyncio.create_task(watching.tend(), name="nodes tended"))
    if isinstance(runtime, LocalRuntime):
        fenced = fencing.kept(given, runtime.layout)
        tasks.append(asyncio.create_task(fenced, name="fence"))
    if isinstance(fleet.gateway, LocalGateway):
        await fleet.gateway.start()
        tasks.append(asyncio.create_task(fleet.gateway.run(), name="gateway"))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await watching.close()
        if isinstance(runtime, LocalRuntime):
            runtime.close()


async def _found(given: Settings, fleet: Fleet, watching: Watching) -> None:
    """Say that nodes are found again, and what is new for their owners."""
    await watching.found.wait()
    log.info("nodes found again", running=watching.adopted)
    while True:
        try:
            await tell_of_updates(fleet)
            if isinstance(fleet.runtime, LocalRuntime):
                await origins.warn(fleet, fleet.runtime.layout, doors.origins(given))
        except (Away, Stale) as error:
            log.warning("owners are not told of updates yet", why=error.message)
            await asyncio.sleep(_AGAIN_S)
        else:
            return


def _fleet(
    platform: Platform, grounds: Mapping[Network, Ground], binary: Binary
) -> Fleet:
    given = platform.settings
    root = given.home_path / "nodes"
    seats = fencing.seated(given, seating.seats(given, root), grounds)
    if seats.first_uid is not None:
        binary = within_reach(binary, given.home_path / "programs")
    layout = Layout(root=root, seats=seats, grounds=grounds)
    gate = fencing.gate(given, layout)
    authority = Authority(given.home_path / "authority")
    return Fleet(
        database=platform.database,
        sealer=platform.sealer,
        runtime=LocalRuntime(
            layout,
            binary=binary,
            trusts=_trusting(authority),
            cors_origins=doors.origins(given),
            logs=Logs(files=given.node_log_files, file_mb=given.node_log_file_mb),
            grace_s=given.node_stop_grace_s,
            cgroups=seating.cgroups(given),
            admitted=None if gate is None else gate.passed,
        ),
        homes=LocalHomes(layout),
        gateway=doors.gateway(given),
        authority=authority,
        clock=platform.clock,
        starts=Starts(_STARTS_PER_PROCESSOR * (os.cpu_count() or 1)),
        rules=Rules(
            service_version=__version__,
            domain=given.nodes_domain,
            networks=frozenset(grounds),
            doors=Doors(
                host=given.gateway_host,
                rest=given.gateway_rest_port,
                grpc=given.gateway_grpc_port,
                node_rest=given.node_rest_port,
                node_grpc=given.node_grpc_port,
            ),
            webhooks=allowed(given),
            calls=Calls(webhook=reach(given), remotesigninghost=fencing.signers(given)),
            data_kept=timedelta(seconds=given.node_data_kept_s),
            quotas=limits(given),
            issued=bool(given.acme_directory),
        ),
        roots=Roots(given.acme_authorities),
        uploads=Uploads(given.uploads_per_minute),
    )


def _trusting(authority: Authority) -> ssl.SSLContext:
    try:
        return trusting_whenever(authority.root_pem.decode())
    except (ValueError, ssl.SSLError):
        authority.check()  # which says it so that it can be mended
        raise


def _grounds(given: Settings) -> Iterator[tuple[Network, Ground]]:
    if given.testnet_chain:
        chain = Chain(given.testnet_chain)
        backend = _backend(given, "testnet", given.testnet_backend)
        yield Network.TESTNET, _ground(chain, backend)
    if given.mainnet_backend:
        backend = _backend(given, "mainnet", given.mainnet_backend)
        yield Network.MAINNET, _ground(Chain.MAINNET, backend)


def _ground(chain: Chain, backend: Backend) -> Ground:
    check_backend(chain, backend)
    return Ground(chain=chain, backend=backend)


def _backend(given: Settings, network: str, kind: str) -> Backend:
    def setting(name: str) -> str:
        return str(getattr(given, f"{network}_{name}", ""))

    if kind == "neutrino":
        return Neutrino(only_peers=words(setting("peers")), fee_url=setting("fee_url"))
    if not setting("rpc_host"):
        raise SetupError(f"{network}_rpc_host: {kind} needs one, HOST:PORT")
    if kind == "bitcoind":
        return Bitcoind(
            host=setting("rpc_host"),
            user=setting("rpc_user"),
            password=setting("rpc_password"),
        )
    try:
        certificate = Path(setting("rpc_certificate")).read_bytes()
    except OSError as error:
        reason = error.strerror
        raise SetupError(f"{network}_rpc_certificate: {reason}") from None
    return Btcd(
        host=setting("rpc_host"),
        user=setting("rpc_user"),
        password=setting("rpc_password"),
        certificate=certificate,
    )
