"""A forgotten password: asking for a link, and what the link opens."""

from starlette.responses import Response

from leyden.base.pages.visits import SIGN_IN, Visit, redirect
from leyden.errors import Conflict, Forbidden, NotFound, Refused
from leyden.people import notices, resets


async def ask(visit: Visit) -> Response:
    """Ask for the address of an account."""
    return _form(visit)


async def send(visit: Visit) -> Response:
    """Send a link; respond alike whether or not anybody has the address."""
    email = visit.form.text("email")
    try:
        browser = await resets.ask(
            visit.platform,
            email,
            address=visit.address,
            browser=visit.cookies.reset,
            now=visit.now,
        )
    except Refused as error:
        return _form(visit, email=email, refused=error)
    response = _form(visit, email=email, is_sent=True)
    lives_s = int(resets.LIVES.total_seconds())
    visit.cookies.set_reset(response, browser, lives_s=lives_s)
    return response


async def open_(visit: Visit) -> Response:
    """Ask for a new password, if the link works here."""
    word = visit.query.text("word")
    return await _opened(visit, word)


async def reset(visit: Visit) -> Response:
    """Set the new password; the person then signs in with it."""
    word = visit.form.text("word")
    try:
        await resets.reset(
            visit.platform,
            word,
            visit.form.secret("password"),
            browser=visit.cookies.reset,
            address=visit.address,
            now=visit.now,
        )
    except Refused as error:
        return await _opened(visit, word, refused=error)
    response = redirect(f"{SIGN_IN}?done=reset")
    visit.cookies.end_session(response)
    visit.cookies.set_reset(response, "", lives_s=0)
    return response


async def _opened(visit: Visit, word: str, refused: Refused | None = None) -> Response:
    try:
        link = await resets.find(
            visit.platform, word, browser=visit.cookies.reset, now=visit.now
        )
    except (NotFound, Forbidden) as error:
        return _form(visit, refused=error)
    return visit.render(
        "passwords/reset.html", word=word, email=link.address, refused=refused
    )


def _form(
    visit: Visit,
    *,
    email: str = "",
    is_sent: bool = False,
    refused: Refused | None = None,
) -> Response:
    if refused is None and not notices.is_on(visit.platform):
        refused = Conflict(resets.NO_EMAILS)
    return visit.render(
        "passwords/forgot.html",
        email=email,
        is_sent=is_sent,
        is_on=notices.is_on(visit.platform),
        refused=refused,
    )
