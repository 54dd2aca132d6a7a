"""The backup endpoints: ciphertext in, the same ciphertext out."""

import base64
from typing import Annotated

import msgspec
from msgspec import Meta

from leyden.api.nodes import fleet_of, which
from leyden.api.operations import Request
from leyden.domain.times import to_iso
from leyden.services import backups, housekeeping, resealing

Ciphertext = Annotated[str, Meta(description="Encrypted by you, before it is sent.")]


class NewMacaroon(msgspec.Struct, forbid_unknown_fields=True):
    """An encrypted macaroon, and what to call it."""

    macaroon: Ciphertext
    name: str


class NewSeed(msgspec.Struct, forbid_unknown_fields=True):
    """The encrypted seed."""

    seed: Ciphertext


Digest = Annotated[
    str,
    Meta(
        pattern="^[0-9a-fA-F]{64}$",
        description="SHA-256, in hex, of the ciphertext whose place it takes.",
    ),
]


class ResealedSeed(NewSeed, forbid_unknown_fields=True):
    """The seed, encrypted anew."""

    replaces: Digest


class ResealedMacaroon(NewMacaroon, forbid_unknown_fields=True):
    """A macaroon, encrypted anew."""

    replaces: Digest


class NewlySealed(msgspec.Struct, forbid_unknown_fields=True):
    """Backups under a new password."""

    seed: ResealedSeed | None = None
    macaroons: list[ResealedMacaroon] = []

    def all(self) -> list[resealing.Resealed]:
        """Give them as the service takes them."""
        seeds = [self.seed] if self.seed else []
        return [
            *(
                resealing.Resealed(name=None, replaces=each.replaces, value=each.seed)
                for each in seeds
            ),
            *(
                resealing.Resealed(
                    name=each.name, replaces=each.replaces, value=each.macaroon
                )
                for each in self.macaroons
            ),
        ]


class ResealedAnswer(msgspec.Struct):
    """How many backups were put in the place of others."""

    node_id: str
    resealed: int


class ReplacedItem(msgspec.Struct):
    """A backup that another took the place of; the seed's `name` is empty."""

    name: str
    until: str
    value: str


class ReplacedAnswer(msgspec.Struct):
    """What was replaced in the last thirty days, the latest first."""

    node_id: str
    replaced: list[ReplacedItem]


class MacaroonItem(msgspec.Struct):
    """A macaroon that is kept."""

    node_id: str
    name: str
    created: str


class FoundInClear(msgspec.Struct):
    """Macaroons that lnd wrote to the platform's disk, and that were removed."""

    time: str
    number: int


class MacaroonsAnswer(msgspec.Struct):
    """The macaroons that are kept, oldest first, and those that lay there in clear."""

    macaroons: list[MacaroonItem]
    found_in_clear: list[FoundInClear]


class MacaroonAnswer(MacaroonItem):
    """A macaroon as it was sent."""

    macaroon: str


class SeedAnswer(msgspec.Struct):
    """The seed as it was sent."""

    node_id: str
    node_name: str
    seed: str


class ChannelsAnswer(msgspec.Struct):
    """lnd's own backup of its channels: base64 of `channel.backup`."""

    node_id: str
    created: str
    channel_backup: str


async def keep_macaroon(request: Request, body: NewMacaroon) -> MacaroonItem:
    """Keep an encrypted macaroon."""
    organization_id, node_id = which(request)
    kept = await backups.keep_macaroon(
        fleet_of(request),
        organization_id,
        node_id,
        body.name,
        body.macaroon,
        now=request.now,
    )
    return MacaroonItem(node_id=node_id, name=kept.name, created=to_iso(kept.created))


async def list_macaroons(request: Request) -> MacaroonsAnswer:
    """List the macaroons that are kept."""
    organization_id, node_id = which(request)
    kept = await backups.macaroons(fleet_of(request), organization_id, node_id)
    return MacaroonsAnswer(
        macaroons=[
            MacaroonItem(node_id=node_id, name=each.name, created=to_iso(each.created))
            for each in kept
        ],
        found_in_clear=[
            FoundInClear(time=to_iso(each.at), number=each.number)
            for each in await housekeeping.found_in_clear(
                fleet_of(request), organization_id, node_id
            )
        ],
    )


async def get_macaroon(request: Request) -> MacaroonAnswer:
    """Give a macaroon back as it was sent."""
    organization_id, node_id = which(request)
    kept, macaroon = await backups.macaroon(
        fleet_of(request), organization_id, node_id, request.path["name"]
    )
    return MacaroonAnswer(
        node_id=node_id,
        name=kept.name,
        created=to_iso(kept.created),
        macaroon=macaroon,
    )


async def keep_seed(request: Request, body: NewSeed) -> SeedAnswer:
    """Keep the node's encrypted seed, once and for all."""
    organization_id, node_id = which(request)
    node = await backups.keep_seed(
        fleet_of(request), organization_id, node_id, body.seed, now=request.now
    )
    return SeedAnswer(node_id=node.id, node_name=node.name, seed=body.seed)


async def get_seed(request: Request) -> SeedAnswer:
    """Give the seed back as it was sent."""
    organization_id, node_id = which(request)
    node, seed = await backups.seed(fleet_of(request), organization_id, node_id)
    return SeedAnswer(node_id=node.id, node_name=node.name, seed=seed)


async def reseal(request: Request, body: NewlySealed) -> ResealedAnswer:
    """Put backups under a new password in the place of those under the old one."""
    organization_id, node_id = which(request)
    anew = body.all()
    await resealing.reseal(
        fleet_of(request),
        organization_id,
        node_id,
        anew,
        actor=request.principal.actor,
        now=request.now,
    )
    return ResealedAnswer(node_id=node_id, resealed=len(anew))


async def list_replaced(request: Request) -> ReplacedAnswer:
    """Give back what others took the place of, as it was sent."""
    organization_id, node_id = which(request)
    found = await resealing.replaced(
        fleet_of(request), organization_id, node_id, now=request.now
    )
    return ReplacedAnswer(
        node_id=node_id,
        replaced=[
            ReplacedItem(name=each.name, until=to_iso(each.until), value=each.value)
            for each in found
        ],
    )


async def get_channels(request: Request) -> ChannelsAnswer:
    """Give the newest of lnd's backups of its channels."""
    organization_id, node_id = which(request)
    kept = await backups.channels(fleet_of(request), organization_id, node_id)
    return ChannelsAnswer(
        node_id=node_id,
        created=to_iso(kept.taken),
        channel_backup=base64.b64encode(kept.content).decode(),
    )
