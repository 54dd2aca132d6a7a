"""Wiring of nodes: from settings to a fleet and its background tasks."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial

from leyden import __version__
from leyden.base.background import Job, background
from leyden.base.platform import Platform
from leyden.base.settings import Settings, own_names
from leyden.errors import Away, Stale
from leyden.events.wiring.dispatcher import allowed, reach
from leyden.nodes import certificate_expiry, home_reports
from leyden.nodes.certificates.authority import Authority
from leyden.nodes.certificates.roots import Roots
from leyden.nodes.fleet import Fleet, FleetSettings, GatewayPorts
from leyden.nodes.housekeeping import notify_of_updates
from leyden.nodes.rules.node_settings import AllowedCalls
from leyden.nodes.rules.nodes import Node, RuntimeName
from leyden.nodes.runtimes.base import NodeFiles, Runtime
from leyden.nodes.runtimes.composite import SeveralNodeFiles, SeveralRuntimes
from leyden.nodes.runtimes.move_endpoints import MoveEndpoint
from leyden.nodes.start_limits import StartLimit
from leyden.nodes.watchers import Watching
from leyden.nodes.wiring import (
    gateways,
    local_nodes,
    node_openings,
    onions,
    peer_addresses,
)
from leyden.nodes.wiring.clusters import JoinedCluster, offered
from leyden.nodes.wiring.placement import slots
from leyden.nodes.wiring.programs import Binary
from leyden.people.quotas import limits

# Starts at a time: each takes a processor for a moment, and 350 MB at its unlock.
_STARTS_PER_PROCESSOR = 2

# Where other machines do the work, and say themselves when they have no room.
_STARTS_IN_A_CLUSTER = 256

_AGAIN_S = 1.0

log = logging.getLogger(__name__)


def make_fleet(
    platform: Platform, binary: Binary, cluster: JoinedCluster | None = None
) -> Fleet | None:
    """Return the configured fleet, if any: on this machine, or in a cluster."""
    settings = platform.settings
    grounds = local_nodes.grounds(settings)
    if not grounds:
        return None
    authority = Authority(settings.home_path / "authority")
    at_once = _STARTS_IN_A_CLUSTER
    found: dict[RuntimeName, tuple[Runtime, NodeFiles, MoveEndpoint]] = {}
    if cluster is not None:
        reported = home_reports.Reported(platform.database.reader)
        found[RuntimeName.KUBERNETES] = cluster.runtime(
            settings, grounds, authority, reported
        )
    if cluster is None or settings.runs_here:
        # And one more: the last place is for owners who have no other.
        at_once = _STARTS_PER_PROCESSOR * (os.cpu_count() or 1) + 1
        found[RuntimeName.LOCAL] = local_nodes.runtime(
            settings, grounds, binary, authority
        )
    [*_, (runtime, homes, _)] = found.values()
    if len(found) > 1:
        runtime = SeveralRuntimes({name: each[0] for name, each in found.items()})
        homes = SeveralNodeFiles({name: each[1] for name, each in found.items()})
    return Fleet(
        database=platform.database,
        sealer=platform.sealer,
        runtime=runtime,
        node_files=homes,
        sides={name: each[2] for name, each in found.items()},
        gateway=gateways.gateway(settings),
        # Workers of a cluster may not reach what its nodes reach.
        backends={name: each.backend for name, each in grounds.items()}
        if RuntimeName.LOCAL in found
        else {},
        tor=onions.make_tor(settings),
        authority=authority,
        clock=platform.clock,
        starts=StartLimit(at_once),
        rules=FleetSettings(
            look_every=_look_every(settings),
            service_version=__version__,
            domain=settings.nodes_domain,
            slots=slots(settings),
            networks=frozenset(grounds),
            catalogue=offered(settings),
            ports=GatewayPorts(
                host=settings.gateway_host,
                rest=settings.gateway_rest_port,
                grpc=settings.gateway_grpc_port,
                node_rest=settings.node_rest_port,
                node_grpc=settings.node_grpc_port,
                node_peer=settings.node_peer_port,
                peer_host=peer_addresses.host(settings),
                tor_target=onions.target(settings),
            ),
            peer_ports=peer_addresses.ports(settings),
            webhooks=allowed(settings),
            calls=AllowedCalls(
                webhook=reach(settings),
                remotesigninghost=node_openings.signers(settings),
                tor=bool(onions.socks(settings)),
            ),
            data_kept=timedelta(seconds=settings.node_data_kept_s),
            quotas=limits(settings),
            runtime=next(iter(found)),  # the cluster, where there is one
            issued=bool(settings.acme_directory),
        ),
        roots=Roots(settings.acme_authorities),
    )


def _look_every(settings: Settings) -> timedelta:
    """Return the interval of housekeeping."""
    if not settings.runs_here:  # their companions report
        return timedelta(minutes=1)
    # With a store, channel backups are to leave this machine within seconds.
    return timedelta(seconds=3 if settings.backup_store else 10)


@asynccontextmanager
async def run_fleet_jobs(
    settings: Settings, fleet: Fleet, watching: Watching
) -> AsyncIterator[None]:
    """Run the node watch and the gateway for the block.

    Finding a thousand nodes again takes some seconds, while requests are
    already served: no request needs the nodes found, and no lnd is started
    twice.
    """
    runtime = fleet.runtime
    runtime.watch(watching.enqueue)
    jobs: dict[str, Job] = {
        "nodes found again": partial(_found, settings, fleet, watching),
        "certificates": partial(certificate_expiry.watch, fleet),
        "runtime": runtime.run,
        "nodes tended": watching.poll_unwatched,
    }
    try:
        async with background(jobs):
            await fleet.gateway.start()
            async with background({"gateway": fleet.gateway.run}):
                yield
    finally:
        await watching.close()
        runtime.close()
        if fleet.tor is not None:
            fleet.tor.close()


async def _found(settings: Settings, fleet: Fleet, watching: Watching) -> None:
    """Log when nodes are found again; then notify owners of updates."""
    await watching.found.wait()
    log.info("nodes found again", extra={"running": watching.adopted})
    while True:
        try:
            await notify_of_updates(fleet)
            await _warn_of_origins(fleet, own_names.origins(settings))
        except (Away, Stale) as error:
            log.warning(
                "could not notify owners about updates yet",
                extra={"why": error.message},
            )
            await asyncio.sleep(_AGAIN_S)
        else:
            return


async def _warn_of_origins(fleet: Fleet, origins: tuple[str, ...]) -> None:
    """Log how many nodes reject the dashboard's pages until they are restarted."""
    nodes = await fleet.database.reader.nodes.all_()
    # In a thread: a thousand files take a tenth of a second to read.
    found = await asyncio.to_thread(count_outdated, fleet.runtime, nodes)
    if found:
        log.warning(
            "dashboard_origins reaches nodes at their next start; until then the "
            "dashboard's wallet pages cannot talk to some",
            extra={"nodes": found, "origins": ", ".join(origins)},
        )


def count_outdated(runtime: Runtime, nodes: Iterable[Node]) -> int:
    """Count running nodes with outdated CORS origins: lnd reads them at start."""
    return sum(runtime.is_outdated(node) for node in nodes if node.has_process)
