"""The node endpoints: thin handlers around the services."""

import asyncio
import base64
from functools import lru_cache
from typing import Final

from msgspec import UNSET

from leyden.base.http.operations import Request
from leyden.errors import NodeAway
from leyden.nodes import commands, connecting, creation, restoring, views
from leyden.nodes.api import node_schemas as schemas
from leyden.nodes.creation import NodeParameters
from leyden.nodes.fleet import Fleet, FleetSettings
from leyden.nodes.gateway.base import Traffic
from leyden.nodes.rules import versions
from leyden.nodes.rules.nodes import Action, Network, Node, NodeListing, NodeType
from leyden.nodes.rules.versions import Catalogue, Version
from leyden.schemas.deleted_nodes import DeletedNodesAnswer, Restore
from leyden.schemas.node_access import (
    CertificateAnswer,
    ConnectAnswer,
    NewCertificate,
    NewWhitelist,
    WhitelistAnswer,
)
from leyden.schemas.nodes import (
    CreatedNode,
    LogAnswer,
    LogQuery,
    MetricsAnswer,
    NewNode,
    NodeAnswer,
    NodeItem,
    NodesAnswer,
    NodesQuery,
    Update,
    UpdatedNode,
    VersionItem,
    VersionsAnswer,
)
from leyden.schemas.settings_sent import SettingsChange

# Nobody else waits for longer than these take: 2 ms.
_AT_A_TIME: Final = 500
_ALL: Final = NodesQuery()


async def list_(request: Request, query: NodesQuery) -> NodesAnswer:
    """List nodes."""
    fleet = fleet_of(request)
    listed = await views.list_(fleet, request.principal.organization_id)
    if query != _ALL:
        listed = [each for each in listed if _matches(each, query)]
    items: list[NodeItem] = []
    for begun in range(0, len(listed), _AT_A_TIME):
        if begun:
            await asyncio.sleep(0)
        items += (
            _item(fleet.rules, each) for each in listed[begun : begun + _AT_A_TIME]
        )
    return NodesAnswer(nodes=items)


def _matches(listed: NodeListing, query: NodesQuery) -> bool:
    return (
        query.status in {UNSET, listed.status}
        and query.name in {UNSET, listed.name}
        and (query.created_after is UNSET or listed.created >= query.created_after)
        and (query.created_before is UNSET or listed.created < query.created_before)
    )


async def create(request: Request, body: NewNode) -> CreatedNode:
    """Create a node."""
    made = await creation.create(
        fleet_of(request),
        request.principal.organization_id,
        NodeParameters(
            name=body.name,
            network=Network(body.network),
            type=NodeType(body.type),
            version=body.version if isinstance(body.version, str) else None,
            settings=body.settings.sent(),
        ),
        key=request.key,
        actor=request.principal.actor,
        now=request.now,
    )
    return schemas.created(made)


async def get(request: Request) -> NodeAnswer:
    """Return a node."""
    fleet = fleet_of(request)
    shown = await views.show(fleet, *node_ref(request))
    return schemas.single(shown, _item(fleet.rules, shown.listed))


async def start(request: Request) -> NodeItem:
    """Start a node."""
    return await _ask(request, Action.START)


async def stop(request: Request) -> NodeItem:
    """Stop a node."""
    return await _ask(request, Action.STOP)


async def restart(request: Request) -> NodeItem:
    """Restart a node."""
    return await _ask(request, Action.RESTART)


async def delete(request: Request) -> NodeItem:
    """Delete a node.

    Its name and its routes are removed at once, its data in seven days.
    """
    return await _ask(request, Action.DELETE)


async def list_deleted(request: Request) -> DeletedNodesAnswer:
    """List deleted nodes."""
    rows = fleet_of(request).database.reader
    found = await restoring.list_(rows, request.principal.organization_id)
    return DeletedNodesAnswer(nodes=[schemas.deleted(each) for each in found])


async def restore(request: Request, body: Restore) -> NodeItem:
    """Restore a deleted node.

    It comes back stopped, with its wallet and its backups.
    """
    fleet = fleet_of(request)
    node = await restoring.restore(
        fleet,
        *node_ref(request),
        body.name if isinstance(body.name, str) else None,
        actor=request.principal.actor,
        now=request.now,
    )
    return _item(fleet.rules, NodeListing.of(node))


async def update(request: Request, body: Update) -> UpdatedNode:
    """Update lnd."""
    fleet = fleet_of(request)
    node = await commands.update(
        fleet,
        *node_ref(request),
        body.version if isinstance(body.version, str) else None,
        actor=request.principal.actor,
        now=request.now,
    )
    return UpdatedNode(
        node_id=node.id,
        lnd_version=str(node.version),
        service_version=fleet.rules.service_version,
    )


async def change_settings(request: Request, body: SettingsChange) -> NodeAnswer:
    """Change settings."""
    await _change(request, body.sent())
    return await get(request)


async def replace_whitelist(request: Request, body: NewWhitelist) -> WhitelistAnswer:
    """Replace the allowed IP addresses.

    Connections from removed addresses are closed within a second.
    """
    node = await _change(request, {"whitelist": body.whitelist})
    return WhitelistAnswer(node_id=node.id, whitelist=list(node.settings.whitelist))


async def certificate(request: Request) -> CertificateAnswer:
    """Return the certificate."""
    return await _certificate(request)


async def renew_certificate(
    request: Request, body: NewCertificate
) -> CertificateAnswer:
    """Install a new certificate.

    The certificate is the one sent, or a new one if the body is {}.
    """
    await commands.renew_certificate(
        fleet_of(request),
        *node_ref(request),
        actor=request.principal.actor,
        now=request.now,
        certificate=body.certificate,
        key=body.key,
    )
    return await _certificate(request)


async def log(request: Request, query: LogQuery) -> LogAnswer:
    """Return the log."""
    fleet = fleet_of(request)
    node = await views.get(fleet, *node_ref(request))
    lines = await fleet.node_files.log(node, query.lines)
    return LogAnswer(node_id=node.id, lines=lines)


async def connect(request: Request) -> ConnectAnswer:
    """Return connection details."""
    fleet = fleet_of(request)
    way = await connecting.connect(fleet, *node_ref(request))
    return ConnectAnswer(
        node_id=way.node.id,
        api_endpoint=way.node.api_endpoint,
        rest_url=way.rest_url,
        grpc_address=way.grpc_address,
        tls_cert=base64.b64encode(way.certificate).decode(),
        lndconnect=way.lndconnect,
        hosts_line=way.hosts_line,
        peer_address=way.peer_address,
        onion_address=way.onion_address,
        public_key=way.public_key,
    )


async def metrics(request: Request) -> MetricsAnswer:
    """Return usage and traffic."""
    fleet = fleet_of(request)
    node = await views.get(fleet, *node_ref(request))
    usage = await fleet.node_files.usage(node)
    every = await fleet.gateway.traffic()
    traffic = None if every is None else every.get(node.id, Traffic())
    cores = request.platform.samples.cpu_cores(node.id, usage, now=request.now)
    return MetricsAnswer(
        node_id=node.id,
        status=node.status,
        uptime_s=node.uptime_s(request.now),
        crashes=node.crashes,
        memory_bytes=usage.memory,
        cpu_s=usage.cpu_s,
        cpu_cores=cores,
        disk_bytes=usage.disk,
        connections=traffic.connections if traffic else None,
        bytes_in=traffic.bytes_in if traffic else None,
        bytes_out=traffic.bytes_out if traffic else None,
    )


async def list_versions(request: Request) -> VersionsAnswer:
    """List lnd versions."""
    rules = fleet_of(request).rules
    return VersionsAnswer(
        service_version=rules.service_version, versions=version_items(rules)
    )


def version_items(rules: FleetSettings) -> list[VersionItem]:
    """List the versions on offer, oldest first."""
    return [
        VersionItem(
            lnd_version=str(release.version),
            default=release.version == rules.catalogue.default,
            says=release.says,
            drops=list(release.drops),
        )
        for release in rules.catalogue.releases
    ]


async def _ask(request: Request, action: Action) -> NodeItem:
    fleet = fleet_of(request)
    node = await commands.command(
        fleet,
        *node_ref(request),
        action,
        actor=request.principal.actor,
        now=request.now,
    )
    return _item(fleet.rules, NodeListing.of(node))


async def _change(request: Request, settings: dict[str, object]) -> Node:
    return await commands.change_settings(
        fleet_of(request),
        *node_ref(request),
        settings,
        actor=request.principal.actor,
        now=request.now,
    )


async def _certificate(request: Request) -> CertificateAnswer:
    organization_id, node_id = node_ref(request)
    chain = await views.certificate(fleet_of(request), organization_id, node_id)
    return CertificateAnswer(node_id=node_id, tls_cert=base64.b64encode(chain).decode())


def _item(rules: FleetSettings, listed: NodeListing) -> NodeItem:
    return schemas.item(
        listed,
        service_version=rules.service_version,
        update_available=_is_old(listed.version, rules.catalogue),
        peer_address=rules.peer_address(listed.peer_port),
        onion_address=rules.onion_address(listed.onion, listed.peer_port),
    )


@lru_cache
def _is_old(version: str, catalogue: Catalogue) -> bool:
    return versions.update_available(Version.of(version), catalogue)


def node_ref(request: Request) -> tuple[str, str]:
    """Return the request's organization id and node id."""
    return request.principal.organization_id, request.path["node_id"]


def fleet_of(request: Request) -> Fleet:
    """Return the fleet; raise NodeAway if this platform runs no nodes."""
    if (fleet := request.platform.fleet) is None:
        raise _nowhere()
    return fleet


def _nowhere() -> NodeAway:
    return NodeAway("this platform runs no nodes", retry_after_s=3600)
