"""Looking at what runs: with the treasury and the market that `leyden up` wired."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

from leyden import app, settings
from leyden.devnet import installation
from leyden.services.platform import Platform

Result = TypeVar("Result")


def on_running(step: Callable[[Platform], Awaitable[Result]]) -> Result:
    """Run one step on this installation as it is run, beside it or without it."""

    async def run() -> Result:
        given = installation.as_running(settings.load(os.environ))
        async with app.opened(given) as platform:
            return await step(platform)

    return asyncio.run(run())
