"""The dashboard application."""

from collections.abc import Iterable

from leyden.services.platform import Platform
from leyden.web.origins import Origins
from leyden.web.site import Site
from leyden.web.table import PAGES


def dashboard(platform: Platform, *, version: str, origins: Iterable[str] = ()) -> Site:
    """Build this installation's dashboard, with the origins it is served at."""
    return Site(platform, PAGES, version=version, origins=Origins(origins))
