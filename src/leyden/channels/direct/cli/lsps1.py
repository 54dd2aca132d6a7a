"""`leyden lsps1`: what is sold to everybody, and what that lacks."""

from typing import Any

import click

from leyden.base.cli.output import as_json, print_fields, print_json
from leyden.base.platform import Platform
from leyden.channels.cli.running import on_channels
from leyden.channels.direct.lsps1 import state
from leyden.channels.direct.lsps1.state import Lsps1State
from leyden.errors import SetupError
from leyden.values import asdict


@click.command()
@as_json
def lsps1(*, as_json: bool) -> None:
    """Print the LSPS1 offer, unpaid LSPS1 orders, and problems.

    \b
    leyden lsps1
    """
    found = lsps1_fields()
    if as_json:
        print_json(found)
        return
    for each in found.pop("missing"):
        print(f"{each}\n")
    print_fields(found.pop("sold") | found)


def lsps1_fields() -> dict[str, Any]:
    """Return what the command prints with --json; raise SetupError if it is off."""

    async def looked(platform: Platform) -> Lsps1State:
        channels = platform.channels
        if channels is None or channels.rules.lsps1 is None:
            raise SetupError(state.OFF)
        return await state.read(channels, channels.rules.lsps1)

    return asdict(on_channels(looked))
