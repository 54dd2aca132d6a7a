"""What pages of a wallet ask of the platform: facts of the node, and ciphertext."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from ipaddress import ip_address
from typing import Literal

import msgspec
from starlette.responses import Response

from leyden.domain import whitelist
from leyden.errors import Malformed, NotFound, Refused
from leyden.services import backups, nodes, resealing
from leyden.web.fleet import fleet_of, which
from leyden.web.visits import Handler, Visit


class Facts(msgspec.Struct):
    """What there is to know about reaching a node from this browser."""

    status: str
    rest: bool
    address: str  # of the browser, as it is seen here
    listed: bool  # whether the whitelist lets it in
    authority: bool  # whether the node's certificate is of the platform's own


class Kept(msgspec.Struct):
    """A backup, as its owner sent it."""

    kind: Literal["seed", "macaroon"]
    name: str
    value: str


class Backups(msgspec.Struct):
    """All that is kept for a node."""

    backups: list[Kept]


class Before(msgspec.Struct):
    """A backup whose place another took."""

    name: str
    until: datetime
    value: str


class Replaced(msgspec.Struct):
    """All of a node that were replaced of late."""

    replaced: list[Before]


class Anew(Kept, forbid_unknown_fields=True):
    """A backup under a new password."""

    replaces: str


class Done(msgspec.Struct):
    """It was done."""

    kept: int


def answering(run: Callable[[Visit], Awaitable[msgspec.Struct]]) -> Handler:
    """Answer in JSON, refusals too: it is a module of ours that asks."""

    async def answer(visit: Visit) -> Response:
        try:
            status, content = 200, await run(visit)
        except Refused as error:
            status, content = error.status, _Problem(error.message)
        return Response(
            msgspec.json.encode(content), status, media_type="application/json"
        )

    return answer


class _Problem(msgspec.Struct):
    message: str


@answering
async def facts(visit: Visit) -> Facts:
    """Tell what may be in the way between this browser and the node."""
    fleet = fleet_of(visit)
    view = await nodes.view(fleet, *which(visit))
    anchor = await nodes.anchor(fleet, view.node)
    return Facts(
        status=view.node.status,
        rest=bool(view.settings["rest"]),
        address=visit.address,
        listed=_is_listed(visit.address, view.settings["whitelist"]),
        authority=anchor.endswith(fleet.authority.root_pem),
    )


@answering
async def kept(visit: Visit) -> Backups:
    """Give every backup of a node, the seed first."""
    asked = (fleet_of(visit), *which(visit))
    found = []
    try:
        _, seed = await backups.seed(*asked)
        found.append(Kept(kind="seed", name="", value=seed))
    except NotFound:
        await nodes.get(*asked)  # there is no seed, or no node
    for each in await backups.macaroons(*asked):
        _, value = await backups.macaroon(*asked, each.name)
        found.append(Kept(kind="macaroon", name=each.name, value=value))
    return Backups(found)


@answering
async def keep(visit: Visit) -> Done:
    """Keep a backup that was encrypted in the browser."""
    asked = (fleet_of(visit), *which(visit))
    kind, value = visit.form.text("kind"), visit.form.text("value")
    if kind == "seed":
        await backups.keep_seed(*asked, value, now=visit.now)
    elif kind == "macaroon":
        name = visit.form.text("name")
        await backups.keep_macaroon(*asked, name, value, now=visit.now)
    else:
        raise Malformed("kind: must be seed or macaroon")
    return Done(kept=1)


@answering
async def replaced(visit: Visit) -> Replaced:
    """Give the backups that others took the place of, as a file to be kept."""
    found = await resealing.replaced(fleet_of(visit), *which(visit), now=visit.now)
    return Replaced(
        [Before(name=each.name, until=each.until, value=each.value) for each in found]
    )


@answering
async def reseal(visit: Visit) -> Done:
    """Put backups under a new password in the place of the old."""
    try:
        anew = msgspec.json.decode(visit.form.text("anew"), type=list[Anew])
    except (msgspec.MsgspecError, RecursionError):
        raise Malformed("anew: must be a list of backups") from None
    await resealing.reseal(
        fleet_of(visit),
        *which(visit),
        [
            resealing.Resealed(
                name=None if each.kind == "seed" else each.name,
                replaces=each.replaces,
                value=each.value,
            )
            for each in anew
        ],
        actor=visit.who.actor,
        now=visit.now,
    )
    return Done(kept=len(anew))


def _is_listed(address: str, allowed: object) -> bool:
    """Tell whether a whitelist lets an address in, as the gateway will see it."""
    try:
        seen = ip_address(address)
    except ValueError:
        return False
    mapped = getattr(seen, "ipv4_mapped", None)
    entries = whitelist.networks(whitelist.parse(allowed))
    return any((mapped or seen) in entry for entry in entries)
