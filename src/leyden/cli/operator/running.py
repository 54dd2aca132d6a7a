"""Looking at what runs: with the treasury and the market that `leyden up` wired."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

from leyden import app, logs, settings
from leyden.app.shop import open_for_payments, shop_of
from leyden.devnet import wiring
from leyden.services.platform import Platform
from leyden.values import replace

Result = TypeVar("Result")


def on_running(step: Callable[[Platform], Awaitable[Result]]) -> Result:
    """Run one step on this installation as it is run, beside it or without it."""
    logs.configure(form="text", level="warning")

    async def run() -> Result:
        given = wiring.as_running(settings.load(os.environ))
        async with app.opened(given) as platform:
            return await step(platform)

    return asyncio.run(run())


def on_shop(step: Callable[[Platform], Awaitable[Result]]) -> Result:
    """Run one step with the shop as well, where there is one."""

    async def run(platform: Platform) -> Result:
        shop = shop_of(platform)
        if shop is None:
            return await step(platform)
        async with open_for_payments(shop, listening=False):
            return await step(replace(platform, shop=shop))

    return on_running(run)
