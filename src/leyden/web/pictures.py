"""QR codes for pages, drawn beside the event loop: 2,000 characters take 0.1 s."""

from typing import Final

import segno
from markupsafe import Markup

from leyden.services.fair_pool import UPLOADS
from leyden.web.visits import Visit

MOST_CHARACTERS: Final = 2_000  # more than that no camera reads from a screen
_KEPT: Final = 200

_drawn: dict[str, Markup] = {}


async def qr(visit: Visit, text: str) -> Markup:
    """Return a QR code to stand in a page; nothing where the text is too long for one.

    It is drawn once and kept for a while: pages are loaded again and again.
    """
    if not text or len(text) > MOST_CHARACTERS:
        return Markup()
    if (found := _drawn.get(text)) is None:
        owner = visit.somebody.person.id if visit.somebody else ""
        found = await UPLOADS.run(owner, lambda: draw(text))
        if len(_drawn) >= _KEPT:
            _drawn.pop(next(iter(_drawn)), None)
        _drawn[text] = found
    return found


async def secret_qr(visit: Visit, text: str) -> Markup:
    """Return the same of a secret, which is kept nowhere."""
    return await UPLOADS.run(visit.who.person.id, lambda: draw(text))


def draw(text: str) -> Markup:
    """Draw it, at once."""
    drawn = segno.make(text, error="l", micro=False).svg_inline(
        scale=1, border=2, omitsize=True, svgclass="qr", lineclass=None
    )
    return Markup(drawn)  # noqa: S704  segno wrote it; the text is in its squares
