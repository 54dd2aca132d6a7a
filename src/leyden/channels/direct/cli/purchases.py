"""`leyden purchases`: channels bought from other LSPs, and what that lacks."""

from typing import Any

import click

from leyden.base.cli.output import as_json, print_fields, print_json
from leyden.base.platform import Platform
from leyden.channels.cli.running import on_channels
from leyden.channels.direct.buying import state
from leyden.channels.direct.buying.state import BuyingState
from leyden.errors import SetupError
from leyden.values import asdict


@click.command()
@as_json
def purchases(*, as_json: bool) -> None:
    """Print what was bought from other LSPs, its cost, the budget, and problems.

    \b
    leyden purchases
    """
    found = purchases_fields()
    if as_json:
        print_json(found)
        return
    for each in found.pop("missing"):
        print(f"{each}\n")
    by_status = found.pop("purchases")
    print_fields(found.pop("lsps") | found)
    for status, each in by_status.items():
        print(f"\n{status}:")
        print_fields(each)


def purchases_fields() -> dict[str, Any]:
    """Return what the command prints with --json; raise SetupError if it is off."""

    async def looked(platform: Platform) -> BuyingState:
        channels = platform.channels
        if channels is None or not state.is_on(channels):
            raise SetupError(state.OFF)
        return await state.read(channels)

    return asdict(on_channels(looked))
