"""`leyden jit`: just-in-time channels, what they earned, and what their sale lacks."""

import click

from leyden.base.cli.output import as_json, print_fields, print_json
from leyden.base.platform import Platform
from leyden.channels.cli.running import on_channels
from leyden.channels.direct.jit import state
from leyden.channels.direct.jit.state import JitState
from leyden.errors import SetupError
from leyden.values import asdict


@click.command()
@as_json
def jit(*, as_json: bool) -> None:
    """Print the just-in-time offer, what was held and earned, and problems.

    \b
    leyden jit
    """

    async def looked(platform: Platform) -> JitState:
        channels = platform.channels
        if channels is None or channels.purse is None or channels.rules.jit is None:
            raise SetupError(state.OFF)
        return await state.read(channels, channels.purse, channels.rules.jit)

    found = asdict(on_channels(looked))
    if as_json:
        print_json(found)
        return
    for each in found.pop("missing"):
        print(f"{each}\n")
    print_fields((found.pop("offer") or {}) | found)
