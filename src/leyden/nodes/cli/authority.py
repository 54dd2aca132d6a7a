"""`leyden ca`: who vouches for nodes, and making another."""

import os
from contextlib import nullcontext
from typing import Any

import click

from leyden.base import settings
from leyden.base.cli.confirmation import confirm, yes_option
from leyden.base.cli.database import on_running
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.output import as_json, operator, print_one
from leyden.base.settings.private_chain import running_settings
from leyden.nodes.wiring import authorities
from leyden.nodes.wiring.authorities import AuthorityStatus
from leyden.nodes.wiring.home import only_one


@click.group(cls=LazyGroup)
def authority() -> None:
    """Show or replace the certificate authority of the nodes."""


@authority.command()
@as_json
def show(*, as_json: bool) -> None:
    """Show the authority's permitted names, its fingerprint and its expiry.

    \b
    leyden ca show
    """
    print_one(_shown(on_running(authorities.status)), as_json=as_json)


@authority.command()
@yes_option
@as_json
def rotate(*, yes: bool, as_json: bool) -> None:
    """Replace the authority with a new one for the names in the current settings.

    Stop the platform first; nodes keep running. Each node gets a new certificate at its
    next start. Until all nodes have one, the certificates from `leyden nodes cert`
    include the old root too.

    \b
    leyden ca rotate
    """
    given = running_settings(settings.load(os.environ))
    alone = given.database.startswith("sqlite:")
    with only_one(given) if alone else nullcontext():
        confirm(
            "Clients that trust the old root need the new one before their node's "
            "next start (GET .../cert). Replace the authority?",
            yes=yes,
        )
        after = on_running(
            lambda platform: authorities.rotate(platform, actor=operator())
        )
    print_one(_shown(after), as_json=as_json)


def _shown(found: AuthorityStatus) -> dict[str, Any]:
    authority = found.authority
    return {
        "fingerprint": authority.fingerprint,
        "may_vouch_for": str(authority.scope) if authority.scope else "any name",
        "root_ends": authority.root.not_valid_after_utc.isoformat(),
        "intermediate_ends": authority.intermediate.not_valid_after_utc.isoformat(),
        "nodes_with_a_former_certificate": list(found.waiting),
    }
