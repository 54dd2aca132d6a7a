"""What an owner can ask of a node: each is one transaction, and begun at once."""

from collections.abc import Mapping
from datetime import datetime

from leyden.domain import node_settings, versions
from leyden.domain.node_moves import MOVES, command
from leyden.domain.nodes import Action, Node
from leyden.errors import NotAllowed
from leyden.lnd.home import Tls
from leyden.services import outfitting
from leyden.services.changes import change
from leyden.services.fleet import Fleet
from leyden.services.nodes import get, theirs
from leyden.storage.nouns import Nouns
from leyden.values import replace


async def ask(
    fleet: Fleet,
    organization_id: str,
    node_id: str,
    action: Action,
    *,
    actor: str,
    now: datetime,
) -> Node:
    """Start, stop, restart or delete a node; refuse what its state does not allow."""
    async with fleet.database.transaction() as tx:
        before = theirs(await tx.nodes.lock(node_id), organization_id)
        after = command(before, action, now=now, kept=fleet.rules.data_kept)
        await _asked(tx, before, after, action, actor=actor, now=now)
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
    """Bring a node to a newer lnd: the one that is asked for, or the newest for it."""
    async with fleet.database.transaction() as tx:
        before = theirs(await tx.nodes.lock(node_id), organization_id)
        newer = versions.choose_update(before.version, version, fleet.rules.catalogue)
        after = replace(command(before, Action.UPDATE, now=now), version=newer)
        await _asked(tx, before, after, Action.UPDATE, actor=actor, now=now)
    return after


async def change_settings(
    fleet: Fleet,
    organization_id: str,
    node_id: str,
    given: Mapping[str, object],
    *,
    actor: str,
    now: datetime,
) -> Node:
    """Change some settings; lnd is started again only where one of them needs it."""
    async with fleet.database.transaction() as tx:
        before = theirs(await tx.nodes.lock(node_id), organization_id)
        if (before.status, Action.SETTINGS) not in MOVES:
            raise NotAllowed(f"a node that is {before.status} cannot be given settings")
        sealed = await tx.outfits.get(node_id)
        old = outfitting.whole_settings(fleet, before, sealed)
        rules = fleet.rules
        new = node_settings.change(
            old, given, webhooks=rules.webhooks, calls=rules.calls
        )
        after = replace(before, settings=node_settings.without_secrets(new))
        if node_settings.needs_restart(old, new):
            after = command(after, Action.SETTINGS, now=now)
            resealed = outfitting.seal_settings(fleet, node_id, new)
            await tx.outfits.set_settings(node_id, resealed)
        await _asked(tx, before, after, Action.SETTINGS, actor=actor, now=now)
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
    """Give a node a new certificate, and start its lnd again so that it is served.

    It is the newest that was issued for it, or the chain and key that were handed in.
    """
    tls = None
    if certificate or key:
        node = await get(fleet, organization_id, node_id)
        command(node, Action.SETTINGS, now=now)  # or refuse, before anything is read
        tls = await _handed_in(fleet, node, certificate, key, now=now)
    async with fleet.database.transaction() as tx:
        before = theirs(await tx.nodes.lock(node_id), organization_id)
        after = command(before, Action.SETTINGS, now=now)
        if tls is not None:
            name = before.api_endpoint
            await tx.issued.forget(name)  # nobody else is asked for one any more
        else:
            tls = await outfitting.newest_certificate(fleet, tx, before, now=now)
        await outfitting.keep_certificate(fleet, tx, before, tls)
        await _asked(tx, before, after, Action.SETTINGS, actor=actor, now=now)
    return after


async def _handed_in(
    fleet: Fleet, node: Node, certificate: str, key: str, *, now: datetime
) -> Tls:
    """Look at what was handed in, beside the event loop and outside a transaction."""

    def look() -> Tls:
        # In the thread as well: importing it takes a tenth of a second.
        from leyden.gateway.handed_in import accept  # noqa: PLC0415

        return accept(certificate, key, name=node.api_endpoint, now=now)

    fleet.uploads.count(node.organization_id)
    return await fleet.uploads.read(node.organization_id, look)


async def _asked(
    tx: Nouns,
    before: Node,
    after: Node,
    action: Action,
    *,
    actor: str,
    now: datetime,
) -> None:
    await change(tx, before, after, now=now)
    await tx.commands.add(before.id, action, at=now, actor=actor)
    await tx.audit.add(
        at=now,
        actor=actor,
        action=f"node {action}",
        subject=before.id,
        organization_id=before.organization_id,
    )
