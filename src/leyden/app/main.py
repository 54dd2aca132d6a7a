"""The command `leyden`: its subcommands and their modules."""

import os
import sys
from collections.abc import Iterator
from typing import NoReturn

import click

import leyden as leyden_package
from leyden import __version__
from leyden.app import renamed
from leyden.app.commands import COMMANDS, HEADINGS
from leyden.base.cli import exit_codes
from leyden.base.cli.groups import LazyGroup
from leyden.errors import LeydenError

if sys.platform != "win32":
    import resource


class _Root(LazyGroup):
    """Lists commands under headings, and knows their former names."""

    def headings(
        self,
        ctx: click.Context,  # noqa: ARG002
    ) -> Iterator[tuple[str, list[str]]]:
        """Yield each heading with the names of its commands."""
        yield from ((heading, list(below)) for heading, below in HEADINGS.items())

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; say so if it was typed by a former name."""
        if ctx.resilient_parsing:  # a shell completes it
            name, *others = args
            args = [renamed.ALIASES.get(name, name), *others]
        else:
            args, used = renamed.current(args)
            for former, now in used:
                print(f"leyden: `{former}` is now `{now}`", file=sys.stderr)
        return super().resolve_command(ctx, args)


@click.command(
    cls=_Root,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__)
@click.option("-q", "--quiet", is_flag=True, help="Print errors only, no progress.")
def leyden(*, quiet: bool) -> None:
    """Host Lightning nodes for your customers, and sell them inbound channels.

    To try Leyden, run `leyden up`: it starts everything on a private chain and prints
    the dashboard's address. `leyden COMMAND --help` shows examples.
    """


def _dump_no_core() -> None:
    """Leave no core dump, which systemd allows services: it would have the keys."""
    if sys.platform != "win32":
        _, hard_limit = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard_limit))


def main() -> None:
    """Run the command; print expected errors as one line with a next step."""
    os.umask(0o077)  # whatever we write is for our own eyes, unless it says otherwise
    _dump_no_core()
    _say_if_twice()
    try:
        code = leyden(standalone_mode=False)
        if sys.stdout is not None:  # else it was closed before we began
            sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt) as error:
        _stop(error)
    except LeydenError as error:
        _end(str(error), exit_codes.code(error))
    except ModuleNotFoundError as error:
        _end(_lacking(error), exit_codes.FAILED)
    except BrokenPipeError:
        # The reader has closed the pipe; Python must not flush into it at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(exit_codes.FAILED)
    except OSError as error:
        if error.errno not in exit_codes.OF_THE_MACHINE:
            raise
        file = f"{error.filename}: " if error.filename else ""
        _end(f"{file}{error.strerror}; see `leyden doctor`", exit_codes.FAILED)
    sys.exit(code if isinstance(code, int) else 0)


def _say_if_twice() -> None:
    """Say so if two packages are installed whose files overwrite each other."""
    # Not by pathlib, which takes as long to import as click.
    folder = os.path.dirname(leyden_package.__path__[0])  # noqa: PTH120
    found = [
        name.removesuffix(".dist-info")
        for name in sorted(os.listdir(folder))  # noqa: PTH208
        if name.startswith(("leyden-", "leyden_client-"))
    ]
    if len(found) > 1:
        print(
            f"leyden: {folder} has {' and '.join(found)}, which overwrite each other: "
            "uninstall both, then install leyden",
            file=sys.stderr,
        )


def _lacking(error: ModuleNotFoundError) -> str:
    """Return what a command needs that is not one of customers'."""
    name = (error.name or "").partition(".")[0]
    if name.startswith("leyden"):
        raise error
    if name == "mcp":
        return 'this command needs leyden[mcp]: pip install "leyden[mcp]"'
    if sys.platform != "linux":
        return f"this command needs Linux (there is no {name})"
    return (
        f"this command needs leyden[server] ({name} is not installed): "
        'pip install "leyden[server]"'
    )


def _stop(error: BaseException) -> NoReturn:
    """Exit with the reason: ctrl-C, or no terminal to prompt on."""
    if isinstance(error.__cause__ or error, KeyboardInterrupt) or sys.stdin.isatty():
        print(file=sys.stderr)
        _end("stopped; requests already sent continue", exit_codes.STOPPED)
    print(file=sys.stderr)
    _end(
        "can't prompt without a terminal: pass the answer as an option, see --help",
        exit_codes.FAILED,
    )


def _end(words: str, code: int) -> NoReturn:
    print(f"leyden: {words}", file=sys.stderr)
    sys.exit(code)
