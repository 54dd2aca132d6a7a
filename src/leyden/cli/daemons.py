"""`leyden daemons`: listing, building and locating lnd, btcd and poold."""

import asyncio
import os
from pathlib import Path

import click

from leyden.cli.building import binary, building
from leyden.cli.groups import Group
from leyden.cli.output import as_json, print_json, print_rows
from leyden.daemons import build as builds
from leyden.daemons import catalogue, packaged
from leyden.daemons.catalogue import Program, ToolSet
from leyden.daemons.workshop import place


@click.group(cls=Group)
def daemons() -> None:
    """Build the programs that nodes and private chains run."""


@daemons.command("list")
@as_json
def list_(*, as_json: bool) -> None:
    """List the programs, and where the built ones are.

    \b
    leyden daemons list
    """
    rows = [_shown(tools, program) for tools, program in _all()]
    if as_json:
        print_json({"daemons": rows})
    else:
        print_rows(rows, empty="no programs", spare=("path",))


@daemons.command()
@click.argument("names", nargs=-1, metavar="[NAME[@VERSION]]...")
def build(names: tuple[str, ...]) -> None:
    """Build programs into the cache; without a name, build all of them.

    \b
    leyden daemons build
    leyden daemons build lnd@0.21.2 lncli@0.21.2
    """
    wanted = [_find(name) for name in names] or _all()
    cache = builds.default_cache(os.environ)
    with building() as progress:
        asyncio.run(builds.build(wanted, cache=cache, progress=progress))


@daemons.command()
@click.argument("names", nargs=-1, metavar="[NAME[@VERSION]]...")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("dist"),
    show_default=True,
    help="Folder to write the wheel to.",
)
def wheel(names: tuple[str, ...], output: Path) -> None:
    """Pack built programs as a wheel, for machines without Go.

    A machine with this wheel and the same version of Leyden builds nothing. Without a
    name, packs all programs.

    \b
    leyden daemons wheel
    leyden daemons wheel lnd lncli btcd btcctl --output /tmp/wheels
    """
    wanted = [_find(name) for name in names] or _all()
    cache = builds.default_cache(os.environ)
    with building() as progress:
        asyncio.run(builds.build(wanted, cache=cache, progress=progress))
    programs = [packaged.Built(*each, place(cache, *each)) for each in wanted]
    print(packaged.write(output, programs))


@daemons.command()
@click.argument("name", metavar="NAME[@VERSION]")
def path(name: str) -> None:
    """Print the path of a program, after building it if necessary.

    \b
    $(leyden daemons path lncli) --version
    """
    _, program = _find(name)
    print(binary(program.name, program.version))


def _find(name: str) -> tuple[ToolSet, Program]:
    name, _, version = name.partition("@")
    return catalogue.find(name, version or None)


def _all() -> list[tuple[ToolSet, Program]]:
    return [(tools, program) for tools in catalogue.SETS for program in tools.programs]


def _shown(tools: ToolSet, program: Program) -> dict[str, object]:
    path = place(builds.default_cache(os.environ), tools, program)
    built = path.exists()
    return {
        "name": program.name,
        "version": program.version,
        "built": built,
        "path": str(path) if built else None,
    }
