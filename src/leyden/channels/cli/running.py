"""Running commands against the treasury and market of `leyden up`."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from leyden.base.cli.database import on_running
from leyden.base.platform import Platform
from leyden.channels.wiring.channels import make_channels, receiving_payments
from leyden.values import replace

Result = TypeVar("Result")


def on_channels(step: Callable[[Platform], Awaitable[Result]]) -> Result:
    """Run one step with channel sales as well, if they are configured."""

    async def run(platform: Platform) -> Result:
        channels = make_channels(platform)
        if channels is None:
            return await step(platform)
        async with receiving_payments(channels, listening=False):
            return await step(replace(platform, channels=channels))

    return on_running(run)
