"""Owners' commands to nodes: each is one transaction, started at once."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Final

from leyden.base import rights
from leyden.base.database.stores import Stores
from leyden.base.http.parsing import PARSING
from leyden.base.rows.audit import Value
from leyden.base.rules.sign_in import Right
from leyden.errors import NotAllowed
from leyden.nodes import launch_specs, node_events, peer_addresses
from leyden.nodes.certificates import pem_chain
from leyden.nodes.changes import change
from leyden.nodes.fleet import Fleet
from leyden.nodes.lnd.home import Tls
from leyden.nodes.rules import node_settings, versions
from leyden.nodes.rules.node_moves import MOVES, apply_command
from leyden.nodes.rules.nodes import Action, Node
from leyden.nodes.views import get, owned_or_not_found
from leyden.values import replace

# lnd would go on with the keys that the wallet has, on this machine.
_HAS_KEYS: Final = (
    "remotesigning: this node's wallet has keys already, and keeps them; create a new "
    "node with remotesigning, and move your coins and channels there"
)


async def command(
    fleet: Fleet,
    organization_id: str,
    node_id: str,
    action: Action,
    *,
    actor: str,
    now: datetime,
) -> Node:
    """Start, stop, restart or delete a node; raise if its state forbids it."""
    async with fleet.database.transaction() as tx:
        before = await _locked(tx, organization_id, node_id, actor=actor)
        after = apply_command(
            before, action, now=now, keep_data_for=fleet.rules.data_kept
        )
        await _record(tx, before, after, action, actor=actor, now=now)
    return after


async def update(
    fleet: Fleet,
    organization_id: str,
    node_id: str,
    version: str | None,
    *,
    actor: str,
    now: datetime,
) -> Node:
    """Update a node to the given lnd version, or the newest available."""
    async with fleet.database.transaction() as tx:
        before = await _locked(tx, organization_id, node_id, actor=actor)
        newer = versions.choose_update(before.version, version, fleet.rules.catalogue)
        after = replace(apply_command(before, Action.UPDATE, now=now), version=newer)
        await _record(
            tx,
            before,
            after,
            Action.UPDATE,
            actor=actor,
            now=now,
            changes={"version": (str(before.version), str(newer))},
        )
    return after


async def change_settings(
    fleet: Fleet,
    organization_id: str,
    node_id: str,
    changes: Mapping[str, object],
    *,
    actor: str,
    now: datetime,
) -> Node:
    """Change some settings; restart lnd only if one of them requires it."""
    async with fleet.database.transaction() as tx:
        before = await _locked(tx, organization_id, node_id, actor=actor)
        return await _changed(fleet, tx, before, changes, actor=actor, now=now)


async def allow_address(
    fleet: Fleet,
    organization_id: str,
    node_id: str,
    address: str,
    *,
    actor: str,
    now: datetime,
) -> Node:
    """Add an address to the whitelist, as it is under the node's lock."""
    async with fleet.database.transaction() as tx:
        before = await _locked(tx, organization_id, node_id, actor=actor)
        settings = {"whitelist": [*before.settings.whitelist, address]}
        return await _changed(fleet, tx, before, settings, actor=actor, now=now)


async def _changed(
    fleet: Fleet,
    tx: Stores,
    before: Node,
    settings: Mapping[str, object],
    *,
    actor: str,
    now: datetime,
) -> Node:
    if (before.status, Action.SETTINGS) not in MOVES:
        raise NotAllowed(f"a node that is {before.status} cannot change settings")
    sealed = await tx.launch_specs.get(before.id)
    old = launch_specs.whole_settings(fleet, before, sealed)
    rules = fleet.rules
    new = node_settings.change(
        old, settings, webhooks=rules.webhooks, calls=rules.calls
    )
    if new.remotesigning and not old.remotesigning and before.has_wallet:
        raise NotAllowed(_HAS_KEYS)
    if not old.listen:
        peer_addresses.check(rules, new)
    after = await peer_addresses.adjust(
        tx,
        fleet,
        replace(before, settings=node_settings.without_secrets(new)),
        now=now,
    )
    if node_settings.needs_restart(old, new):
        after = apply_command(after, Action.SETTINGS, now=now)
        resealed = launch_specs.seal_settings(fleet, before.id, new)
        await tx.launch_specs.set_settings(before.id, resealed)
    changes = node_settings.differences(old, new)
    await _record(
        tx, before, after, Action.SETTINGS, actor=actor, now=now, changes=changes
    )
    if changes:
        tx.events.add(node_events.of_settings(after, changes), at=now)
    return after


async def renew_certificate(
    fleet: Fleet,
    organization_id: str,
    node_id: str,
    *,
    actor: str,
    now: datetime,
    certificate: str = "",
    key: str = "",
) -> Node:
    """Replace a node's certificate, and restart its lnd to serve it.

    The new certificate is the chain and key that were uploaded, or else the
    newest certificate issued for the node.
    """
    tls = None
    if certificate or key:
        node = await get(fleet, organization_id, node_id)
        apply_command(
            node, Action.SETTINGS, now=now
        )  # or refuse, before anything is read
        tls = await _check_uploaded(node, certificate, key, now=now)
    async with fleet.database.transaction() as tx:
        before = await _locked(tx, organization_id, node_id, actor=actor)
        after = apply_command(before, Action.SETTINGS, now=now)
        if tls is not None:
            name = before.api_endpoint
            await tx.issued.delete(name)  # nobody else is asked for one any more
        else:
            tls = await launch_specs.newest_certificate(fleet, tx, before, now=now)
        await launch_specs.keep_certificate(fleet, tx, before, tls)
        which = "uploaded" if certificate or key else "newest"
        await _record(
            tx,
            before,
            after,
            Action.SETTINGS,
            actor=actor,
            now=now,
            changes={"certificate": ("", which)},
        )
    return after


async def _check_uploaded(
    node: Node, certificate: str, key: str, *, now: datetime
) -> Tls:
    """Check an uploaded certificate, in a thread, outside a transaction."""
    parse = partial(pem_chain.parse, certificate, key, name=node.api_endpoint, now=now)
    return await PARSING.run(node.organization_id, parse)


async def _locked(
    tx: Stores, organization_id: str, node_id: str, *, actor: str
) -> Node:
    """Lock a node, and check that the actor may still change it."""
    await rights.confirm(tx, actor, organization_id, Right.NODES)
    return owned_or_not_found(await tx.nodes.lock(node_id), organization_id)


async def _record(
    tx: Stores,
    before: Node,
    after: Node,
    action: Action,
    *,
    actor: str,
    now: datetime,
    changes: Mapping[str, tuple[Value, Value]] | None = None,
) -> None:
    await change(tx, before, after, now=now)
    await tx.commands.add(before.id, action, at=now, actor=actor)
    await tx.audit.add(
        at=now,
        actor=actor,
        action=f"node {action}",
        subject=before.id,
        organization_id=before.organization_id,
        changes=changes,
    )
