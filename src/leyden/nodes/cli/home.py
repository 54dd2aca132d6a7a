"""`leyden data-dir`: the home that owns the local nodes."""

import os
from contextlib import nullcontext
from typing import Any

import click

from leyden.base import settings
from leyden.base.cli.confirmation import confirm, yes_option
from leyden.base.cli.database import on_running
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.output import (
    as_json,
    operator,
    print_done,
    print_fields,
    print_json,
)
from leyden.base.settings import Settings
from leyden.base.settings.private_chain import running_settings
from leyden.nodes.wiring import adoption
from leyden.nodes.wiring.adoption import HomeComparison
from leyden.nodes.wiring.home import only_one


@click.group(cls=LazyGroup)
def home() -> None:
    """Print which home owns the local nodes, or move them to this one."""


@home.command()
@as_json
def show(*, as_json: bool) -> None:
    """Show whether this home owns the nodes, and which wallets are missing.

    \b
    leyden data-dir show
    """
    _print(on_running(adoption.standing), as_json=as_json)


@home.command()
@click.option("--new-authority", is_flag=True, help="Accept another authority.")
@click.option(
    "--start-empty",
    is_flag=True,
    help=(
        "Start nodes whose wallet is missing here without one; their owners restore it."
    ),
)
@click.option(
    "--accept-copies",
    is_flag=True,
    help="Confirm that you copied the nodes' folders after lnd had stopped.",
)
@yes_option
@as_json
def adopt(
    *,
    new_authority: bool,
    start_empty: bool,
    accept_copies: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Assign the database's nodes to this home.

    Use it after you moved or restored a home. Two lnds of the same node lose its money:
    make sure that no node still runs on the old machine.

    \b
    leyden data-dir adopt
    leyden data-dir adopt --start-empty
    """
    given = running_settings(settings.load(os.environ))
    found = on_running(adoption.standing)
    confirm(_question(given, found), yes=yes)
    alone = given.database.startswith("sqlite:")
    with only_one(given) if alone else nullcontext():
        after = on_running(
            lambda platform: adoption.adopt(
                platform,
                new_authority=new_authority,
                start_empty=start_empty,
                accept_copies=accept_copies,
                actor=operator(),
            )
        )
    _print(after, as_json=as_json)


@home.command("accept-copy")
@click.argument("node_id")
@yes_option
@as_json
def accept_copy(node_id: str, *, yes: bool, as_json: bool) -> None:
    """Start a node with a copy of its folder.

    The copy must be newer than the node's last start, and lnd must not have run in the
    original folder since then: an lnd with old channel states loses its money. The
    command always refuses a copy from before the last start.

    \b
    leyden data-dir accept-copy 5f0c9d8e-2f4b-4b57-9a53-0d6f0e2a7c11N
    """
    confirm(
        "Did you make the copy after lnd had stopped, and has lnd not run since?",
        yes=yes,
    )
    actor = operator()
    on_running(lambda platform: adoption.accept(platform, node_id, actor=actor))
    print_done(
        {"node_id": node_id, "accepted": True},
        f"node {node_id} can start with the folder in this home",
        as_json=as_json,
    )


def _question(given: Settings, found: HomeComparison) -> str:
    last = f", last on {found.known.host}" if found.known else ""
    if not given.runs_here:
        return (
            f"This platform takes over {found.nodes} nodes, which keep running in the "
            f"cluster. Has the platform that managed them stopped{last}?"
        )
    return (
        f"This home takes over {found.nodes} nodes. Has lnd stopped for all of them in "
        f"the old home{last}?"
    )


def _print(found: HomeComparison, *, as_json: bool) -> None:
    shown = _shown(found)
    if as_json:
        print_json(shown)
        return
    labels = {
        "is_home_of_the_nodes": "owns the nodes",
        "last_on": "last machine",
        "wallets_not_here": "missing wallets",
    }
    print_fields({labels.get(name, name): value for name, value in shown.items()})


def _shown(found: HomeComparison) -> dict[str, Any]:
    ours, known = found.ours, found.known
    return {
        "identity": ours.identity,
        "is_home_of_the_nodes": known is not None
        and (known.identity, known.place) == (ours.identity, ours.place),
        "last_on": known.host if known else None,
        "nodes": found.nodes,
        "wallets_not_here": [each.id for each in found.without_wallet],
    }
