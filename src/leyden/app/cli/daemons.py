"""`leyden daemons`: listing and locating lnd, btcd and poold."""

import os

import click

from leyden.base.cli.building import binary
from leyden.base.cli.groups import LazyCommand, LazyGroup
from leyden.base.cli.output import as_json, print_json, print_rows
from leyden.base.daemons import build as builds
from leyden.base.daemons import catalogue
from leyden.base.daemons.build import program_path
from leyden.base.daemons.catalogue import Program, ToolSet

_LAZY = {
    "build": LazyCommand(
        "",
        "Build programs into the cache; without a name, build all of them.",
        "daemons-build",
    ),
    "wheel": LazyCommand(
        "", "Pack built programs as a wheel, for machines without Go.", "daemons-wheel"
    ),
}


@click.group(cls=LazyGroup, lazy=_LAZY)
def daemons() -> None:
    """Build the programs that nodes and private chains run."""


@daemons.command("list")
@as_json
def list_(*, as_json: bool) -> None:
    """List the programs, and where the built ones are.

    \b
    leyden daemons list
    """
    rows = [
        _shown(tools, program) for tools in catalogue.SETS for program in tools.programs
    ]
    if as_json:
        print_json({"daemons": rows})
    else:
        print_rows(rows, empty="no programs", spare=("path",))


@daemons.command()
@click.argument("name", metavar="NAME[@VERSION]")
def path(name: str) -> None:
    """Print the path of a program, after building it if necessary.

    \b
    $(leyden daemons path lncli) --version
    """
    name, _, version = name.partition("@")
    print(binary(name, version or None))


def _shown(tools: ToolSet, program: Program) -> dict[str, object]:
    path = program_path(builds.default_cache(os.environ), tools, program)
    built = path.exists()
    return {
        "name": program.name,
        "version": program.version,
        "built": built,
        "path": str(path) if built else None,
    }
