"""The JSON API for wallet pages: facts about the node, and ciphertext."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from typing import Any, Literal

import msgspec
from starlette.responses import Response

from leyden.base.http import json_pages
from leyden.base.pages.visits import Handler, Visit
from leyden.errors import Malformed, NotFound, Refused
from leyden.nodes import backups, resealing, views
from leyden.nodes.pages.fleet import fleet_of, which
from leyden.nodes.rules import whitelist


class NodeFacts(msgspec.Struct):
    """Facts about reaching a node from this browser."""

    status: str
    rest: bool
    address: str  # of the browser, as it is seen here
    listed: bool  # whether the whitelist lets it in
    authority: bool  # whether the node's certificate is of the platform's own


class VaultBackup(msgspec.Struct):
    """A backup, as its owner sent it."""

    kind: Literal["seed", "macaroon"]
    name: str
    value: str


class DatedVaultBackup(VaultBackup, omit_defaults=True):
    """A backup with the time at which it was stored first, if it is a macaroon."""

    created: datetime | None = None


class VaultBackups(msgspec.Struct):
    """All backups of a node."""

    backups: list[DatedVaultBackup]


class VaultReplacedBackup(msgspec.Struct):
    """A replaced backup."""

    name: str
    until: datetime
    value: str


class VaultReplaced(msgspec.Struct):
    """A node's recently replaced backups."""

    replaced: list[VaultReplacedBackup]


class ResealedBackup(VaultBackup, forbid_unknown_fields=True):
    """A backup encrypted under a new password."""

    replaces: str


class Done(msgspec.Struct):
    """Confirmation with the number of backups stored."""

    kept: int


def answering(
    run: Callable[[Visit], Awaitable[msgspec.Struct | Response]],
) -> Handler:
    """Respond in JSON, to errors too: the caller is our own script."""

    async def answer(visit: Visit) -> Response:
        try:
            status, content = 200, await run(visit)
        except Refused as error:
            status, content = error.status, _Problem(error.message)
        if isinstance(content, Response):
            return content
        return Response(
            msgspec.json.encode(content), status, media_type="application/json"
        )

    return answer


class _Problem(msgspec.Struct):
    message: str


@answering
async def facts(visit: Visit) -> NodeFacts:
    """Return what may prevent this browser from reaching the node."""
    fleet = fleet_of(visit)
    view = await views.view(fleet, *which(visit))
    anchor = await views.anchor(fleet, view.node)
    return NodeFacts(
        status=view.node.status,
        rest=bool(view.settings["rest"]),
        address=visit.address,
        listed=whitelist.allows(view.node.settings.whitelist, visit.address),
        authority=fleet.authority.issued(anchor),
    )


@answering
async def stored_backups(visit: Visit) -> VaultBackups:
    """Return every backup of a node, the seed first."""
    of_node = (fleet_of(visit), *which(visit))
    found = []
    try:
        _, seed = await backups.seed(*of_node)
        found.append(DatedVaultBackup(kind="seed", name="", value=seed))
    except NotFound:
        await views.get(*of_node)  # there is no seed, or no node
    for each in await backups.macaroons(*of_node):
        _, value = await backups.macaroon(*of_node, each.name)
        found.append(
            DatedVaultBackup(
                kind="macaroon", name=each.name, value=value, created=each.created
            )
        )
    return VaultBackups(found)


@answering
async def keep(visit: Visit) -> Done:
    """Store a backup that was encrypted in the browser."""
    of_node = (fleet_of(visit), *which(visit))
    actor = visit.user.actor
    kind, value = visit.form.text("kind"), visit.form.text("value")
    if kind == "seed":
        await backups.keep_seed(*of_node, value, actor=actor, now=visit.now)
    elif kind == "macaroon":
        name = visit.form.text("name")
        await backups.keep_macaroon(*of_node, name, value, actor=actor, now=visit.now)
    else:
        raise Malformed("kind: must be seed or macaroon")
    return Done(kept=1)


@answering
async def replaced(visit: Visit) -> Response:
    """Send the replaced backups as a file to be saved."""
    found = await resealing.replaced(fleet_of(visit), *which(visit), now=visit.now)
    pages = (
        [
            VaultReplacedBackup(name=each.name, until=each.until, value=each.value)
            for each in page
        ]
        async for page in found
    )
    return _Streamed(json_pages.write(VaultReplaced([]), pages), "application/json")


@answering
async def reseal(visit: Visit) -> Done:
    """Replace backups with the same ones encrypted under a new password."""
    try:
        anew = msgspec.json.decode(visit.form.text("anew"), type=list[ResealedBackup])
    except (msgspec.MsgspecError, RecursionError):
        raise Malformed("anew: must be a list of backups") from None
    await resealing.reseal(
        fleet_of(visit),
        *which(visit),
        [
            resealing.BackupReplacement(
                name=None if each.kind == "seed" else each.name,
                replaces=each.replaces,
                value=each.value,
            )
            for each in anew
        ],
        actor=visit.user.actor,
        now=visit.now,
    )
    return Done(kept=len(anew))


class _Streamed(Response):
    """A response of pieces; a browser notices one that breaks off."""

    def __init__(self, pieces: AsyncIterator[bytes], media_type: str) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        self._pieces = pieces

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG002
        """Send them."""
        start = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **start})
        async for piece in self._pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
