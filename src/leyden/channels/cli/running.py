"""Running commands against the treasury and market of `leyden up`."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from leyden.base.cli.database import on_running
from leyden.base.platform import Platform
from leyden.channels.wiring.shop import open_for_payments, shop_of
from leyden.values import replace

Result = TypeVar("Result")


def on_shop(step: Callable[[Platform], Awaitable[Result]]) -> Result:
    """Run one step with the shop as well, if one is configured."""

    async def run(platform: Platform) -> Result:
        shop = shop_of(platform)
        if shop is None:
            return await step(platform)
        async with open_for_payments(shop, listening=False):
            return await step(replace(platform, shop=shop))

    return on_running(run)
