"""`leyden api-keys`: API keys of any organization."""

from datetime import UTC, datetime, timedelta
from typing import Any

import click
from msgspec import structs

from leyden.base.cli.confirmation import confirm, yes_option
from leyden.base.cli.elsewhere import elsewhere, organization_id
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.organization_option import on_organization, organization_option
from leyden.base.cli.output import (
    as_json,
    operator,
    print_done,
    print_list,
    print_one,
)
from leyden.base.platform import Platform
from leyden.base.rules.accounts import ApiKey, Organization
from leyden.base.rules.times import to_iso
from leyden.client.operator import Operator
from leyden.errors import NotFound
from leyden.people import api_keys

_REVOKING = "Revoke the API key {}? It stops working at once."


@click.group(cls=LazyGroup)
def key() -> None:
    """Create, list and revoke API keys."""


def _create_elsewhere(
    api: Operator, organization: str | None, name: str, scope: str, days: int | None
) -> dict[str, Any]:
    of = organization_id(api, organization)
    made = api.create_key(of, name, scope.split(","), days=days or 0)
    return {"organization_id": of, **structs.asdict(made)}


def _list_elsewhere(api: Operator, organization: str | None) -> list[dict[str, Any]]:
    of = organization_id(api, organization)
    return [{"organization_id": of, **structs.asdict(each)} for each in api.keys(of)]


def _revoke_elsewhere(
    api: Operator, key_id: str, organization: str | None, *, yes: bool
) -> dict[str, Any]:
    confirm(_REVOKING.format(key_id), yes=yes)
    api.revoke_key(organization_id(api, organization), key_id)
    return {"key_id": key_id, "revoked": True}


@key.command()
@organization_option
@click.option("--name", required=True, help="What the key is for.")
@click.option("--scope", default="node,flow", help="node, flow, or both (default).")
@click.option("--days", type=click.IntRange(1, 3650), help="Days until it expires.")
@as_json
@elsewhere(_create_elsewhere)
def create(
    organization: str | None, name: str, scope: str, days: int | None, *, as_json: bool
) -> None:
    """Create an API key; it is printed only once.

    \b
    leyden api-keys create --organization Harbour --name backend --scope node
    """
    expires = datetime.now(UTC) + timedelta(days=days) if days else None
    made, text = on_organization(
        organization,
        lambda platform, of: api_keys.create(
            platform,
            of.id,
            name=name,
            scopes=scope.split(","),
            expires=expires,
            actor=operator(),
        ),
    )
    print_one({"api_key": text, **key_fields(made)}, as_json=as_json)


@key.command("list")
@organization_option
@as_json
@elsewhere(_list_elsewhere, listed="keys")
def list_(organization: str | None, *, as_json: bool) -> None:
    """List an organization's API keys, without their secrets.

    \b
    leyden api-keys list --organization "Harbour Light"
    """
    found = on_organization(
        organization,
        lambda platform, of: platform.database.reader.keys.list_(of.id),
    )
    print_list(
        "keys",
        map(key_fields, found),
        as_json=as_json,
        empty="no API keys yet; see: leyden api-keys create --help",
        spare=("organization_id", "created", "begins", "expires", "last_used"),
    )


@key.command()
@click.argument("key_id")
@organization_option
@yes_option
@as_json
@elsewhere(_revoke_elsewhere)
def revoke(key_id: str, organization: str | None, *, yes: bool, as_json: bool) -> None:
    """Revoke an API key; it stops working at once.

    \b
    leyden api-keys revoke KEY_ID --organization "Harbour Light"
    """

    async def step(platform: Platform, of: Organization) -> None:
        try:
            await api_keys.revoke(platform, of.id, key_id, actor=operator())
        except NotFound:
            raise NotFound(
                f"no active key {key_id}; see `leyden api-keys list`"
            ) from None

    confirm(_REVOKING.format(key_id), yes=yes)
    on_organization(organization, step)
    print_done({"key_id": key_id, "revoked": True}, "revoked", as_json=as_json)


def key_fields(key: ApiKey) -> dict[str, Any]:
    """Return a key's fields for operators."""
    return {
        "key_id": key.id,
        "organization_id": key.organization_id,
        "name": key.name,
        "begins": key.hint,
        "scopes": sorted(key.scopes),
        "created": to_iso(key.created),
        "expires": to_iso(key.expires) if key.expires else None,
        "last_used": to_iso(key.last_used) if key.last_used else None,
        "revoked": to_iso(key.revoked) if key.revoked else None,
    }
