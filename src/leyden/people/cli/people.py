"""`leyden users` and `leyden operators`: who signs in to the dashboard."""

from pathlib import Path
from typing import Any

import click

from leyden.base.cli.database import on_platform
from leyden.base.cli.elsewhere import elsewhere, organization_id
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.organization_option import found, organization_option
from leyden.base.cli.output import (
    as_json,
    operator,
    print_done,
    print_list,
    print_one,
)
from leyden.base.cli.secrets import prompted
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Role
from leyden.base.rules.sign_in import Session
from leyden.base.rules.times import to_iso
from leyden.client.operator import Operator
from leyden.errors import NotFound
from leyden.people import accounts

_password_option = click.option(
    "--password-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with the password. Default: LEYDEN_NEW_PASSWORD, or a prompt.",
)


def _user_id(api: Operator, email: str) -> str:
    for each in api.users():
        if each.email == email.lower():
            return each.user_id
    raise NotFound(f"no user {email}; see `leyden users list`")


def _create_elsewhere(
    api: Operator,
    email: str,
    organization: str | None,
    role: str,
    password_file: Path | None,
) -> dict[str, Any]:
    of = organization_id(api, organization)
    made = api.create_member(of, email, _password(password_file), role=role)
    return {
        "user_id": made.user_id,
        "email": made.email,
        "organization_id": of,
        "role": made.role,
        "created": made.since,
    }


def _reset_elsewhere(
    api: Operator, email: str, password_file: Path | None, *, keep_authenticator: bool
) -> dict[str, Any]:
    of, password = _user_id(api, email), _password(password_file)
    api.readmit(of, password, keep_authenticator=keep_authenticator)
    return {"email": email, "reset": True}


def _sign_out_elsewhere(api: Operator, email: str) -> dict[str, Any]:
    api.sign_out(_user_id(api, email))
    return {"email": email, "signed_out": True}


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
@elsewhere(_create_elsewhere)
def create(
    email: str,
    organization: str | None,
    role: str,
    password_file: Path | None,
    *,
    as_json: bool,
) -> None:
    """Create a user who belongs to an organization.

    To add an existing user to another organization: `leyden team invite`.

    \b
    leyden users create ada@example.org --organization Harbour --role admin
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
@elsewhere(lambda api: api.users(), listed="users")
def list_(*, as_json: bool) -> None:
    """List all users who can sign in.

    \b
    leyden users list
    """
    people = on_platform(lambda platform: platform.database.reader.accounts.people())
    print_list(
        "users",
        (
            {"user_id": each.id, "email": each.email, "created": to_iso(each.created)}
            for each in people
        ),
        as_json=as_json,
        empty="no users yet; see: leyden users create --help",
        spare=("created",),
    )


@user.command("reset-password")
@click.argument("email")
@_password_option
@click.option(
    "--keep-authenticator",
    is_flag=True,
    help="Keep the authenticator and the passkeys.",
)
@as_json
@elsewhere(_reset_elsewhere)
def reset_password(
    email: str,
    password_file: Path | None,
    *,
    keep_authenticator: bool,
    as_json: bool,
) -> None:
    """Reset the password and authenticator of a user who lost one of them.

    The user gets the new password, and is signed out everywhere.

    \b
    leyden users reset-password ada@example.org
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
    print_done({"email": email, "reset": True}, "may sign in again", as_json=as_json)


@user.command()
@click.argument("email")
@as_json
@elsewhere(lambda api, email: api.sessions(_user_id(api, email)), listed="sessions")
def sessions(email: str, *, as_json: bool) -> None:
    """List a user's sessions, most recently used first.

    \b
    leyden users sessions ada@example.org
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
@as_json
@elsewhere(_sign_out_elsewhere)
def sign_out(email: str, *, as_json: bool) -> None:
    """Sign a user out everywhere; the password stays the same.

    \b
    leyden users sign-out ada@example.org
    """
    on_platform(lambda platform: accounts.sign_out(platform, email, actor=operator()))
    print_done(
        {"email": email, "signed_out": True}, "signed out everywhere", as_json=as_json
    )


@click.group(cls=LazyGroup)
def operators() -> None:
    """List, add and remove users who operate this installation."""


@operators.command("list")
@as_json
def list_operators(*, as_json: bool) -> None:
    """List the users who operate this installation from the dashboard.

    \b
    leyden operators list
    """
    people = on_platform(lambda platform: platform.database.reader.people.operators())
    print_list(
        "operators",
        ({"user_id": each.id, "email": each.email} for each in people),
        as_json=as_json,
        empty="no operators yet; see: leyden operators add --help",
    )


@operators.command()
@click.argument("email")
@as_json
def add(email: str, *, as_json: bool) -> None:
    """Allow a user to operate this installation from the dashboard.

    \b
    leyden operators add ada@example.org
    """
    _set_operator(email, operates=True)
    print_done(
        {"email": email, "operator": True},
        f"{email} can operate this installation now, at /app/operator",
        as_json=as_json,
    )


@operators.command()
@click.argument("email")
@as_json
def remove(email: str, *, as_json: bool) -> None:
    """Revoke a user's operator role; the user and the password stay.

    \b
    leyden operators remove ada@example.org
    """
    _set_operator(email, operates=False)
    print_done(
        {"email": email, "operator": False},
        f"{email} can't operate this installation any more",
        as_json=as_json,
    )


def _set_operator(email: str, *, operates: bool) -> None:
    on_platform(
        lambda platform: accounts.set_operator(
            platform, email, operator=operates, actor=operator()
        )
    )


def _password(file: Path | None) -> str:
    return prompted("Password", file=file, variable="LEYDEN_NEW_PASSWORD", twice=True)
