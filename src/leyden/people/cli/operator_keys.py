"""`leyden operator-keys`: keys of the operator API."""

from datetime import UTC, datetime, timedelta

import click

from leyden.base.cli.confirmation import confirm, yes_option
from leyden.base.cli.database import on_platform
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.output import as_json, operator, print_done, print_list, print_one
from leyden.base.platform import Platform
from leyden.base.rules.accounts import INSTALLATION
from leyden.errors import NotFound
from leyden.people import api_keys
from leyden.people.cli.keys import key_fields


@click.group("operator-keys", cls=LazyGroup)
def operator_keys() -> None:
    """Create, list and revoke keys of the operator API."""


@operator_keys.command()
@click.option("--name", required=True, help="What the key is for.")
@click.option("--days", type=click.IntRange(1, 3650), help="Days until it expires.")
@as_json
def create(name: str, days: int | None, *, as_json: bool) -> None:
    """Create a key of the operator API; it is printed only once.

    Its holder can do to every organization what you can do.

    \b
    leyden operator-keys create --name billing --days 90
    """
    expires = datetime.now(UTC) + timedelta(days=days) if days else None
    made, text = on_platform(
        lambda platform: api_keys.create_operator_key(
            platform, name=name, expires=expires, actor=operator()
        )
    )
    print_one({"api_key": text, **key_fields(made)}, as_json=as_json)


@operator_keys.command("list")
@as_json
def list_(*, as_json: bool) -> None:
    """List keys of the operator API, without their secrets.

    \b
    leyden operator-keys list
    """
    found = on_platform(
        lambda platform: platform.database.reader.keys.list_(INSTALLATION)
    )
    print_list(
        "keys",
        map(key_fields, found),
        as_json=as_json,
        empty="no keys yet; see: leyden operator-keys create --help",
        spare=("organization_id", "created", "begins", "expires", "last_used"),
    )


@operator_keys.command()
@click.argument("key_id")
@yes_option
@as_json
def revoke(key_id: str, *, yes: bool, as_json: bool) -> None:
    """Revoke a key of the operator API; it stops working at once.

    \b
    leyden operator-keys revoke KEY_ID
    """

    async def step(platform: Platform) -> None:
        try:
            await api_keys.revoke_operator_key(platform, key_id, actor=operator())
        except NotFound:
            raise NotFound(
                f"no active key {key_id}; see `leyden operator-keys list`"
            ) from None

    confirm(f"Revoke the operator key {key_id}? It stops working at once.", yes=yes)
    on_platform(step)
    print_done({"key_id": key_id, "revoked": True}, "revoked", as_json=as_json)
