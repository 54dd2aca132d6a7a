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
    help="Body to send: signed JSON, or a sentence for a chat.",
)
