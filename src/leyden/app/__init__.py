"""The composition root: settings go in, one wired installation comes out.

The only room that knows every implementation.
"""

from leyden.app.home import holder, only_one
from leyden.app.installation import VERSION, migrate, opened, running
from leyden.app.memory import collect_seldom

__all__ = [
    "VERSION",
    "collect_seldom",
    "holder",
    "migrate",
    "only_one",
    "opened",
    "running",
]
