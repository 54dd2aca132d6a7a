"""The templates, compiled once in a process; all output is escaped."""

import shlex
from functools import cache
from typing import Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from leyden.base.pages import words
from leyden.base.pages.assets import assets
from leyden.base.pages.words import label
from leyden.base.rules import units
from leyden.base.tasks import job_labels

# Each has the templates of its own pages, in folders named as their pages are.
ROOMS: Final = (
    "leyden.base.pages",
    "leyden.events.pages",
    "leyden.people.pages",
    "leyden.nodes.pages",
    "leyden.channels.pages",
    "leyden.channels.money.pages",
    "leyden.operators.pages",
)


@cache
def environment(*, version: str) -> Environment:
    """Return the templates with their filters and common variables."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(room) for room in ROOMS]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        cache_size=-1,
    )
    made.filters.update(
        sats=words.sats,
        size=units.size,
        cores=units.cores,
        duration=words.duration,
        when=words.when,
        after=words.after,
        browser=words.browser,
        value=words.value,
        state=label,
        job=job_labels.label,
        shell=shlex.quote,  # a value in a line to paste
    )
    made.globals.update(asset=assets().url, version=version)
    return made
