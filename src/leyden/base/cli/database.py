"""Where most of an operator's commands are done: on the installation's database."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

from leyden.base import logs, settings
from leyden.base.opening import opened
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.base.settings.private_chain import running_settings

Result = TypeVar("Result")


def on_platform(step: Callable[[Platform], Awaitable[Result]]) -> Result:
    """Run one step on this installation's database, beside a running server or not."""
    return run(step, settings.load(os.environ))


def run(step: Callable[[Platform], Awaitable[Result]], given: Settings) -> Result:
    """Run one step on the installation of these settings."""
    logs.configure(form="text", level="warning")

    async def run_opened() -> Result:
        async with opened(given) as platform:
            return await step(platform)

    return asyncio.run(run_opened())


def on_running(step: Callable[[Platform], Awaitable[Result]]) -> Result:
    """Run one step with the settings of the running installation.

    A running server is not required.
    """
    return run(step, running_settings(settings.load(os.environ)))
