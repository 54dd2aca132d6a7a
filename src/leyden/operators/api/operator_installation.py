"""The operator API's endpoints of nodes, alarms, backups and the audit log."""

from leyden.base.http.operations import Request
from leyden.base.rules.times import to_iso
from leyden.errors import Malformed, NotFound
from leyden.nodes import commands
from leyden.nodes.api.nodes import fleet_of
from leyden.nodes.rules.nodes import Action, Node, NodeStatus
from leyden.operators import oversight
from leyden.operators.api.operator_organizations import or_none
from leyden.schemas.operator import (
    AilingAnswer,
    AilingNode,
    AlarmItem,
    AlarmsAnswer,
    AuditAnswer,
    AuditLine,
    AuditQuery,
    BackupItem,
    BackupsAnswer,
    FleetAnswer,
    FleetNode,
    FleetQuery,
    InstallationAnswer,
)


async def show(request: Request) -> InstallationAnswer:
    """Return the installation in numbers."""
    found = await oversight.overview(request.platform, now=request.now)
    return InstallationAnswer(
        nodes=found.nodes,
        versions=await request.platform.database.reader.counts.versions(),
        orders=found.orders,
        books=dict(found.balances),
        sources=[each.value for each in found.sources],
    )


async def list_nodes(request: Request, query: FleetQuery) -> FleetAnswer:
    """List nodes of all organizations."""
    if query.status and query.status not in set(NodeStatus):
        raise Malformed(f"status: must be one of {', '.join(NodeStatus)}")
    found = await request.platform.database.reader.counts.list_nodes(
        organization_id=query.organization_id,
        status=query.status,
        limit=query.limit + 1,
    )
    return FleetAnswer(
        nodes=[
            FleetNode(
                node_id=each.id,
                node_name=each.name,
                organization_id=each.organization_id,
                status=each.status,
                lnd_version=each.version,
                runtime=each.runtime,
                created=to_iso(each.created),
            )
            for each in found[: query.limit]
        ],
        has_more=len(found) > query.limit,
    )


async def list_ailing(request: Request) -> AilingAnswer:
    """List nodes that need attention."""
    return AilingAnswer(
        nodes=[
            AilingNode(
                node_id=each.node.id,
                node_name=each.node.name,
                organization_id=each.node.organization_id,
                status=each.node.status,
                lnd_version=each.node.version,
                crashes=each.node.crashes,
                why=each.why,
            )
            for each in await oversight.ailing(request.platform)
        ]
    )


async def get_node(request: Request) -> FleetNode:
    """Return a node."""
    return _node(await _found(request))


async def start_node(request: Request) -> FleetNode:
    """Start a node.

    Its owner sees in the audit log that an operator did.
    """
    return await _command(request, Action.START)


async def stop_node(request: Request) -> FleetNode:
    """Stop a node.

    Its owner sees in the audit log that an operator did, and can start it again.
    """
    return await _command(request, Action.STOP)


async def list_alarms(request: Request) -> AlarmsAnswer:
    """List raised alarms."""
    found = await oversight.overview(request.platform, now=request.now)
    return AlarmsAnswer(
        alarms=[
            AlarmItem(
                alarm=each.kind,
                subject=each.subject,
                what=each.what,
                since=to_iso(each.since),
            )
            for each in found.alarms
        ],
        checked=or_none(found.checked_at),
        not_checked=found.not_checked,
    )


async def list_backups(request: Request) -> BackupsAnswer:
    """Return when the installation's backups last succeeded and failed."""
    found = await oversight.overview(request.platform, now=request.now)
    return BackupsAnswer(
        backups=[
            BackupItem(
                what=each.what,
                last_good=or_none(each.last_good),
                last_failed=or_none(each.last_failed),
                took_s=each.took_s,
            )
            for each in found.backups
        ],
        missing=found.without_backups,
    )


async def list_audit(request: Request, query: AuditQuery) -> AuditAnswer:
    """List the latest entries of the audit log."""
    lines = await request.platform.database.reader.audit.latest(limit=query.limit)
    return AuditAnswer(
        audit=[
            AuditLine(
                at=to_iso(each.at),
                actor=each.actor,
                action=each.action,
                subject=each.subject,
                organization_id=each.organization_id,
            )
            for each in lines
        ]
    )


async def _command(request: Request, action: Action) -> FleetNode:
    before = await _found(request)
    after = await commands.command(
        fleet_of(request),
        before.organization_id,
        before.id,
        action,
        actor=request.principal.actor,
        now=request.now,
    )
    return _node(after)


async def _found(request: Request) -> Node:
    node_id = request.path["node_id"]
    node = await request.platform.database.reader.nodes.find(node_id)
    if node is None or node.is_gone:
        raise NotFound
    return node


def _node(shown: Node) -> FleetNode:
    return FleetNode(
        node_id=shown.id,
        node_name=shown.name,
        organization_id=shown.organization_id,
        status=shown.status.value,
        lnd_version=str(shown.version),
        runtime=shown.runtime.value,
        created=to_iso(shown.created),
    )
