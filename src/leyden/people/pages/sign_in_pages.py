"""The first page, signing in, the second factor, signing out."""

from urllib.parse import urlencode

from starlette.responses import Response
from webauthn.helpers import bytes_to_base64url

from leyden.base.pages.visits import SIGN_IN, Visit, local_url, redirect
from leyden.base.rules.sign_in import Session
from leyden.errors import Refused, TooMany, Unauthorized
from leyden.people import passkeys, sign_in

_RESET = "Your password was changed. Sign in with your new password."
SECOND_FACTOR = "/app/second-factor"


async def first(visit: Visit) -> Response:
    """Redirect to the first organization's nodes, or explain the next step."""
    if visit.signed_in is None:
        return redirect(SIGN_IN)
    if visit.user.memberships:
        return redirect(f"/app/{visit.user.memberships[0].organization.id}/nodes")
    return visit.render("nowhere.html")


async def ask(visit: Visit) -> Response:
    """Show the sign-in form."""
    if visit.signed_in is not None:
        return redirect(local_url(visit.query.text("next")))
    # A browser forgets its session when it signs out: this one's ended otherwise.
    has_ended = bool(visit.cookies.session) and visit.pending_sign_in is None
    return _form(visit, next_=visit.query.text("next"), has_ended=has_ended)


async def enter(visit: Visit) -> Response:
    """Sign in, or show an error that does not reveal which part was wrong."""
    email, next_ = visit.form.text("email"), visit.form.text("next")
    try:
        session, cookie = await sign_in.sign_in(
            visit.platform,
            email,
            visit.form.secret("password"),
            address=visit.address,
            browser=visit.browser,
            known=visit.cookies.browser,
            now=visit.now,
        )
    except (Unauthorized, TooMany) as error:
        return _form(visit, email=email, next_=next_, refused=error)
    if session.is_complete:
        return await begun(visit, session, cookie, then=next_)
    response = redirect(f"{SECOND_FACTOR}?{urlencode({'next': next_})}")
    _keep(visit, response, session, cookie)
    return response


async def enter_by_passkey(visit: Visit) -> Response:
    """Sign in with a passkey."""
    next_ = visit.form.text("next")
    try:
        session, cookie = await passkeys.enter(
            visit.platform,
            visit.form.text("credential"),
            word=visit.guest,
            relying_party=passkeys.RelyingParty(origin=visit.passkeys_at),
            address=visit.address,
            browser=visit.browser,
            known=visit.cookies.browser,
            now=visit.now,
        )
    except Unauthorized as error:
        return _form(visit, next_=next_, refused=error)
    return await begun(visit, session, cookie, then=next_)


async def ask_code(visit: Visit) -> Response:
    """Show the form for the authenticator code."""
    if visit.pending_sign_in is None:
        return redirect(SIGN_IN)
    return _code_asked(visit, next_=visit.query.text("next"))


async def enter_code(visit: Visit) -> Response:
    """Complete the session, or show that the code was wrong."""
    if visit.pending_sign_in is None:
        return redirect(SIGN_IN)
    next_ = visit.form.text("next")
    try:
        session, cookie = await sign_in.second_factor(
            visit.platform,
            visit.pending_sign_in,
            visit.form.text("code"),
            known=visit.cookies.browser,
            now=visit.now,
        )
    except (Unauthorized, TooMany) as error:
        return _code_asked(visit, next_=next_, refused=error)
    return await begun(visit, session, cookie, then=next_)


async def begun(visit: Visit, session: Session, cookie: str, *, then: str) -> Response:
    """Set the cookies of a whole session, and of a known browser."""
    person = await visit.platform.database.reader.people.get(session.user_id)
    response = redirect(local_url(then))
    _keep(visit, response, session, cookie)
    visit.cookies.set_browser(
        response, sign_in.known_browser(visit.platform, person.email)
    )
    return response


def _keep(visit: Visit, response: Response, session: Session, cookie: str) -> None:
    lives_s = int((session.expires - visit.now).total_seconds())
    visit.cookies.begin_session(response, cookie, lives_s=lives_s)


async def leave(visit: Visit) -> Response:
    """End this session."""
    await sign_in.sign_out(visit.platform, visit.user.session)
    response = redirect(SIGN_IN)
    visit.cookies.end_session(response)
    return response


def _form(
    visit: Visit,
    *,
    next_: str,
    email: str = "",
    has_ended: bool = False,
    refused: Refused | None = None,
) -> Response:
    return visit.render(
        "sign_in.html",
        email=email,
        next=next_,
        has_ended=has_ended,
        refused=refused,
        done=_RESET if visit.query.text("done") == "reset" else "",
        challenge=bytes_to_base64url(
            passkeys.challenge(visit.platform, visit.guest, now=visit.now)
        ),
        rp=passkeys.RelyingParty(origin=visit.passkeys_at).name,
    )


def _code_asked(
    visit: Visit, *, next_: str, refused: Refused | None = None
) -> Response:
    return visit.render("second_factor.html", next=next_, refused=refused)
