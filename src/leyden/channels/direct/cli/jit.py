"""`leyden jit`: just-in-time channels, what they earned, and what their sale lacks."""

from typing import Any

import click

from leyden.base.cli.output import as_json, print_fields, print_json, print_list
from leyden.base.platform import Platform
from leyden.base.rules.times import to_iso
from leyden.channels.cli.running import on_channels
from leyden.channels.direct.jit import state
from leyden.channels.direct.jit.state import JitState
from leyden.channels.direct.rules.jit import JitOrder
from leyden.errors import SetupError
from leyden.values import asdict


@click.command()
@click.option("--unpaid", is_flag=True, help="List channels that were not paid for.")
@as_json
def jit(*, unpaid: bool, as_json: bool) -> None:
    """Print the just-in-time offer, what was held and earned, and problems.

    The platform never closes a channel. --unpaid lists those that you may close.

    \b
    leyden jit
    leyden jit --unpaid
    """
    if unpaid:
        print_list(
            "channels",
            [_shown(each) for each in on_channels(_unpaid)],
            as_json=as_json,
            empty="no channel was opened for nothing",
        )
        return
    found = jit_fields()
    if as_json:
        print_json(found)
        return
    for each in found.pop("missing"):
        print(f"{each}\n")
    print_fields((found.pop("offer") or {}) | found)


def jit_fields() -> dict[str, Any]:
    """Return what the command prints with --json; raise SetupError if it is off."""

    async def looked(platform: Platform) -> JitState:
        channels = platform.channels
        if channels is None or channels.purse is None or channels.rules.jit is None:
            raise SetupError(state.OFF)
        return await state.read(channels, channels.purse, channels.rules.jit)

    return asdict(on_channels(looked))


async def _unpaid(platform: Platform) -> list[JitOrder]:
    return await platform.database.reader.jit_orders.unpaid()


def _shown(order: JitOrder) -> dict[str, object]:
    return {
        "order_id": order.id,
        "peer": order.peer,
        "channel_point": order.channel_point,
        "capacity": order.capacity,
        "since": to_iso(order.held_at),
    }
