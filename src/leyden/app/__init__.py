"""The composition root: settings go in, one wired installation comes out.

The only room that knows every implementation.
"""

from leyden.app.home import holder, only_one
from leyden.app.installation import migrate, opened, running

__all__ = [
    "holder",
    "migrate",
    "only_one",
    "opened",
    "running",
]
