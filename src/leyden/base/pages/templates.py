"""The templates, compiled once in a process; all output is escaped."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from leyden.domain import units
from leyden.schemas.labels import label
from leyden.services.operators import job_labels
from leyden.web import words
from leyden.web.assets import assets


@cache
def environment(*, version: str) -> Environment:
    """Return the templates with their filters and common variables."""
    made = Environment(
        loader=PackageLoader("leyden.web", "templates"),
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
    )
    made.globals.update(asset=assets().url, version=version)
    return made
