"""Command groups: lazy ones, help in full sentences, and `--profile` anywhere."""

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import click
from click.exceptions import NoSuchCommand
from click.shell_completion import CompletionItem

_HELP = "Profile to use; see `leyden profile`. Works before or after COMMAND."
_GIVEN = "leyden.profile"


class Listed(NamedTuple):
    """A command that is imported once it is used: its module, and what lists say."""

    module: str
    summary: str


def _keep(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.meta[_GIVEN] = value


class Group(click.Group):
    """Imports the commands of `lazy` once they are used, as click's LazyGroup does.

    Its help lists the full first sentence of each command; click would cut it.

    `--profile` before a command is handed on to it, as if it stood behind it: a
    command that knows no profiles refuses it as it refuses any other option.
    """

    def __init__(
        self, *args: Any, lazy: Mapping[str, Listed] | None = None, **kwargs: Any
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
        module = importlib.import_module(self._lazy[cmd_name].module)
        command: click.Command = getattr(module, cmd_name)
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
        return {**own, **{name: each.summary for name, each in self._lazy.items()}}

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
            with formatter.section(heading):
                formatter.write_dl(
                    [(f"{name:<{width}}", summaries[name]) for name in names]
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
