"""`leyden user`: dashboard users."""

from pathlib import Path
from typing import Any

import click

from leyden.base.cli.database import on_platform
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.organization_option import found, organization_option
from leyden.base.cli.output import as_json, operator, print_list, print_one
from leyden.base.cli.secrets import prompted
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Role
from leyden.base.rules.sign_in import Session
from leyden.base.rules.times import to_iso
from leyden.people import accounts

_password_option = click.option(
    "--password-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with the password. Default: LEYDEN_NEW_PASSWORD, or a prompt.",
)


@click.group(cls=LazyGroup)
def user() -> None:
    """Create, list, reset and sign out dashboard users."""


@user.command()
@click.argument("email")
@organization_option
@click.option(
    "--role",
    type=click.Choice([role.value for role in Role]),
    default=Role.OWNER.value,
    show_default=True,
    help="Role in the organization.",
)
@_password_option
@as_json
def create(
    email: str,
    organization: str,
    role: str,
    password_file: Path | None,
    *,
    as_json: bool,
) -> None:
    """Create a user who belongs to an organization.

    To add an existing user to another organization: `leyden team invite`.

    \b
    leyden user create ada@example.org --organization "Harbour Light" --role admin
    """
    password = _password(password_file)

    async def step(platform: Platform) -> dict[str, Any]:
        of = await found(platform, organization)
        made = await accounts.create_user(
            platform,
            email,
            password=password,
            organization_id=of.id,
            role=Role(role),
            actor=operator(),
        )
        return {
            "user_id": made.id,
            "email": made.email,
            "organization_id": of.id,
            "role": role,
            "created": to_iso(made.created),
        }

    print_one(on_platform(step), as_json=as_json)


@user.command("list")
@as_json
def list_(*, as_json: bool) -> None:
    """List all users who can sign in.

    \b
    leyden user list
    """
    people = on_platform(lambda platform: platform.database.reader.accounts.people())
    print_list(
        "users",
        (
            {"user_id": each.id, "email": each.email, "created": to_iso(each.created)}
            for each in people
        ),
        as_json=as_json,
        empty="no users yet; see: leyden user create --help",
        spare=("created",),
    )


@user.command()
@click.argument("email")
@_password_option
@click.option(
    "--keep-authenticator",
    is_flag=True,
    help="Keep the authenticator and the passkeys.",
)
def readmit(
    email: str, password_file: Path | None, *, keep_authenticator: bool
) -> None:
    """Reset the password and authenticator of a user who lost one of them.

    The user gets the new password, and is signed out everywhere.

    \b
    leyden user readmit ada@example.org
    """
    password = _password(password_file)
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
@click.option("--end", is_flag=True, help="Revoke the operator role.")
def operator_(email: str, *, end: bool) -> None:
    """Allow a user to operate this installation from the dashboard.

    \b
    leyden user operator ada@example.org
    leyden user operator ada@example.org --end
    """
    on_platform(
        lambda platform: accounts.set_operator(
            platform, email, operator=not end, actor=operator()
        )
    )
    print("is no longer an operator" if end else "is an operator")


@user.command()
@click.argument("email")
@as_json
def sessions(email: str, *, as_json: bool) -> None:
    """List a user's sessions, most recently used first.

    \b
    leyden user sessions ada@example.org
    """

    async def step(platform: Platform) -> list[Session]:
        person = await accounts.get_person(platform, email)
        return await platform.database.reader.sessions.list_(person.id)

    print_list(
        "sessions",
        (
            {
                "seen": to_iso(each.last_seen),
                "address": each.address,
                "browser": each.browser,
                "created": to_iso(each.created),
                "expires": to_iso(each.expires),
            }
            for each in on_platform(step)
        ),
        as_json=as_json,
        empty="no sessions",
        spare=("expires", "created"),
    )


@user.command("sign-out")
@click.argument("email")
def sign_out(email: str) -> None:
    """Sign a user out everywhere; the password stays the same.

    \b
    leyden user sign-out ada@example.org
    """
    on_platform(lambda platform: accounts.sign_out(platform, email, actor=operator()))
    print("signed out everywhere")


def _password(file: Path | None) -> str:
    return prompted("Password", file=file, variable="LEYDEN_NEW_PASSWORD", twice=True)
