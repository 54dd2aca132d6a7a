"""The platform's own certificate authority: creating, repairing, rotating it.

A rotation makes a new root for the present settings while the platform stands still.
Nodes go on with the certificates they have, and take the new authority's at their next
start; until the last has, `cert` names both roots.

1. Wait until no process of the home runs.
2. Make the new authority beside the old one; remember the old root.
3. Put it in place, and have the database remember it.

Killed anywhere, the next run goes on.
"""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Final

from leyden.base.database.secrets import Sealer
from leyden.base.platform import Platform
from leyden.base.settings import Settings, own_names
from leyden.errors import SetupError
from leyden.nodes.certificate_expiry import still_shown
from leyden.nodes.certificates import previous_authorities
from leyden.nodes.certificates.authority import (
    Authority,
    open_or_create,
    renew_intermediate,
)
from leyden.nodes.certificates.constraints import CertificateScope, check_covers, scope
from leyden.nodes.certificates.expiry import Validity, renewal_due
from leyden.nodes.certificates.signing import Seal, create, seal_root_key
from leyden.nodes.fleet import OF_THE_HOME
from leyden.nodes.rows.homes import Home
from leyden.nodes.rules.nodes import Node
from leyden.nodes.wiring import identity
from leyden.nodes.wiring.home_record import as_home, refuse
from leyden.nodes.wiring.identity import Here
from leyden.nodes.wiring.ownership import nobody_else
from leyden.values import Struct, replace

ROOT_KEY: Final = "root.key.sealed"
PURPOSE: Final = "root key of the authority"


class AuthorityStatus(Struct, frozen=True, kw_only=True):
    """The authority, and the nodes that do not use it yet."""

    authority: Authority
    waiting: tuple[str, ...]  # nodes that show a former authority's certificate


def folder_of(settings: Settings) -> Path:
    """Return the folder of the authority."""
    return settings.home_path / "authority"


def ensure(settings: Settings, sealer: Sealer, *, now: datetime) -> None:
    """Create the authority of a new installation, or repair the existing one.

    A rotation that was cut short is finished, a root key that lies open is sealed, and
    an intermediate past half of its life is renewed where the root's key is there.
    """
    folder = folder_of(settings)
    with previous_authorities.changing(folder):
        _ensure(settings, sealer, folder, now=now)


def _ensure(settings: Settings, sealer: Sealer, folder: Path, *, now: datetime) -> None:
    previous_authorities.complete(folder)
    authority = open_or_create(
        folder,
        now=now,
        scope=_scope(settings),
        seal=_sealing(sealer),
        unseal=_unsealing(sealer),
    )
    seal_root_key(folder, _sealing(sealer))
    since = authority.intermediate.not_valid_before_utc
    until = authority.intermediate.not_valid_after_utc
    due = renewal_due(Validity(since, until), now)
    may = until < authority.root.not_valid_after_utc and (folder / ROOT_KEY).exists()
    if due and may:
        renew_intermediate(folder, now=now, unseal=_unsealing(sealer))


def check(settings: Settings, authority: Authority) -> None:
    """Raise SetupError if settings have names outside the authority's scope."""
    allowed = authority.scope
    check_covers(allowed, [settings.nodes_domain], setting="nodes_domain")
    if settings.acme_api_name or settings.api_tls:
        setting = "acme_api_name" if settings.acme_api_name else "api_tls"
        check_covers(allowed, own_names.api_names(settings), setting=setting)


def advice(settings: Settings) -> str:
    """Return a hint for the operator about the authority; usually ""."""
    authority = Authority(folder_of(settings))
    try:
        check(settings, authority)
    except SetupError as error:
        return error.message
    if authority.scope is None:
        return (
            "the platform's authority can sign for any name on the internet. `leyden "
            "ca rotate` creates an authority that can sign for this platform's names "
            "only; clients need the new root"
        )
    return ""


async def status(platform: Platform) -> AuthorityStatus:
    """Return the authority, and nodes that still show a former one's certificate."""
    authority = Authority(folder_of(platform.settings))
    waiting = await still_shown(authority, platform.database.reader)
    return AuthorityStatus(authority=authority, waiting=tuple(waiting))


async def rotate(platform: Platform, *, actor: str) -> AuthorityStatus:
    """Create a new authority for the current settings; return its status."""
    settings = platform.settings
    here = identity.read(settings.home_path)
    async with nobody_else(platform) as (tx, known):
        nodes = await tx.nodes.all_()
        with previous_authorities.changing(folder_of(settings)):
            before = _rotated(platform, nodes, known, here)
        ours = as_home(here, settings)
        if known is not None:
            await tx.homes.take(ours, kinds=OF_THE_HOME)
        await tx.audit.add(
            at=platform.clock(),
            actor=actor,
            action="authority rotated",
            subject=ours.authority,
            before=before,
        )
    return await status(platform)


def _rotated(
    platform: Platform, nodes: Iterable[Node], known: Home | None, here: Here
) -> str:
    """Replace the authority, or finish an interrupted rotation; return the old one."""
    settings = platform.settings
    folder = folder_of(settings)
    was_under_way = previous_authorities.is_under_way(folder)
    previous_authorities.complete(folder)
    ours = as_home(here, settings)
    if known is not None:
        refuse(known, replace(ours, authority=known.authority), here)
        if known.authority in previous_authorities.digests(folder):
            return known.authority  # all that was left to do is to remember it
        refuse(known, ours, here)
    elif was_under_way:
        return ""
    create(
        folder / previous_authorities.NEXT,
        platform.clock(),
        scope=_scope(settings, [node for node in nodes if not node.is_gone]),
        seal=_sealing(platform.sealer),
    )
    previous_authorities.complete(folder)
    return ours.authority


def _scope(settings: Settings, nodes: Iterable[Node] = ()) -> CertificateScope:
    """Return the scope that an authority needs: existing nodes, and the API."""
    domains = dict.fromkeys(node.api_endpoint.partition(".")[2] for node in nodes)
    return scope((settings.nodes_domain, *domains, *own_names.api_names(settings)))


def _sealing(sealer: Sealer) -> Seal:
    return lambda pem: sealer.seal(pem, purpose=PURPOSE)


def _unsealing(sealer: Sealer) -> Seal:
    return lambda sealed: sealer.open(sealed, purpose=PURPOSE)
