"""QR codes for pages, drawn in a thread: 2,000 characters take 0.1 s."""

from functools import partial
from typing import Final

from markupsafe import Markup

from leyden.base.http.parsing import PARSING
from leyden.base.pages.qr_codes import draw
from leyden.base.pages.visits import Visit

MOST_CHARACTERS: Final = 2_000  # more than that no camera reads from a screen
_KEPT: Final = 200

_drawn: dict[str, Markup] = {}


async def qr(visit: Visit, text: str) -> Markup:
    """Return a QR code for a page; empty if the text is too long for one.

    The code is drawn once and cached for a while, since pages are reloaded
    often.
    """
    if not text or len(text) > MOST_CHARACTERS:
        return Markup()
    if (found := _drawn.get(text)) is None:
        owner = visit.somebody.person.id if visit.somebody else ""
        found = await PARSING.run(owner, partial(draw, text))
        if len(_drawn) >= _KEPT:
            _drawn.pop(next(iter(_drawn)), None)
        _drawn[text] = found
    return found


async def secret_qr(visit: Visit, text: str) -> Markup:
    """Return the QR code of a secret, which is not cached."""
    return await PARSING.run(visit.who.person.id, partial(draw, text))
