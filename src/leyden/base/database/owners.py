"""The organization whose request writes, so that organizations take turns."""

from contextvars import ContextVar
from typing import Final

PLATFORM: Final = ""  # payments, webhooks, and other background work
OWNER: Final[ContextVar[str]] = ContextVar("owner", default=PLATFORM)
