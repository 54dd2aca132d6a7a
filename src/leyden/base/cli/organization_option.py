"""Selecting the organization of a command, by its name or id."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import click

from leyden.base.cli.database import on_platform
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Organization
from leyden.errors import Conflict, Malformed, NotFound

Result = TypeVar("Result")

organization_option = click.option(
    "--organization",
    help="Name or id of the organization. Default: the only one.",
)


def on_organization(
    word: str | None, step: Callable[[Platform, Organization], Awaitable[Result]]
) -> Result:
    """Run one step with the organization of this name or id."""

    async def run(platform: Platform) -> Result:
        return await step(platform, await found(platform, word))

    return on_platform(run)


async def found(platform: Platform, word: str | None) -> Organization:
    """Return the organization with this id or name, or the only one without."""
    everybody = await platform.database.reader.accounts.list_()
    if word is None:
        if len(everybody) != 1:
            raise Malformed("--organization: name one; see `leyden orgs list`")
        return everybody[0]
    meant = [each for each in everybody if word in {each.id, each.name}]
    if not meant:
        raise NotFound(f"no organization {word!r}; see `leyden orgs list`")
    if len(meant) > 1:
        raise Conflict(f"{word!r} is the name of several organizations: use the id")
    return meant[0]
