"""`leyden help` and `leyden version`: what `--help` and `--version` print."""

import click

from leyden import __version__
from leyden.base.cli.output import as_json, print_done


@click.command()
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
def help(words: tuple[str, ...]) -> None:  # noqa: A001
    """Print the help of a command.

    \b
    leyden help
    leyden help nodes create
    """
    root = click.get_current_context().find_root()
    root.command.main([*words, "--help"], prog_name="leyden", standalone_mode=False)


@click.command()
@as_json
def version(*, as_json: bool) -> None:
    """Print the version of this command.

    \b
    leyden version
    """
    print_done({"version": __version__}, f"leyden {__version__}", as_json=as_json)
