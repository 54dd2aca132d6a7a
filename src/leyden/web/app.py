"""The dashboard, whole."""

from collections.abc import Iterable

from leyden.services.platform import Platform
from leyden.web.origins import Origins
from leyden.web.site import Site
from leyden.web.table import PAGES


def dashboard(platform: Platform, *, version: str, origins: Iterable[str] = ()) -> Site:
    """Give the dashboard of this installation, and say where browsers find it."""
    return Site(platform, PAGES, version=version, origins=Origins(origins))
