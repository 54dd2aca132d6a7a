"""A restored home takes over from the machine that was lost.

1. Refuse where an lnd of the home still runs.
2. Give the home a new identity, and assign the nodes to it.
3. Let it start.

Killed anywhere, the next run goes on.
"""

from leyden.backups.wiring import restored
from leyden.backups.wiring.restored import Restored
from leyden.base.opening import opened
from leyden.base.platform import Platform
from leyden.base.rules.times import to_iso, utc_now
from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.nodes.runtimes.local import layout
from leyden.nodes.runtimes.local.census import lnds
from leyden.nodes.wiring import adoption, identity
from leyden.people import api_keys
from leyden.values import replace


async def confirm(
    settings: Settings, *, actor: str, revoke_keys: bool = False
) -> Restored:
    """Take over a restored home: it gets a new identity and the nodes, and may start.

    Nodes whose wallet was lost with the old machine start without one. With
    `revoke_keys`, all API keys are revoked first.
    """
    found = restored.find(settings.home_path)
    if found is None or found.confirmed:
        raise SetupError(
            f"{settings.home_path} is not a restored home that waits for confirmation: "
            "restore one with `leyden backup restore --key FILE`"
        )
    if restored.is_half(settings.home_path):
        raise SetupError(
            f"{settings.home_path}: a restore was killed while it moved files to this "
            "disk; delete everything on it, and restore again"
        )
    if running := sum(lnds(layout.root(settings.home_path)).values()):
        raise SetupError(
            f"{running} lnds of {settings.home_path} run on this machine: stop them "
            "with `leyden down --nodes`, because two lnds of the same node "
            "lose its money"
        )
    identity.ensure(settings.home_path)
    async with opened(settings) as platform:
        revoked = await _revoke_keys(platform, actor) if revoke_keys else 0
        await _adopt(platform, actor)
    confirmed = replace(
        found,
        confirmed=to_iso(utc_now()),
        keys_revoked=found.keys_revoked + revoked,
    )
    restored.save(settings.home_path, confirmed)
    return confirmed


async def _revoke_keys(platform: Platform, actor: str) -> int:
    async with platform.database.transaction() as tx:
        return await api_keys.revoke_all(tx, actor=actor, now=platform.clock())


async def _adopt(platform: Platform, actor: str) -> None:
    async with platform.database.transaction() as tx:
        await tx.audit.add(
            at=platform.clock(),
            actor=actor,
            action="restored home confirmed",
            subject=str(platform.settings.home_path),
        )
    if platform.settings.runs_here:
        await adoption.adopt(
            platform, new_authority=False, start_empty=True, actor=actor
        )
