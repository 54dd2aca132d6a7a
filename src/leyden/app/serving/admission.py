"""Who asks for a page, and whether it is there for them."""

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response

from leyden.base.pages.visits import HOME, Page, Visit, Who, local_url, to_sign_in
from leyden.base.platform import Platform
from leyden.base.rules.sign_in import Right, SignedIn
from leyden.errors import Forbidden, NotFound
from leyden.people import sign_in


async def identify(platform: Platform, session: str) -> SignedIn | None:
    """Return the person signed in with this cookie; None if not valid."""
    if not session:
        return None
    return await sign_in.find(platform, session, now=platform.clock())


async def recognise(visit: Visit) -> None:
    """Identify the person and role; the second time, check them again."""
    visit.now = visit.platform.clock()
    found = await visit.identify()
    is_complete = found is not None and found.session.is_complete
    visit.signed_in = found if is_complete else None
    visit.pending_sign_in = None if found is None or is_complete else found.session
    visit.token = sign_in.form_token(
        visit.platform, visit.cookies.session if is_complete else visit.guest
    )
    wanted = visit.path.get("organization_id")
    visit.membership = next(
        (
            each
            for each in (visit.signed_in.memberships if visit.signed_in else ())
            if each.organization.id == wanted
        ),
        None,
    )


def sign_in_first(visit: Visit, headers: Headers, *, method: str) -> Response:
    """Return the way to the sign-in page, and from there back to here."""
    if "text/event-stream" in headers.get("accept", ""):
        return Response(status_code=204)  # which ends it for good
    # A form is not sent again by itself: its sender returns to the form's page.
    response = to_sign_in(visit.url if method == "GET" else _came_from(headers))
    if "hx-request" in headers:  # a part of a page: let the whole page go there
        return Response(headers={"hx-redirect": response.headers["location"]})
    return response


def _came_from(headers: Headers) -> str:
    """Return the page of ours that a form came from, if the browser says so."""
    try:
        page = urlsplit(headers.get("referer", ""))
    except ValueError:  # a host in brackets that is no address
        return HOME
    if page.netloc != headers.get("host"):
        return HOME
    return local_url(f"{page.path}?{page.query}" if page.query else page.path)


def is_stranger(page: Page, visit: Visit) -> bool:
    """Return whether nobody is signed in where somebody has to be."""
    return page.needs is not Who.ANYONE and visit.signed_in is None


def check_may(page: Page, visit: Visit) -> None:
    """Raise NotFound for others' pages, and Forbidden for a missing right."""
    if page.needs is Who.OPERATOR and not visit.user.is_operator:
        raise NotFound
    if not isinstance(page.needs, Right):
        return
    if visit.membership is None:
        raise NotFound
    if not visit.may(page.needs):
        raise Forbidden(
            f"Your role, {visit.membership.role}, can view this but not change it. Ask "
            "an owner or admin for another role."
        )
