"""Whose request writes, so that writers of organizations take turns."""

from contextvars import ContextVar
from typing import Final

PLATFORM: Final = ""  # payments, webhooks, and whatever else runs by itself
OWNER: Final[ContextVar[str]] = ContextVar("owner", default=PLATFORM)
