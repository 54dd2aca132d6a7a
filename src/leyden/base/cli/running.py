"""Running commands with the settings of `leyden up`, if it runs here."""

import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

from leyden.base import settings
from leyden.base.cli import database
from leyden.base.platform import Platform
from leyden.base.settings.private_chain import running_settings

Result = TypeVar("Result")


def on_running(step: Callable[[Platform], Awaitable[Result]]) -> Result:
    """Run one step with the settings of the running installation.

    A running server is not required.
    """
    return database.run(step, running_settings(settings.load(os.environ)))
