"""The dashboard application."""

from collections.abc import Iterable

from leyden.app.page_table import PAGES
from leyden.app.serving.site import Site
from leyden.base.pages.origins import Origins
from leyden.base.platform import Platform


def dashboard(platform: Platform, *, version: str, origins: Iterable[str] = ()) -> Site:
    """Build this installation's dashboard, with the origins it is served at."""
    return Site(platform, PAGES, version=version, origins=Origins(origins))
