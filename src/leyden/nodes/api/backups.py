"""The backup endpoints: ciphertext in, the same ciphertext out."""

import base64

from leyden.base.http import json_pages
from leyden.base.http.json_pages import JsonPages
from leyden.base.http.operations import Request
from leyden.base.rules.times import to_iso
from leyden.nodes import backups, housekeeping, proofs, resealing
from leyden.nodes.api.nodes import fleet_of, node_ref
from leyden.nodes.rows.node_drills import NodeDrill
from leyden.schemas.backups import (
    ChannelsAnswer,
    DrillAnswer,
    FoundInClear,
    MacaroonAnswer,
    MacaroonItem,
    MacaroonsAnswer,
    NewDrill,
    NewlySealed,
    NewMacaroon,
    NewSeed,
    ProofsAnswer,
    ReplacedAnswer,
    ReplacedItem,
    ResealedAnswer,
    SeedAnswer,
)


async def keep_macaroon(request: Request, body: NewMacaroon) -> MacaroonItem:
    """Store an encrypted macaroon."""
    organization_id, node_id = node_ref(request)
    stored = await backups.keep_macaroon(
        fleet_of(request),
        organization_id,
        node_id,
        body.name,
        body.macaroon,
        actor=request.principal.actor,
        now=request.now,
    )
    return MacaroonItem(
        node_id=node_id, name=stored.name, created=to_iso(stored.created)
    )


async def list_macaroons(request: Request) -> MacaroonsAnswer:
    """List stored macaroons."""
    organization_id, node_id = node_ref(request)
    stored = await backups.macaroons(fleet_of(request), organization_id, node_id)
    return MacaroonsAnswer(
        macaroons=[
            MacaroonItem(node_id=node_id, name=each.name, created=to_iso(each.created))
            for each in stored
        ],
        found_in_clear=[
            FoundInClear(time=to_iso(each.at), number=each.number)
            for each in await housekeeping.found_in_clear(
                fleet_of(request), organization_id, node_id
            )
        ],
    )


async def get_macaroon(request: Request) -> MacaroonAnswer:
    """Return a stored macaroon."""
    organization_id, node_id = node_ref(request)
    stored, macaroon = await backups.macaroon(
        fleet_of(request), organization_id, node_id, request.path["name"]
    )
    return MacaroonAnswer(
        node_id=node_id,
        name=stored.name,
        created=to_iso(stored.created),
        macaroon=macaroon,
    )


async def keep_seed(request: Request, body: NewSeed) -> SeedAnswer:
    """Store the encrypted seed."""
    organization_id, node_id = node_ref(request)
    node = await backups.keep_seed(
        fleet_of(request),
        organization_id,
        node_id,
        body.seed,
        actor=request.principal.actor,
        now=request.now,
    )
    return SeedAnswer(node_id=node.id, node_name=node.name, seed=body.seed)


async def get_seed(request: Request) -> SeedAnswer:
    """Return the stored seed."""
    organization_id, node_id = node_ref(request)
    node, seed = await backups.seed(fleet_of(request), organization_id, node_id)
    return SeedAnswer(node_id=node.id, node_name=node.name, seed=seed)


async def reseal(request: Request, body: NewlySealed) -> ResealedAnswer:
    """Replace backups after a password change."""
    organization_id, node_id = node_ref(request)
    anew = _every(body)
    await resealing.reseal(
        fleet_of(request),
        organization_id,
        node_id,
        anew,
        actor=request.principal.actor,
        now=request.now,
    )
    return ResealedAnswer(node_id=node_id, resealed=len(anew))


async def list_replaced(request: Request) -> ReplacedAnswer | JsonPages:
    """List replaced backups."""
    organization_id, node_id = node_ref(request)
    found = await resealing.replaced(
        fleet_of(request), organization_id, node_id, now=request.now
    )
    pages = (
        [
            ReplacedItem(name=each.name, until=to_iso(each.until), value=each.value)
            for each in page
        ]
        async for page in found
    )
    return JsonPages(json_pages.write(ReplacedAnswer(node_id, []), pages))


async def get_channels(request: Request) -> ChannelsAnswer:
    """Return the channel backup (SCB)."""
    organization_id, node_id = node_ref(request)
    stored = await backups.channels(fleet_of(request), organization_id, node_id)
    return ChannelsAnswer(
        node_id=node_id,
        created=to_iso(stored.taken),
        channel_backup=base64.b64encode(stored.content).decode(),
    )


async def show_proofs(request: Request) -> ProofsAnswer:
    """Return how old the node's backups are, and when they were last opened."""
    organization_id, node_id = node_ref(request)
    found = await proofs.show(
        fleet_of(request), organization_id, node_id, now=request.now
    )
    return ProofsAnswer(
        node_id=node_id,
        channels_created=to_iso(found.channels_at) if found.channels_at else None,
        channels_left=found.channels_left,
        drill=_drill(found.drill) if found.drill else None,
        drill_is_due=found.drill_is_due,
    )


async def keep_drill(request: Request, body: NewDrill) -> DrillAnswer:
    """Store that the backups were opened."""
    organization_id, node_id = node_ref(request)
    stored = await proofs.keep_drill(
        fleet_of(request),
        organization_id,
        node_id,
        body.time,
        body.signature,
        actor=request.principal.actor,
        now=request.now,
    )
    return _drill(stored)


def _drill(stored: NodeDrill) -> DrillAnswer:
    return DrillAnswer(
        time=to_iso(stored.at), message=stored.message, signature=stored.signature
    )


def _every(sealed: NewlySealed) -> list[resealing.BackupReplacement]:
    seeds = [sealed.seed] if sealed.seed else []
    return [
        *(
            resealing.BackupReplacement(
                name=None, replaces=each.replaces, value=each.seed
            )
            for each in seeds
        ),
        *(
            resealing.BackupReplacement(
                name=each.name, replaces=each.replaces, value=each.macaroon
            )
            for each in sealed.macaroons
        ),
    ]
