"""The command `leyden`: every subcommand, and the file it lives in."""

import importlib
import os
import sys
from collections.abc import Iterator
from typing import NoReturn

import click

from leyden import __version__, memory
from leyden.cli import exits
from leyden.cli.groups import Group
from leyden.errors import LeydenError

_HEADINGS = {
    "The platform": {
        "up": "leyden.cli.up",
        "down": "leyden.cli.up",
        "status": "leyden.cli.up",
        "logs": "leyden.cli.up",
        "serve": "leyden.cli.serve",
        "worker": "leyden.cli.serve",
        "gateway": "leyden.cli.serve",
        "migrate": "leyden.cli.setup",
        "home": "leyden.cli.operator.home",
        "config": "leyden.cli.setup",
        "doctor": "leyden.cli.setup",
        "daemons": "leyden.cli.daemons",
        "secrets": "leyden.cli.setup",
    },
    "The operator": {
        "overview": "leyden.cli.operator.oversight",
        "fleet": "leyden.cli.operator.oversight",
        "orders": "leyden.cli.operator.oversight",
        "treasury": "leyden.cli.operator.treasury",
        "org": "leyden.cli.operator.organizations",
        "team": "leyden.cli.operator.team",
        "user": "leyden.cli.operator.people",
        "key": "leyden.cli.operator.keys",
        "coupon": "leyden.cli.operator.coupons",
        "account": "leyden.cli.operator.money",
        "verify": "leyden.cli.operator.money",
        "pool": "leyden.cli.operator.pool",
        "audit": "leyden.cli.operator.audit",
    },
    "The customer": {
        "nodes": "leyden.cli.customer.nodes",
        "flow": "leyden.cli.customer.flow",
        "node": "leyden.cli.node",
        "quotas": "leyden.cli.customer.quotas",
        "profile": "leyden.cli.customer.profiles",
        "completion": "leyden.cli.customer.completion",
        "unlocker": "leyden.cli.unlocker",
    },
    "The private chain": {
        "dev": "leyden.cli.dev",
    },
    "Working on Leyden itself": {
        "check": "leyden.cli.checks",
        "test": "leyden.cli.checks",
        "bench": "leyden.cli.checks",
    },
}
# Commands by their name of the release before this one, which still works.
_RENAMED = {"till": "treasury"}
_COMMANDS = {
    name: module for below in _HEADINGS.values() for name, module in below.items()
}


class _Lazy(Group):
    """Imports a command only when it is named: `leyden config` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Name them in the order of the table."""
        return list(_COMMANDS)

    def headings(
        self,
        ctx: click.Context,  # noqa: ARG002
    ) -> Iterator[tuple[str, list[str]]]:
        """Say for whom each command is."""
        yield from ((heading, list(below)) for heading, below in _HEADINGS.items())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one of them."""
        cmd_name = _RENAMED.get(cmd_name, cmd_name)
        if cmd_name not in _COMMANDS:
            return super().get_command(ctx, cmd_name)
        module = importlib.import_module(_COMMANDS[cmd_name])
        memory.keep_what_is_here()
        command: click.Command = getattr(module, cmd_name)
        return command


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
@click.option(
    "-q", "--quiet", is_flag=True, help="Say nothing of how it goes, but for errors."
)
def leyden(*, quiet: bool) -> None:
    """Run Lightning nodes for others, and sell them inbound channels.

    A first look: `leyden up` starts everything on a private chain, and says where
    the dashboard is. What a command does, with examples: `leyden COMMAND --help`.
    """


def main() -> None:
    """Run the command; an error that can be mended is one line with the next step."""
    memory.collect_nothing_yet()
    os.umask(0o077)  # whatever we write is for our own eyes, unless it says otherwise
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
        _end(str(error), exits.code(error))
    except BrokenPipeError:
        # Whoever read us has seen enough; Python must not flush to nobody at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(exits.FAILED)
    except OSError as error:
        if error.errno not in exits.OF_THE_MACHINE:
            raise
        place = f"{error.filename}: " if error.filename else ""
        _end(f"{place}{error.strerror}; see `leyden doctor`", exits.FAILED)
    sys.exit(code if isinstance(code, int) else 0)


def _stop(error: BaseException) -> NoReturn:
    """Say why it ends before its time: ctrl-C, or nobody to ask."""
    if isinstance(error.__cause__ or error, KeyboardInterrupt) or sys.stdin.isatty():
        print(file=sys.stderr)
        _end("stopped here; what the platform was asked goes on", exits.STOPPED)
    print(file=sys.stderr)
    _end("nobody is there to answer; --help tells how not to be asked", exits.FAILED)


def _end(words: str, code: int) -> NoReturn:
    print(f"leyden: {words}", file=sys.stderr)
    sys.exit(code)
