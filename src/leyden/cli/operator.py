"""The operator's side of accounts: straight on the database, no server needed."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from leyden.cli.groups import Group
from leyden.cli.output import (
    as_json,
    on_platform,
    operator,
    print_fields,
    print_json,
    print_rows,
)
from leyden.domain.accounts import ApiKey, Organization, Role
from leyden.domain.times import to_iso
from leyden.services import accounts

_organization = click.option(
    "--organization", "organization_id", required=True, help="The organization's id."
)


@click.group(cls=Group)
def org() -> None:
    """Make and list organizations."""


@org.command("create")
@click.argument("name")
@as_json
def org_create(name: str, *, as_json: bool) -> None:
    """Make the organization NAME.

    \b
    leyden org create "Harbour Light"
    """
    made = on_platform(
        lambda platform: accounts.create_organization(platform, name, actor=operator())
    )
    _tell(_organization_shown(made), as_json=as_json)


@org.command("list")
@as_json
def org_list(*, as_json: bool) -> None:
    """List all organizations."""
    found = on_platform(lambda platform: platform.database.reader.accounts.list_())
    rows = [_organization_shown(each) for each in found]
    if as_json:
        print_json({"organizations": rows})
    else:
        print_rows(rows, empty='none yet; make one: leyden org create "My team"')


@click.group(cls=Group)
def user() -> None:
    """Make and list the people who sign in."""


@user.command("create")
@click.argument("email")
@_organization
@click.option(
    "--role", type=click.Choice([role.value for role in Role]), default=Role.OWNER.value
)
@click.option(
    "--password-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file that holds the password; without it you are asked.",
)
@as_json
def user_create(
    email: str,
    organization_id: str,
    role: str,
    password_file: Path | None,
    *,
    as_json: bool,
) -> None:
    """Make a user who belongs to an organization.

    \b
    leyden user create ada@example.org --organization ID --role owner
    """
    password = (
        password_file.read_text().strip()
        if password_file
        else click.prompt("Password", hide_input=True, confirmation_prompt=True)
    )
    made = on_platform(
        lambda platform: accounts.create_user(
            platform,
            email,
            password=password,
            organization_id=organization_id,
            role=Role(role),
            actor=operator(),
        )
    )
    shown = {
        "user_id": made.id,
        "email": made.email,
        "organization_id": organization_id,
        "role": role,
        "created": to_iso(made.created),
    }
    _tell(shown, as_json=as_json)


@user.command("list")
@as_json
def user_list(*, as_json: bool) -> None:
    """List everyone who can sign in."""
    found = on_platform(lambda platform: platform.database.reader.accounts.people())
    rows = [
        {"user_id": each.id, "email": each.email, "created": to_iso(each.created)}
        for each in found
    ]
    if as_json:
        print_json({"users": rows})
    else:
        print_rows(rows, empty="none yet; see: leyden user create --help")


@user.command("readmit")
@click.argument("email")
@click.option(
    "--password-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file that holds the new password; without it you are asked.",
)
@click.option(
    "--keep-authenticator", is_flag=True, help="Their second factors open still."
)
def user_readmit(
    email: str, password_file: Path | None, *, keep_authenticator: bool
) -> None:
    """Let a user in again who has lost the password, or the authenticator.

    They get the new password, and are signed out everywhere.

    \b
    leyden user readmit ada@example.org
    """
    password = (
        password_file.read_text().strip()
        if password_file
        else click.prompt("Password", hide_input=True, confirmation_prompt=True)
    )
    on_platform(
        lambda platform: accounts.readmit(
            platform,
            email,
            password=password,
            keep_authenticator=keep_authenticator,
            actor=operator(),
        )
    )
    print("may sign in again")


@user.command("operator")
@click.argument("email")
@click.option("--end", is_flag=True, help="Let them run it no longer.")
def user_operator(email: str, *, end: bool) -> None:
    """Let a user run this installation from the dashboard.

    \b
    leyden user operator ada@example.org
    """
    on_platform(
        lambda platform: accounts.set_operator(
            platform, email, operator=not end, actor=operator()
        )
    )
    print("runs this installation no longer" if end else "runs this installation")


@click.group(cls=Group)
def key() -> None:
    """Make, list and revoke API keys."""


@key.command("create")
@_organization
@click.option("--name", required=True, help="What the key is for.")
@click.option("--scope", default="node,flow", help="node, flow, or both (default).")
@click.option("--days", type=click.IntRange(1, 3650), help="Days until it expires.")
@as_json
def key_create(
    organization_id: str, name: str, scope: str, days: int | None, *, as_json: bool
) -> None:
    """Make an API key; it is shown this once.

    \b
    leyden key create --organization ID --name "our backend" --scope node,flow
    """
    expires = datetime.now(UTC) + timedelta(days=days) if days else None
    made, text = on_platform(
        lambda platform: accounts.create_key(
            platform,
            organization_id,
            name=name,
            scopes=scope.split(","),
            expires=expires,
            actor=operator(),
        )
    )
    _tell({"api_key": text, **_key_shown(made)}, as_json=as_json)


@key.command("list")
@_organization
@as_json
def key_list(organization_id: str, *, as_json: bool) -> None:
    """List an organization's keys; never the keys themselves."""
    found = on_platform(
        lambda platform: platform.database.reader.keys.list_(organization_id)
    )
    rows = [_key_shown(each) for each in found]
    if as_json:
        print_json({"keys": rows})
    else:
        print_rows(rows, empty="none yet; see: leyden key create --help")


@key.command("revoke")
@click.argument("key_id")
@_organization
def key_revoke(key_id: str, organization_id: str) -> None:
    """End a key, at once and everywhere."""
    on_platform(
        lambda platform: accounts.revoke_key(
            platform, organization_id, key_id, actor=operator()
        )
    )
    print("revoked")


@click.command()
@click.option("--most", type=click.IntRange(1, 10_000), default=50)
@as_json
def audit(most: int, *, as_json: bool) -> None:
    """Show who changed what, newest first."""
    lines = on_platform(
        lambda platform: platform.database.reader.audit.latest(most=most)
    )
    rows = [
        {
            "at": to_iso(line.at),
            "actor": line.actor,
            "action": line.action,
            "subject": line.subject,
            "organization_id": line.organization_id,
            "detail": dict(line.detail),
        }
        for line in lines
    ]
    if as_json:
        print_json({"audit": rows})
    else:
        print_rows(rows, empty="nothing was changed yet")


def _tell(shown: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(shown)
    else:
        print_fields(shown)


def _organization_shown(organization: Organization) -> dict[str, Any]:
    return {
        "organization_id": organization.id,
        "name": organization.name,
        "created": to_iso(organization.created),
    }


def _key_shown(key: ApiKey) -> dict[str, Any]:
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
