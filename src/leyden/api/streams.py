"""Responses that are sent piece by piece."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any

_Send = Callable[[dict[str, Any]], Awaitable[None]]


class Stream(ABC):
    """A response that sends itself."""

    @abstractmethod
    async def send(self, send: _Send, *, head: bool) -> None:
        """Send all of it; for HEAD without its body."""
