"""The dashboard, whole."""

from leyden.services.platform import Platform
from leyden.web.site import Site
from leyden.web.table import PAGES


def dashboard(platform: Platform, *, version: str) -> Site:
    """Give the dashboard of this installation."""
    return Site(platform, PAGES, version=version)
