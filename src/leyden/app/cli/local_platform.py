"""The platform of this machine, once it is up: its status, its logs, its end."""

from pathlib import Path

import click

from leyden.base.cli.bodies import body_in
from leyden.base.cli.output import as_json

_BODIES = "leyden.app.cli.running.local_platform"

home_option = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the installation. Default: LEYDEN_HOME, or ./.leyden.",
)


@click.command()
@home_option
@click.option(
    "--nodes", is_flag=True, help=("Also stop the nodes and the private chain.")
)
@body_in(_BODIES)
def down(home: Path | None, *, nodes: bool) -> None:
    """Stop the platform; nodes keep running unless you pass --nodes.

    \b
    leyden down
    leyden down --nodes
    """


@click.command()
@home_option
@as_json
@body_in(_BODIES)
def status(home: Path | None, *, as_json: bool) -> None:
    """Print what is running; exit 1 if the platform is not up.

    \b
    leyden status
    """


@click.command()
@home_option
@click.option("-n", "lines", default=50, help="Lines to print from each log.")
@click.option("-f", "--follow", is_flag=True, help="Keep printing new lines.")
@click.argument("names", nargs=-1)
@body_in(_BODIES)
def logs(
    home: Path | None, lines: int, names: tuple[str, ...], *, follow: bool
) -> None:
    """Print the last lines of the platform's log, or of the daemons NAMES.

    \b
    leyden logs -f
    leyden logs btcd treasury
    """
