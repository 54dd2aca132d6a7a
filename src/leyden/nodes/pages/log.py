"""A node's log: its last lines, by level and text, and as a file."""

import asyncio
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from starlette.responses import Response

from leyden.base.pages.visits import Visit
from leyden.nodes import views
from leyden.nodes.lnd.log import Level, matching
from leyden.nodes.pages.fleet import fleet_of, which
from leyden.nodes.pages.node import render

_SHOWN: Final = 500
_READ: Final = 20_000  # more than the end of the log that is read at all
# By the word in the address; any other means all.
LEVELS: Final = MappingProxyType(
    {
        "all": ("All levels", Level.TRC),
        "info": ("Info and above", Level.INF),
        "warning": ("Warnings and errors", Level.WRN),
        "error": ("Errors", Level.ERR),
    }
)


async def show(visit: Visit) -> Response:
    """Show the last lines of lnd's log that match the filter."""
    fleet = fleet_of(visit)
    node = await views.get(fleet, *which(visit))
    level = visit.query.text("level")
    level = level if level in LEVELS else "all"
    find = visit.query.text("find")[:100]
    lines = await fleet.node_files.log(node, _READ)
    # Beside the event loop, as they are read: 20,000 lines take 15 ms, every 5 s.
    found = await asyncio.to_thread(
        matching, lines, level=LEVELS[level][1], contains=find, limit=_SHOWN
    )
    return render(
        visit,
        "nodes/log.html",
        node,
        lines=found,
        is_empty=not lines,
        level=level,
        levels={name: label for name, (label, _) in LEVELS.items()},
        find=find,
        shown=_SHOWN,
    )


async def download(visit: Visit) -> Response:
    """Send the end of lnd's log as a file."""
    fleet = fleet_of(visit)
    node = await views.get(fleet, *which(visit))
    lines = await fleet.node_files.log(node, _READ)
    return Response(
        await asyncio.to_thread(_file, lines),
        media_type="text/plain; charset=utf-8",
        headers={"content-disposition": f'attachment; filename="{node.id}.log"'},
    )


def _file(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
