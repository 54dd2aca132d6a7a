"""The templates, compiled once; whatever they show is escaped."""

from functools import partial
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from leyden.web import words
from leyden.web.assets import Assets


def environment(assets: Assets, **constants: Any) -> Environment:
    """Give the templates with their filters, and what all of them may name."""
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
        size=words.size,
        duration=words.duration,
        when=words.when,
        after=words.after,
        browser=words.browser,
        state=words.state,
    )
    made.globals.update(asset=partial(assets.url), **constants)
    return made
