"""The option of commands that create webhook endpoints: in which shape events go."""

from typing import Final

import click

from leyden.schemas.subscriptions import FORMATS

format_option: Final = click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default=FORMATS[0],
    show_default=True,
    help="What URL is sent: signed JSON, or sentences for a chat.",
)
