"""`leyden team`: an organization's members and their roles."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from urllib.parse import urlencode

import click

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
from leyden.base.rules.accounts import Organization, Role
from leyden.base.rules.times import to_iso
from leyden.base.settings import own_names
from leyden.client.operator import Operator
from leyden.errors import NotFound
from leyden.people import invitations
from leyden.people import team as teams

Result = TypeVar("Result")

_ROLES = click.Choice([role.value for role in Role])


def _list_elsewhere(api: Operator, organization: str | None) -> list[dict[str, Any]]:
    found = api.members(organization_id(api, organization))
    return [
        *(
            {"email": e.email, "role": e.role, "since": e.since, "invited_until": None}
            for e in found.members
        ),
        *(
            {
                "email": e.email,
                "role": e.role,
                "since": None,
                "invited_until": e.expires,
            }
            for e in found.invitations
        ),
    ]


def _invite_elsewhere(
    api: Operator, email: str, organization: str | None, role: str
) -> dict[str, Any]:
    made = api.invite(organization_id(api, organization), email, role=role)
    return {
        "email": made.email,
        "role": made.role,
        "invited_until": made.expires,
        "link": made.link,
        "emailed": made.emailed,
    }


def _withdraw_elsewhere(
    api: Operator, email: str, organization: str | None
) -> dict[str, Any]:
    of = organization_id(api, organization)
    found = [e for e in api.members(of).invitations if e.email == email.lower()]
    if not found:
        raise NotFound(f"{email} is not invited; see `leyden team list`")
    for each in found:
        api.revoke_invitation(of, each.invitation_id)
    return {"email": email, "withdrawn": True}


def _member(api: Operator, email: str, organization: str | None) -> tuple[str, str]:
    """Return the ids of the organization, and of its member."""
    of = organization_id(api, organization)
    for each in api.members(of).members:
        if each.email == email.lower():
            return of, each.user_id
    raise NotFound(f"{email} is not a member; see `leyden team list`")


def _role_elsewhere(
    api: Operator, email: str, role: str, organization: str | None
) -> dict[str, Any]:
    api.set_role(*_member(api, email, organization), role)
    return {"email": email, "role": role}


def _remove_elsewhere(
    api: Operator, email: str, organization: str | None, *, yes: bool
) -> dict[str, Any]:
    confirm(f"Remove {email} from {organization or 'the organization'}?", yes=yes)
    api.remove_member(*_member(api, email, organization))
    return {"email": email, "removed": True}


@click.group(cls=LazyGroup)
def team() -> None:
    """Manage an organization's members: invite, set roles, remove."""


@team.command("list")
@organization_option
@as_json
@elsewhere(_list_elsewhere, listed="team")
def list_(organization: str | None, *, as_json: bool) -> None:
    """List an organization's members and invitations.

    \b
    leyden team list --organization "Harbour Light"
    """

    async def step(platform: Platform, of: Organization) -> list[dict[str, Any]]:
        members = await teams.members(platform, of.id)
        invited = await invitations.list_(platform, of.id, now=platform.clock())
        return [
            *(
                {
                    "email": each.person.email,
                    "role": each.role,
                    "since": to_iso(each.since),
                    "invited_until": None,
                }
                for each in members
            ),
            *(
                {
                    "email": each.email,
                    "role": each.role,
                    "since": None,
                    "invited_until": to_iso(each.expires),
                }
                for each in invited
            ),
        ]

    print_list(
        "team",
        on_organization(organization, step),
        as_json=as_json,
        empty="no members; see: leyden team invite --help",
    )


@team.command()
@click.argument("email")
@organization_option
@click.option(
    "--role",
    type=_ROLES,
    metavar="ROLE",
    default="developer",
    show_default=True,
    help=f"Role in the organization: {', '.join(Role)}.",
)
@as_json
@elsewhere(_invite_elsewhere)
def invite(email: str, organization: str | None, role: str, *, as_json: bool) -> None:
    """Invite EMAIL, and print the invitation link, which is shown only once.

    \b
    leyden team invite bo@example.org --organization Harbour --role billing
    """

    async def step(platform: Platform, of: Organization) -> dict[str, Any]:
        made, word, is_sent = await invitations.invite(
            platform,
            of.id,
            email=email,
            role=Role(role),
            actor=operator(),
            now=platform.clock(),
        )
        origin = own_names.main_origin(platform.settings)
        return {
            "email": made.email,
            "role": made.role,
            "invited_until": to_iso(made.expires),
            "link": f"{origin}/app/invitation?{urlencode({'word': word})}",
            "emailed": is_sent,
        }

    print_one(on_organization(organization, step), as_json=as_json)


@team.command()
@click.argument("email")
@organization_option
@as_json
@elsewhere(_withdraw_elsewhere)
def withdraw(email: str, organization: str | None, *, as_json: bool) -> None:
    """Revoke all invitations of EMAIL.

    \b
    leyden team withdraw bo@example.org --organization "Harbour Light"
    """

    async def step(platform: Platform, of: Organization) -> None:
        now = platform.clock()
        every = await invitations.list_(platform, of.id, now=now)
        found = [each for each in every if each.email == email.lower()]
        if not found:
            raise NotFound(f"{email} is not invited; see `leyden team list`")
        for each in found:
            await invitations.withdraw(
                platform, of.id, each.id, actor=operator(), now=now
            )

    on_organization(organization, step)
    print_done(
        {"email": email, "withdrawn": True},
        f"the invitations of {email} are revoked",
        as_json=as_json,
    )


@team.command()
@click.argument("email")
@click.argument("role", metavar="ROLE", type=_ROLES)
@organization_option
@as_json
@elsewhere(_role_elsewhere)
def role(email: str, role: str, organization: str | None, *, as_json: bool) -> None:
    """Set the role of EMAIL: owner, admin, developer, billing, viewer.

    An organization always keeps at least one owner.

    \b
    leyden team role bo@example.org admin --organization "Harbour Light"
    """
    _on_member(
        organization,
        email,
        lambda platform, of, user_id: teams.set_role(
            platform,
            of,
            user_id,
            Role(role),
            actor=operator(),
            now=platform.clock(),
        ),
    )
    print_done(
        {"email": email, "role": role}, f"{email} is {role} now", as_json=as_json
    )


@team.command()
@click.argument("email")
@organization_option
@yes_option
@as_json
@elsewhere(_remove_elsewhere)
def remove(email: str, organization: str | None, *, yes: bool, as_json: bool) -> None:
    """Remove EMAIL from the organization at once.

    An organization always keeps at least one owner.

    \b
    leyden team remove bo@example.org --organization "Harbour Light"
    """
    confirm(f"Remove {email} from {organization or 'the organization'}?", yes=yes)
    _on_member(
        organization,
        email,
        lambda platform, of, user_id: teams.remove(
            platform, of, user_id, actor=operator(), now=platform.clock()
        ),
    )
    print_done(
        {"email": email, "removed": True},
        f"{email} is no longer a member",
        as_json=as_json,
    )


def _on_member(
    organization: str | None,
    email: str,
    change: Callable[[Platform, str, str], Awaitable[None]],
) -> None:
    async def step(platform: Platform, of: Organization) -> None:
        for each in await teams.members(platform, of.id):
            if each.person.email == email.lower():
                await change(platform, of.id, each.person.id)
                return
        raise NotFound(f"{email} is not a member; see `leyden team list`")

    on_organization(organization, step)
