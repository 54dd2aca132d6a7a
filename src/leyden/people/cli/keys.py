"""`leyden api-keys`: API keys of any organization."""

from datetime import UTC, datetime, timedelta
from typing import Any

import click

from leyden.base.cli.confirmation import confirm, yes_option
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
from leyden.errors import NotFound
from leyden.people import api_keys


@click.group(cls=LazyGroup)
def key() -> None:
    """Create, list and revoke API keys."""


@key.command()
@organization_option
@click.option("--name", required=True, help="What the key is for.")
@click.option("--scope", default="node,flow", help="node, flow, or both (default).")
@click.option("--days", type=click.IntRange(1, 3650), help="Days until it expires.")
@as_json
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

    confirm(f"Revoke the API key {key_id}? It stops working at once.", yes=yes)
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
