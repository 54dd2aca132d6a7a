"""The first organization, user and keys of a private installation.

Created once; later starts find them in dev.json. A backup does not have that file:
a restored home finds owner and organization in its database. The file holds secrets of
a network that is worth nothing, for scripts and external tests; they are never written
elsewhere.
"""

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leyden.base import processes
from leyden.base.files import write_private
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Membership, Person, Role
from leyden.errors import Unauthorized
from leyden.people import accounts, api_keys
from leyden.values import Struct

FILE = "dev.json"
_LOCK = f".{FILE}.lock"
_ACTOR = "operator:leyden up"
TEAM = "My team"
SCENARIOS = "Scenarios of leyden dev"
_EMAIL = "owner@localhost"
_ACCOUNT = "scenarios"  # of dev.json


class FirstAccount(Struct, frozen=True):
    """An organization, and a key to call the API as it."""

    organization_id: str
    api_key: str


async def ensure_accounts(platform: Platform) -> dict[str, Any]:
    """Return the organization's id, a login and two valid keys.

    Missing ones are created. A restored home keeps its owner and organization: the
    owner gets a new password. The login is an operator's as well: on a private chain
    one person has all roles.
    """
    made = await _ensure(platform)
    found = await platform.database.reader.accounts.find_person(
        made["dashboard_login"]["email"]
    )
    if found is not None:
        async with platform.database.transaction() as tx:
            await tx.people.make_operator(found.id, now=platform.clock())
    return made


async def ensure_scenarios(platform: Platform) -> FirstAccount:
    """Return the organization of scenarios, which so spend nobody else's credit.

    A missing one is created. The home's owner is its owner too, and can look at it.
    """
    account = read(platform.settings.home_path)
    found = account.get(_ACCOUNT, {})
    if await _opens(platform, found.get("api_key")):
        return FirstAccount(**found)
    every = await platform.database.reader.accounts.list_()
    organization = next((each for each in every if each.name == SCENARIOS), None)
    if organization is None:
        organization = await accounts.create_organization(
            platform, SCENARIOS, actor=_ACTOR
        )
    email = account.get("dashboard_login", {}).get("email", _EMAIL)
    async with platform.database.transaction() as tx:
        owner = await tx.accounts.find_person(email)
        if owner is not None:
            await tx.accounts.join(
                Membership(
                    organization_id=organization.id,
                    user_id=owner.id,
                    role=Role.OWNER,
                    created=platform.clock(),
                )
            )
    _, key = await api_keys.create(
        platform,
        organization.id,
        name="leyden dev scenario",
        scopes=("node", "flow"),
        expires=None,
        actor=_ACTOR,
    )
    made = {"organization_id": organization.id, "api_key": key}
    write(platform.settings.home_path, {_ACCOUNT: made})
    return FirstAccount(**made)


async def _ensure(platform: Platform) -> dict[str, Any]:
    account = read(platform.settings.home_path)
    if await _opens(platform, account.get("api_key"), account.get("flow_key")):
        return account
    login = dict(account.get("dashboard_login") or {})
    is_known = bool(login)
    if not is_known:
        login = {"email": _EMAIL, "password": secrets.token_urlsafe(12)}
    email = login["email"]
    owner = await platform.database.reader.accounts.find_person(email)
    organization_id = await _owned_by(platform, owner) if owner else None
    if organization_id is None:
        organization = await accounts.create_organization(
            platform, await _free_name(platform), actor=_ACTOR
        )
        organization_id = organization.id
    if owner is None:
        await accounts.create_user(
            platform,
            email,
            password=login["password"],
            organization_id=organization_id,
            role=Role.OWNER,
            actor=_ACTOR,
        )
    elif not is_known:
        await accounts.readmit(
            platform,
            email,
            password=login["password"],
            keep_authenticator=True,
            actor=_ACTOR,
        )
    made: dict[str, Any] = {
        "organization_id": organization_id,
        "dashboard_login": login,
    }
    for field, scopes in (("api_key", ("node", "flow")), ("flow_key", ("flow",))):
        _, made[field] = await api_keys.create(
            platform,
            organization_id,
            name=f"{field} of leyden up",
            scopes=scopes,
            expires=None,
            actor=_ACTOR,
        )
    write(platform.settings.home_path, made)
    return made


async def _owned_by(platform: Platform, owner: Person) -> str | None:
    """Return the organization that a person owned first; None if they own none."""
    belongings = await platform.database.reader.people.memberships(owner.id)
    owned = (each for each in belongings if each.role is Role.OWNER)
    return next((each.organization.id for each in owned), None)


def read(home: Path) -> dict[str, Any]:
    """Return the content of dev.json, or {} if missing or invalid."""
    try:
        account = json.loads((home / FILE).read_text())
    except (OSError, ValueError):
        return {}
    return account if isinstance(account, dict) else {}


def write(home: Path, fields: Mapping[str, Any]) -> None:
    """Add the fields to dev.json, for the owner's eyes only, whole or not at all.

    Other processes that add fields at the same time wait, so that they do not
    overwrite fields that were added meanwhile.
    """
    with processes.locked(home / _LOCK):
        write_private(home / FILE, json.dumps({**read(home), **fields}, indent=2))


async def _opens(platform: Platform, *keys: str | None) -> bool:
    try:
        for key in keys:
            await api_keys.authenticate(platform, key or "", now=platform.clock())
    except Unauthorized:
        return False
    return True


async def _free_name(platform: Platform) -> str:
    taken = {each.name for each in await platform.database.reader.accounts.list_()}
    names = (TEAM, *(f"{TEAM} {number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)
