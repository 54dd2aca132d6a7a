"""`leyden daemons build` and `wheel`: what is run is built here."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import click

from leyden.base.cli.building import building
from leyden.base.daemons import build as builds
from leyden.base.daemons.catalogue import Program, ToolSet
from leyden_workshop.compiler import catalogue, licenses, wheels
from leyden_workshop.compiler.toolchain import toolchain
from leyden_workshop.compiler.wheels import Built


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME[@VERSION]]...")
def build(names: tuple[str, ...]) -> None:
    """Build programs into the cache; without a name, build all of them.

    \b
    leyden daemons build
    leyden daemons build lnd@0.21.2 lncli@0.21.2
    """
    _built([_find(name) for name in names] or programs())


@click.command()
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
    name, packs all programs. The licences of their modules are in it.

    \b
    leyden daemons wheel
    leyden daemons wheel lnd lncli btcd btcctl --output /tmp/wheels
    """
    print(pack([_find(name) for name in names] or programs(), output))


def pack(wanted: Sequence[tuple[ToolSet, Program]], output: Path) -> Path:
    """Build what is missing of these programs, and write their wheel."""
    cache = _built(wanted)
    oldest = max(tools.go for tools, _ in wanted)
    go = asyncio.run(toolchain(cache, oldest=oldest, environment=os.environ))
    notices = licenses.collected(wanted, go=go, environment=os.environ)
    built = [Built(*each, builds.program_path(cache, *each)) for each in wanted]
    return wheels.write(output, built, notices)


def _built(wanted: Sequence[tuple[ToolSet, Program]]) -> Path:
    """Build programs, even those that a release archive has; return the cache."""
    cache = builds.default_cache(os.environ)
    with building() as progress:
        asyncio.run(
            builds.build(wanted, cache=cache, progress=progress, from_source=True)
        )
    return cache


def _find(name: str) -> tuple[ToolSet, Program]:
    name, _, version = name.partition("@")
    return catalogue.find(name, version or None)


def programs() -> list[tuple[ToolSet, Program]]:
    """Return all programs."""
    return [(tools, program) for tools in catalogue.SETS for program in tools.programs]
