"""What is kept for a node's owner: ciphertext alone, and lnd's backup of its channels.

Seeds and macaroons come encrypted or not at all, are sealed once more, and are given
back byte for byte to the organization that put them here.
"""

import hashlib
import re
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Literal

from leyden import logs
from leyden.domain.ciphertext import (
    MACAROON_LIMIT,
    SEED_LIMIT,
    check_backup,
    check_size,
)
from leyden.domain.nodes import Node
from leyden.domain.quotas import Quota
from leyden.errors import Malformed, NotFound, Taken
from leyden.services import quotas
from leyden.services.fleet import Fleet
from leyden.services.nodes import get
from leyden.storage.backups import ChannelBackup, MacaroonBackup

log = logs.get()

_NAME = re.compile(r"[A-Za-z0-9 _.-]{1,50}")


async def keep_seed(
    fleet: Fleet, organization_id: str, node_id: str, seed: str, *, now: datetime
) -> Node:
    """Keep the node's one seed; Taken when there is one already, even the same."""
    node = await get(fleet, organization_id, node_id)
    await check(fleet, organization_id, seed, kind="seed")
    sealed = fleet.sealer.seal(seed.encode(), purpose=seed_purpose(node_id))
    async with fleet.database.transaction() as tx:
        if not await tx.backups.add_seed(node_id, sealed, now=now):
            raise Taken("seed: one is kept already, and is never replaced")
    return node


async def seed(fleet: Fleet, organization_id: str, node_id: str) -> tuple[Node, str]:
    """Give the node with its seed, as it came; NotFound when none is kept."""
    node = await get(fleet, organization_id, node_id)
    sealed = await fleet.database.reader.backups.seed(node_id)
    opened = fleet.sealer.open(sealed, purpose=seed_purpose(node_id))
    return node, opened.decode()


async def has_seed(fleet: Fleet, organization_id: str, node_id: str) -> bool:
    """Tell whether a seed is kept, without opening it."""
    node = await get(fleet, organization_id, node_id)
    try:
        await fleet.database.reader.backups.seed(node.id)
    except NotFound:
        return False
    return True


async def check(
    fleet: Fleet, organization_id: str, value: str, *, kind: Literal["seed", "macaroon"]
) -> None:
    """Raise Malformed unless it is ciphertext, TooMany when so much was sent."""
    fleet.uploads.count(organization_id)
    await recognise(fleet, organization_id, value, kind=kind)


async def recognise(
    fleet: Fleet, organization_id: str, value: str, *, kind: Literal["seed", "macaroon"]
) -> None:
    """Raise Malformed unless it is ciphertext; whoever calls has counted it."""
    limit = SEED_LIMIT if kind == "seed" else MACAROON_LIMIT
    check_size(value, kind=kind, limit=limit)
    look = partial(check_backup, value, kind=kind, limit=limit)
    await fleet.uploads.read(organization_id, look)


async def keep_macaroon(
    fleet: Fleet,
    organization_id: str,
    node_id: str,
    name: str,
    macaroon: str,
    *,
    now: datetime,
) -> MacaroonBackup:
    """Keep a macaroon under a name; Taken when the node has one of that name."""
    await get(fleet, organization_id, node_id)
    if not _NAME.fullmatch(name):
        raise Malformed(
            "name: must have 1 to 50 characters of A-Z a-z 0-9 space _ . and -"
        )
    await check(fleet, organization_id, macaroon, kind="macaroon")
    purpose = macaroon_purpose(node_id, name)
    sealed = fleet.sealer.seal(macaroon.encode(), purpose=purpose)
    async with fleet.database.transaction() as tx:
        await tx.accounts.lock(organization_id)
        if not await tx.backups.add_macaroon(node_id, name, sealed, now=now):
            raise Taken("name: a macaroon of this name is kept already")
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
    """Give what is kept, oldest first, without the values."""
    await get(fleet, organization_id, node_id)
    return await fleet.database.reader.backups.macaroons(node_id)


async def macaroon(
    fleet: Fleet, organization_id: str, node_id: str, name: str
) -> tuple[MacaroonBackup, str]:
    """Give a macaroon as it came; NotFound when none of that name is kept."""
    await get(fleet, organization_id, node_id)
    backups = fleet.database.reader.backups
    sealed = await backups.macaroon(node_id, name)
    kept = next(m for m in await backups.macaroons(node_id) if m.name == name)
    opened = fleet.sealer.open(sealed, purpose=macaroon_purpose(node_id, name))
    return kept, opened.decode()


async def channels(fleet: Fleet, organization_id: str, node_id: str) -> ChannelBackup:
    """Give the newest backup of channels; NotFound when lnd has written none."""
    node = await get(fleet, organization_id, node_id)
    await copy_channels(fleet, node)
    return await fleet.database.reader.backups.latest_channels(node_id)


async def copy_channels(fleet: Fleet, node: Node) -> None:
    """Keep lnd's backup of its channels, if it is another than the last."""
    if content := await fleet.homes.channel_backup(node):
        await keep_channels(fleet, node, content)


async def keep_channels(fleet: Fleet, node: Node, content: bytes) -> None:
    """Keep a backup of channels; the second time it is kept already."""
    digest = hashlib.sha256(content).digest()
    if await fleet.database.reader.backups.has_channels(node.id, digest):
        return
    async with fleet.database.transaction() as tx:
        await tx.backups.add_channels(node.id, content, digest, now=fleet.clock())
    log.info("node %s: its backup of channels is kept", node.id)


def seed_purpose(node_id: str) -> str:
    """Say what a seed is sealed for, so that it opens as nothing else."""
    return f"seed backup of {node_id}"


def macaroon_purpose(node_id: str, name: str) -> str:
    """Say what a macaroon is sealed for."""
    return f"macaroon backup of {node_id} {name}"
