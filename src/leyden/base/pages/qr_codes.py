"""QR codes, as SVG, drawn in a thread: 2,000 characters take 0.1 s of processor."""

from functools import partial
from typing import Final

import segno
from markupsafe import Markup

from leyden.base.http.parsing import PARSING
from leyden.base.pages.visits import Visit

_MAX_CHARACTERS: Final = 2_000  # more than that no camera reads from a screen
_CACHE_SIZE: Final = 200

_drawn: dict[str, Markup] = {}


def draw(text: str) -> Markup:
    """Draw a QR code."""
    drawn = segno.make(text, error="l", micro=False).svg_inline(
        scale=1, border=2, omitsize=True, svgclass="qr", lineclass=None
    )
    return Markup(drawn)  # noqa: S704  segno wrote it; the text is in its squares


async def qr(visit: Visit, text: str) -> Markup:
    """Return a QR code for a page; empty if the text is too long for one.

    The code is drawn once and cached for a while, since pages are reloaded
    often.
    """
    if not text or len(text) > _MAX_CHARACTERS:
        return Markup()
    if (found := _drawn.get(text)) is None:
        owner = visit.signed_in.person.id if visit.signed_in else ""
        found = await PARSING.run(owner, partial(draw, text))
        if len(_drawn) >= _CACHE_SIZE:
            _drawn.pop(next(iter(_drawn)), None)
        _drawn[text] = found
    return found


async def secret_qr(visit: Visit, text: str) -> Markup:
    """Return the QR code of a secret, which is not cached."""
    return await PARSING.run(visit.user.person.id, partial(draw, text))
