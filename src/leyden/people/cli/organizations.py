"""`leyden orgs`: the organizations of this installation."""

from typing import Any

import click

from leyden.base.cli.database import on_platform
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.organization_option import on_organization
from leyden.base.cli.output import as_json, operator, print_list, print_one
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Organization
from leyden.base.rules.times import to_iso
from leyden.errors import Malformed
from leyden.people import accounts, quotas
from leyden.people.rules.quotas import Quota

_LONGEST = 10  # digits


@click.group(cls=LazyGroup)
def org() -> None:
    """Create and list organizations, and set their quotas and credit."""


@org.command()
@click.argument("name")
@as_json
def create(name: str, *, as_json: bool) -> None:
    """Create the organization NAME.

    \b
    leyden orgs create "Harbour Light"
    """
    made = on_platform(
        lambda platform: accounts.create_organization(platform, name, actor=operator())
    )
    print_one(_shown(made), as_json=as_json)


@org.command("list")
@as_json
def list_(*, as_json: bool) -> None:
    """List all organizations.

    \b
    leyden orgs list
    """
    found = on_platform(lambda platform: platform.database.reader.accounts.list_())
    print_list(
        "organizations",
        map(_shown, found),
        as_json=as_json,
        empty='no organizations yet; create one: leyden orgs create "My team"',
        spare=("created",),
    )


@org.command("quotas")
@click.argument("organization")
@click.argument("changes", nargs=-1, metavar="[QUOTA=LIMIT]...")
@as_json
def quotas_(organization: str, changes: tuple[str, ...], *, as_json: bool) -> None:
    """Print or change ORGANIZATION's quotas.

    A lower limit deletes nothing that exists. QUOTA=default resets a limit.

    \b
    leyden orgs quotas "Harbour Light"
    leyden orgs quotas "Harbour Light" nodes=100 unpaid_orders=default
    """
    anew = dict(map(_change, changes))

    async def step(platform: Platform, of: Organization) -> list[dict[str, Any]]:
        now, defaults = platform.clock(), quotas.limits(platform.settings)
        if anew:
            await quotas.change(
                platform.database, of.id, anew, actor=operator(), now=now
            )
        found = await quotas.usage(platform.database, defaults, of.id, now=now)
        return [
            {
                "quota": name,
                "used": each.used,
                "limit": each.limit,
                "default": each.default,
            }
            for name, each in found.items()
        ]

    print_list(
        "quotas", on_organization(organization, step), as_json=as_json, empty="none"
    )


def _change(text: str) -> tuple[Quota, int | None]:
    name, _, value = text.partition("=")
    quota = quotas.parse(name)
    if value == "default":
        return quota, None
    if not (value.isascii() and value.isdigit() and len(value) <= _LONGEST):
        raise Malformed(f'{name}: must be a whole number or "default", as {name}=100')
    return quota, int(value)


def _shown(organization: Organization) -> dict[str, Any]:
    return {
        "organization_id": organization.id,
        "name": organization.name,
        "created": to_iso(organization.created),
    }
