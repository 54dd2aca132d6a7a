"""Command groups: lazy ones, help in full sentences, and `--profile` anywhere."""

import importlib.util
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import click
from click.exceptions import NoSuchCommand
from click.shell_completion import CompletionItem

import leyden
from leyden.errors import SetupError

_HELP = "Profile to use; see `leyden profile`. Works before or after COMMAND."
_GIVEN = "leyden.profile"
# Of a clone, if this is one: the folder above `src`.
_ROOT = os.path.abspath(os.path.join(leyden.__path__[0], "..", ".."))  # noqa: PTH100, PTH118


class LazyCommand(NamedTuple):
    """A command that is imported once it is used: its module, and what lists say."""

    module: str  # "": only leyden-workshop has it
    summary: str
    entry: str = ""  # by which name leyden-workshop has it, or more of it
    attribute: str = ""  # in the module; by default the command's own name
    needs: str = ""  # what has to be here for it to be listed: a module or a file

    @property
    def is_listed(self) -> bool:
        """Whether lists name it."""
        if self.needs.startswith("/"):
            return os.path.exists(_ROOT + self.needs)  # noqa: PTH110  pathlib is slow
        return not self.needs or importlib.util.find_spec(self.needs) is not None


def _of_the_workshop(entry: str) -> click.Command | None:
    """Return a command of leyden-workshop, if it is installed."""
    metadata = importlib.import_module("importlib.metadata")  # 10 ms
    for each in metadata.entry_points(group="leyden.commands", name=entry):
        command: click.Command = each.load()
        return command
    return None


def _missing(name: str) -> click.Command:
    """Return a command that says, whatever is typed, what to install."""

    def refuse(**_: object) -> None:
        typed = click.get_current_context().command_path
        raise SetupError(
            f"`{typed}` needs leyden-workshop: pip install leyden-workshop"
        )

    return click.Command(
        name,
        callback=refuse,
        params=[click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)],
        context_settings={"ignore_unknown_options": True},
        add_help_option=False,
    )


def _keep(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.meta[_GIVEN] = value


class LazyGroup(click.Group):
    """Imports the commands of `lazy` once they are used, as click's LazyGroup does.

    Its help lists the full first sentence of each command; click would cut it.

    `--profile` before a command is handed on to it, as if it stood behind it: a
    command that knows no profiles refuses it as it refuses any other option.
    """

    def __init__(
        self, *args: Any, lazy: Mapping[str, LazyCommand] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = lazy or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, the lazy ones in the order of their table."""
        return [*super().list_commands(ctx), *self._lazy]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; import it if it is lazy."""
        if cmd_name not in self._lazy:
            return super().get_command(ctx, cmd_name)
        listed = self._lazy[cmd_name]
        if listed.entry and (found := _of_the_workshop(listed.entry)):
            return found
        if not listed.module:
            return _missing(cmd_name)
        command: click.Command = getattr(
            importlib.import_module(listed.module), listed.attribute or cmd_name
        )
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name those of a similar name, also the lazy ones."""
        try:
            return super().resolve_command(ctx, args)
        except NoSuchCommand as error:
            known = self.summaries(ctx)
            raise NoSuchCommand(
                error.command_name, possibilities=known, ctx=ctx
            ) from None

    def summaries(self, ctx: click.Context) -> dict[str, str]:
        """Return what each command does, without importing those that are lazy."""
        own = {
            name: command.get_short_help_str(limit=1_000)
            for name in super().list_commands(ctx)
            if not (command := self.commands[name]).hidden
        }
        lazy = self._lazy.items()
        return own | {name: each.summary for name, each in lazy if each.is_listed}

    def headings(self, ctx: click.Context) -> Iterator[tuple[str, list[str]]]:
        """Yield each heading with the names of its commands."""
        yield "Commands", list(self.summaries(ctx))

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the list of commands, one section per heading."""
        summaries = self.summaries(ctx)
        width = max(map(len, summaries), default=0)
        for heading, names in self.headings(ctx):
            listed = [each for each in names if each in summaries]
            if not listed:
                continue
            with formatter.section(heading):
                formatter.write_dl(
                    [(f"{name:<{width}}", summaries[name]) for name in listed]
                )

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[CompletionItem]:
        """Complete the name of a command, or an option."""
        named = [
            CompletionItem(name, help=summary)
            for name, summary in self.summaries(ctx).items()
            if name.startswith(incomplete)
        ]
        return named + click.Command.shell_complete(self, ctx, incomplete)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the group's own parameters, and `--profile`."""
        profile = click.Option(
            ["--profile"],
            expose_value=False,
            callback=_keep,
            help=_HELP,
            hidden=ctx.parent is not None,  # once in all is enough
        )
        return [*super().get_params(ctx), profile]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the group's options, and hand `--profile` on."""
        super().parse_args(ctx, args)
        given: Any = ctx.meta.pop(_GIVEN, None)
        if given is not None:
            ctx.args = ["--profile", given, *ctx.args]
        return ctx.args
