"""One listener for the dashboard, the documentation and the API."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from leyden import __version__
from leyden.app.endpoints import OPERATIONS, OPERATOR_OPERATIONS
from leyden.app.page_table import PAGES
from leyden.app.serving.api import Api
from leyden.app.serving.public import Public
from leyden.app.serving.site import Site
from leyden.base.http.operations import Table
from leyden.base.http.proxies import Proxies
from leyden.base.pages.origins import Origins
from leyden.base.platform import Platform
from leyden.base.settings import Settings, own_names, words
from leyden.channels.direct.api.lsps1 import Lsps1OverHttp
from leyden.channels.direct.api.wrapped import WrappedOverHttp
from leyden.errors import SetupError
from leyden.manual.site import Manual, is_manual
from leyden.nodes.api.challenges import Challenges
from leyden.nodes.api.gateways import Gateways
from leyden.operators.pages.status_page import PATH, StatusPage

Application = Callable[[Any, Any, Any], Awaitable[None]]


def _is_page(path: str) -> bool:
    """Return whether the path is one of the dashboard's."""
    return path in {"/", "/app"} or path.startswith("/app/")


class Front:
    """ASGI application that routes each path to its application."""

    def __init__(
        self,
        *,
        pages: Application,
        manual: Application,
        api: Application,
        proxies: Proxies,
        status: Application | None = None,
    ) -> None:
        self._pages, self._manual, self._api = pages, manual, api
        self._status = status
        self._proxies = proxies

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle one request."""
        if self._proxies:
            self._proxies.rewrite_scope(scope)
        path = scope["path"]
        if _is_page(path):
            answering = self._pages
        elif is_manual(path):
            answering = self._manual
        elif path == PATH and self._status is not None:
            answering = self._status
        else:
            answering = self._api
        await answering(scope, receive, send)


def make_front(
    platform: Platform,
    pages: Site,
    *,
    far: Gateways | None,
    challenges: Challenges | None,
) -> Front:
    """Return the application with everything that an installation serves."""
    settings = platform.settings
    origins = own_names.origins(settings)
    api = Api(platform, (*OPERATIONS, *OPERATOR_OPERATIONS))
    public = Public(
        platform,
        api,
        version=__version__,
        gateways=far,
        challenges=challenges,
        sold=_sold(platform),
        wrapped=_wrapped(platform),
        servers=origins,
    )
    manual = Manual(Table(OPERATIONS), settings, version=__version__, origins=origins)
    return Front(
        pages=pages,
        manual=manual,
        api=public,
        proxies=proxies(settings),
        status=StatusPage(platform, origins=Origins(origins))
        if settings.status_page
        else None,
    )


def _sold(platform: Platform) -> Lsps1OverHttp | None:
    """Return the application of LSPS1, if it is enabled."""
    channels = platform.channels
    return (
        Lsps1OverHttp(channels)
        if channels is not None and channels.rules.lsps1
        else None
    )


def _wrapped(platform: Platform) -> WrappedOverHttp | None:
    """Return the application of wrapped invoices, if they are enabled."""
    channels = platform.channels
    if channels is None or not platform.wraps_invoices:
        return None
    return WrappedOverHttp(channels)


def proxies(settings: Settings) -> Proxies:
    """Return the configured proxies."""
    try:
        return Proxies(words(settings.api_proxies))
    except ValueError as error:
        raise SetupError(f"api_proxies: {error}") from None


def dashboard(platform: Platform, *, version: str, origins: Iterable[str] = ()) -> Site:
    """Build this installation's dashboard, with the origins it is served at."""
    return Site(platform, PAGES, version=version, origins=Origins(origins))
