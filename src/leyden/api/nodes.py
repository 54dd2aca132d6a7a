"""The node endpoints: each one translates, asks a service, and translates back."""

import base64
from functools import lru_cache
from typing import cast

import msgspec

from leyden.api import node_schemas as schemas
from leyden.api.node_schemas import (
    CertificateAnswer,
    ConnectAnswer,
    CreatedNode,
    LogAnswer,
    LogQuery,
    MetricsAnswer,
    NewCertificate,
    NewNode,
    NewWhitelist,
    NodeAnswer,
    NodeItem,
    NodesAnswer,
    SettingsChange,
    Update,
    UpdatedNode,
    VersionItem,
    VersionsAnswer,
    WhitelistAnswer,
)
from leyden.api.operations import Request
from leyden.domain import versions
from leyden.domain.nodes import Action, Listed, Network, Node, Type
from leyden.domain.versions import Catalogue, Version
from leyden.errors import NodeAway
from leyden.services import connecting, creation, node_commands, nodes
from leyden.services.creation import Wish
from leyden.services.fleet import Fleet


async def list_(request: Request) -> NodesAnswer:
    """List the organization's nodes, oldest first."""
    fleet, rendered = fleet_of(request), request.platform.rendered
    organization_id = request.principal.organization_id
    items = [
        rendered.find(("item", stamp))
        for stamp in await nodes.stamps(fleet, organization_id)
    ]
    if None in items:
        items = [
            rendered.keep(("item", each.stamp), _encode(_item(fleet, each)))
            for each in await nodes.list_(fleet, organization_id)
        ]
    return NodesAnswer(nodes=cast("list[NodeItem]", items))


async def create(request: Request, body: NewNode) -> CreatedNode:
    """Make a node; it is there as soon as lnd has started."""
    made = await creation.create(
        fleet_of(request),
        request.principal.organization_id,
        Wish(
            name=body.name,
            network=Network(body.network),
            type=Type(body.type),
            version=body.version if isinstance(body.version, str) else None,
            settings=body.settings.sent(),
        ),
        key=request.key,
        actor=request.principal.actor,
        now=request.now,
    )
    return schemas.created(made)


async def get(request: Request) -> NodeAnswer:
    """Show a node with its settings and what was asked of it."""
    fleet, rendered = fleet_of(request), request.platform.rendered
    stamp = await nodes.stamp(fleet, *which(request))
    if (whole := rendered.find(stamp)) is None:
        view = await nodes.view(fleet, *which(request))
        shown = schemas.single(view, _item(fleet, Listed.of(view.node)))
        whole = rendered.keep(stamp, _encode(shown))
    return cast("NodeAnswer", whole)


async def start(request: Request) -> NodeItem:
    """Start a node that is stopped or failed."""
    return await _ask(request, Action.START)


async def stop(request: Request) -> NodeItem:
    """Stop a node gracefully, and keep it stopped."""
    return await _ask(request, Action.STOP)


async def restart(request: Request) -> NodeItem:
    """Stop a node gracefully and start it again; its wallet is locked then."""
    return await _ask(request, Action.RESTART)


async def delete(request: Request) -> NodeItem:
    """Delete a node: its name and way in are gone at once, its data in seven days."""
    return await _ask(request, Action.DELETE)


async def update(request: Request, body: Update) -> UpdatedNode:
    """Bring a node to a newer lnd; there is no way back."""
    fleet = fleet_of(request)
    node = await node_commands.update(
        fleet,
        *which(request),
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
    """Change some settings; lnd is restarted only where one of them needs it."""
    await _change(request, body.sent())
    return await get(request)


async def replace_whitelist(request: Request, body: NewWhitelist) -> WhitelistAnswer:
    """Say who may reach the node; who no longer may is cut off within a second."""
    node = await _change(request, {"whitelist": body.whitelist})
    return WhitelistAnswer(node_id=node.id, whitelist=list(node.settings.whitelist))


async def certificate(request: Request) -> CertificateAnswer:
    """Show what a client needs to trust the node."""
    return await _certificate(request)


async def renew_certificate(
    request: Request, body: NewCertificate
) -> CertificateAnswer:
    """Give a node a new certificate, or the one handed in; restart it to serve it."""
    await node_commands.renew_certificate(
        fleet_of(request),
        *which(request),
        actor=request.principal.actor,
        now=request.now,
        certificate=body.certificate,
        key=body.key,
    )
    return await _certificate(request)


async def log(request: Request, query: LogQuery) -> LogAnswer:
    """Show the end of lnd's log."""
    fleet = fleet_of(request)
    node = await nodes.get(fleet, *which(request))
    lines = await fleet.homes.log(node, query.lines)
    return LogAnswer(node_id=node.id, lines=lines)


async def connect(request: Request) -> ConnectAnswer:
    """Show how to reach the node."""
    fleet = fleet_of(request)
    way = await connecting.connect(fleet, *which(request))
    return ConnectAnswer(
        node_id=way.node.id,
        api_endpoint=way.node.api_endpoint,
        rest_url=way.rest_url,
        grpc_address=way.grpc_address,
        tls_cert=base64.b64encode(way.certificate).decode(),
        lndconnect=way.lndconnect,
        hosts_line=way.hosts_line,
    )


async def metrics(request: Request) -> MetricsAnswer:
    """Show what the node takes, and what went to and from it."""
    fleet = fleet_of(request)
    node = await nodes.get(fleet, *which(request))
    usage = await fleet.homes.usage(node)
    traffic = (await fleet.gateway.traffic()).get(node.id)
    up = request.now - node.launched_at if node.launched_at else None
    return MetricsAnswer(
        node_id=node.id,
        status=node.status,
        uptime_s=max(0, int(up.total_seconds())) if up else 0,
        crashes=node.crashes,
        memory_bytes=usage.memory,
        cpu_s=usage.cpu_s,
        disk_bytes=usage.disk,
        connections=traffic.connections if traffic else 0,
        bytes_in=traffic.bytes_in if traffic else 0,
        bytes_out=traffic.bytes_out if traffic else 0,
    )


async def list_versions(request: Request) -> VersionsAnswer:
    """List the versions of lnd that can be had, oldest first."""
    rules = fleet_of(request).rules
    return VersionsAnswer(
        service_version=rules.service_version,
        versions=[
            VersionItem(
                lnd_version=str(release.version),
                default=release.version == rules.catalogue.default,
                says=release.says,
                drops=list(release.drops),
            )
            for release in rules.catalogue.releases
        ],
    )


async def _ask(request: Request, action: Action) -> NodeItem:
    fleet = fleet_of(request)
    node = await node_commands.ask(
        fleet,
        *which(request),
        action,
        actor=request.principal.actor,
        now=request.now,
    )
    return _item(fleet, Listed.of(node))


async def _change(request: Request, given: dict[str, object]) -> Node:
    return await node_commands.change_settings(
        fleet_of(request),
        *which(request),
        given,
        actor=request.principal.actor,
        now=request.now,
    )


async def _certificate(request: Request) -> CertificateAnswer:
    organization_id, node_id = which(request)
    chain = await nodes.certificate(fleet_of(request), organization_id, node_id)
    return CertificateAnswer(node_id=node_id, tls_cert=base64.b64encode(chain).decode())


def _item(fleet: Fleet, listed: Listed) -> NodeItem:
    rules = fleet.rules
    return schemas.item(
        listed,
        service_version=rules.service_version,
        update_available=_is_old(listed.version, rules.catalogue),
    )


def _encode(shown: NodeItem) -> msgspec.Raw:
    """Render it once; where its type is expected, it is then sent as it is."""
    return msgspec.Raw(msgspec.json.encode(shown))


@lru_cache
def _is_old(version: str, catalogue: Catalogue) -> bool:
    return versions.update_available(Version.of(version), catalogue)


def which(request: Request) -> tuple[str, str]:
    """Say which node of whom a request is about."""
    return request.principal.organization_id, request.path["node_id"]


def fleet_of(request: Request) -> Fleet:
    """Give the fleet, where nodes are run at all."""
    if (fleet := request.platform.fleet) is None:
        raise NodeAway("no nodes are run here", retry_after_s=3600)
    return fleet
