"""Backups for a node's owner: ciphertext, and lnd's channel backup.

Seeds and macaroons are accepted only encrypted, are encrypted once more,
and are returned byte for byte to the organization that stored them.
"""

import hashlib
import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Literal

from leyden.base import rights
from leyden.base.http import turns
from leyden.base.rules.sign_in import Right
from leyden.errors import Malformed, NotFound, Taken
from leyden.nodes.ciphertext.recognition import MACAROON_LIMIT, SEED_LIMIT, check_backup
from leyden.nodes.fleet import Fleet
from leyden.nodes.rows.backups import ChannelBackup, MacaroonBackup
from leyden.nodes.rules.nodes import Node
from leyden.nodes.views import get
from leyden.people import quotas
from leyden.people.rules.quotas import Quota

log = logging.getLogger(__name__)

_NAME = re.compile(r"[A-Za-z0-9 _.-]{1,50}")


async def keep_seed(
    fleet: Fleet,
    organization_id: str,
    node_id: str,
    seed: str,
    *,
    actor: str,
    now: datetime,
) -> Node:
    """Store the node's only seed; raise Taken if there already is one.

    Even the same seed again is Taken.
    """
    node = await get(fleet, organization_id, node_id)
    await check(organization_id, seed, kind="seed")
    sealed = fleet.sealer.seal(seed.encode(), purpose=seed_purpose(node_id))
    async with fleet.database.transaction() as tx:
        await rights.confirm(tx, actor, organization_id, Right.NODES)
        if not await tx.backups.add_seed(node_id, sealed, now=now):
            raise Taken("seed: a seed is already stored, and you can't replace it")
    return node


async def seed(fleet: Fleet, organization_id: str, node_id: str) -> tuple[Node, str]:
    """Return the node and its seed as it was sent; raise NotFound if none."""
    node = await get(fleet, organization_id, node_id)
    sealed = await fleet.database.reader.backups.seed(node_id)
    opened = fleet.sealer.open(sealed, purpose=seed_purpose(node_id))
    return node, opened.decode()


async def has_seed(fleet: Fleet, organization_id: str, node_id: str) -> bool:
    """Return whether a seed is stored, without decrypting it."""
    node = await get(fleet, organization_id, node_id)
    try:
        await fleet.database.reader.backups.seed(node.id)
    except NotFound:
        return False
    return True


async def check(
    organization_id: str, value: str, *, kind: Literal["seed", "macaroon"]
) -> None:
    """Raise Malformed unless it is ciphertext."""
    limit = SEED_LIMIT if kind == "seed" else MACAROON_LIMIT
    checking = partial(check_backup, value, kind=kind, limit=limit)
    await turns.work(organization_id, checking)  # the largest takes some 4 ms


def check_name(name: str) -> None:
    """Raise Malformed unless a macaroon can have this name."""
    if not _NAME.fullmatch(name):
        raise Malformed(
            "name: must have 1 to 50 characters of A-Z a-z 0-9 space _ . and -"
        )


async def keep_macaroon(
    fleet: Fleet,
    organization_id: str,
    node_id: str,
    name: str,
    macaroon: str,
    *,
    actor: str,
    now: datetime,
) -> MacaroonBackup:
    """Store a macaroon under a name; raise Taken if the node has that name."""
    await get(fleet, organization_id, node_id)
    check_name(name)
    await check(organization_id, macaroon, kind="macaroon")
    purpose = macaroon_purpose(node_id, name)
    sealed = fleet.sealer.seal(macaroon.encode(), purpose=purpose)
    async with fleet.database.transaction() as tx:
        await rights.check(tx, actor, organization_id, Right.NODES)
        if not await tx.backups.add_macaroon(node_id, name, sealed, now=now):
            raise Taken(
                "name: a macaroon with this name is already stored; use another name"
            )
        await quotas.check(
            tx,
            fleet.rules.quotas,
            organization_id,
            Quota.MACAROONS_PER_NODE,
            used=await tx.quotas.macaroons(node_id) - 1,
        )
    return MacaroonBackup(name, now)


async def macaroons(
    fleet: Fleet, organization_id: str, node_id: str
) -> Sequence[MacaroonBackup]:
    """Return the stored macaroons, oldest first, without their values."""
    await get(fleet, organization_id, node_id)
    return await fleet.database.reader.backups.macaroons(node_id)


async def macaroon(
    fleet: Fleet, organization_id: str, node_id: str, name: str
) -> tuple[MacaroonBackup, str]:
    """Return a macaroon as it was sent; raise NotFound if it is not stored."""
    await get(fleet, organization_id, node_id)
    backups = fleet.database.reader.backups
    sealed = await backups.macaroon(node_id, name)
    stored = next(m for m in await backups.macaroons(node_id) if m.name == name)
    opened = fleet.sealer.open(sealed, purpose=macaroon_purpose(node_id, name))
    return stored, opened.decode()


async def channels(fleet: Fleet, organization_id: str, node_id: str) -> ChannelBackup:
    """Return the newest channel backup; raise NotFound if there is none."""
    node = await get(fleet, organization_id, node_id)
    await copy_channels(fleet, node)
    return await fleet.database.reader.backups.latest_channels(node_id)


async def copy_channels(fleet: Fleet, node: Node, content: bytes | None = None) -> None:
    """Store lnd's channel backup, if it differs from the last.

    It is read again after it was stored: another reader may have stored a later one
    before, and this one would be the latest until a channel changes again.
    """
    stored = None
    content = content or await fleet.node_files.channel_backup(node)
    while content and content != stored:
        await keep_channels(fleet, node, content)
        stored, content = content, await fleet.node_files.channel_backup(node)


async def keep_channels(fleet: Fleet, node: Node, content: bytes) -> None:
    """Store a channel backup; a second call changes nothing."""
    digest = hashlib.sha256(content).digest()
    with suppress(NotFound):
        latest = await fleet.database.reader.backups.latest_channels(node.id)
        if latest.digest == digest:
            return
    async with fleet.database.transaction() as tx:
        await tx.backups.add_channels(node.id, content, digest, now=fleet.clock())
    log.info("node %s: stored its channel backup", node.id)


def seed_purpose(node_id: str) -> str:
    """Return the encryption purpose of a seed, which excludes all others."""
    return f"seed backup of {node_id}"


def macaroon_purpose(node_id: str, name: str) -> str:
    """Return the encryption purpose of a macaroon."""
    return f"macaroon backup of {node_id} {name}"
