"""Running commands against the treasury and market of `leyden up`."""

import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

from leyden import settings
from leyden.app.shop import open_for_payments, shop_of
from leyden.cli.operator import database
from leyden.services.platform import Platform
from leyden.settings.private_chain import running_settings
from leyden.values import replace

Result = TypeVar("Result")


def on_running(step: Callable[[Platform], Awaitable[Result]]) -> Result:
    """Run one step with the settings of the running installation.

    A running server is not required.
    """
    return database.run(step, running_settings(settings.load(os.environ)))


def on_shop(step: Callable[[Platform], Awaitable[Result]]) -> Result:
    """Run one step with the shop as well, if one is configured."""

    async def run(platform: Platform) -> Result:
        shop = shop_of(platform)
        if shop is None:
            return await step(platform)
        async with open_for_payments(shop, listening=False):
            return await step(replace(platform, shop=shop))

    return on_running(run)
