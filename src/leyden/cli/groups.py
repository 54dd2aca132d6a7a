"""How a group lists its commands: in whole sentences, under headings if it has any."""

from collections.abc import Iterator

import click


class Group(click.Group):
    """Tells the first sentence of each command; click would cut a long one off."""

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """List the commands, a heading at a time."""
        width = max(map(len, self.list_commands(ctx)), default=0)
        for heading, names in self.headings(ctx):
            rows = [
                (f"{name:<{width}}", command.get_short_help_str(limit=1_000))
                for name in names
                if (command := self.get_command(ctx, name)) and not command.hidden
            ]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def headings(self, ctx: click.Context) -> Iterator[tuple[str, list[str]]]:
        """Give the headings, and which commands stand below each."""
        yield "Commands", self.list_commands(ctx)
