"""`leyden org`: whom this installation is for."""

from typing import Any

import click

from leyden.cli.groups import Group
from leyden.cli.output import as_json, on_platform, operator, print_list, print_one
from leyden.domain.accounts import Organization
from leyden.domain.times import to_iso
from leyden.services import accounts


@click.group(cls=Group)
def org() -> None:
    """Make and list organizations."""


@org.command()
@click.argument("name")
@as_json
def create(name: str, *, as_json: bool) -> None:
    """Make the organization NAME.

    \b
    leyden org create "Harbour Light"
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
    leyden org list
    """
    found = on_platform(lambda platform: platform.database.reader.accounts.list_())
    print_list(
        "organizations",
        map(_shown, found),
        as_json=as_json,
        empty='none yet; make one: leyden org create "My team"',
        spare=("created",),
    )


def _shown(organization: Organization) -> dict[str, Any]:
    return {
        "organization_id": organization.id,
        "name": organization.name,
        "created": to_iso(organization.created),
    }
