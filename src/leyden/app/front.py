"""One listener for everybody: pages for people, the API for machines."""

from collections.abc import Awaitable, Callable
from typing import Any

from leyden.api.proxies import Proxies
from leyden.app.courier import words
from leyden.errors import SetupError
from leyden.settings import Settings

Application = Callable[[Any, Any, Any], Awaitable[None]]


class Front:
    """Hands each request to whoever answers its address."""

    def __init__(
        self,
        *,
        pages: Application,
        is_page: Callable[[str], bool],
        api: Application,
        proxies: Proxies,
    ) -> None:
        self._pages, self._is_page, self._api = pages, is_page, api
        self._proxies = proxies

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        if self._proxies:
            self._proxies.seen(scope)
        answering = self._pages if self._is_page(scope["path"]) else self._api
        await answering(scope, receive, send)


def proxies(given: Settings) -> Proxies:
    """Give the proxies that the settings name."""
    try:
        return Proxies(words(given.api_proxies))
    except ValueError as error:
        raise SetupError(f"api_proxies: {error}") from None
