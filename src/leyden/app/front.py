"""One listener for everybody: pages for people, the API for machines."""

from collections.abc import Awaitable, Callable
from typing import Any

Application = Callable[[Any, Any, Any], Awaitable[None]]


class Front:
    """Hands each request to whoever answers its address."""

    def __init__(
        self, *, pages: Application, is_page: Callable[[str], bool], api: Application
    ) -> None:
        self._pages, self._is_page, self._api = pages, is_page, api

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        answering = self._pages if self._is_page(scope["path"]) else self._api
        await answering(scope, receive, send)
