"""One request of a browser: who is there, what they want, and how to answer."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment
from starlette.responses import HTMLResponse, RedirectResponse, Response

from leyden.domain.sign_in import Belonging, Right, Session, SignedIn
from leyden.errors import LeydenError, Unauthorized
from leyden.services.platform import Platform
from leyden.values import Struct
from leyden.web.closing import Closing
from leyden.web.cookies import Cookies
from leyden.web.forms import Form

SIGN_IN = "/app/sign-in"
HOME = "/app/"


class Visit(Struct, kw_only=True):
    """What a page is given."""

    platform: Platform
    templates: Environment
    closing: Closing
    cookies: Cookies
    guest: str  # the word of a visitor, for whoever is not signed in
    path: Mapping[str, str]
    url: str
    origin: str  # what addresses of this dashboard begin with, for other programs
    passkeys_at: str  # the same, if passkeys can be used there
    query: Form
    form: Form
    address: str
    browser: str
    now: datetime
    token: str  # for forms
    somebody: SignedIn | None
    half: Session | None  # signed in, but for the second factor
    place: Belonging | None  # the organization in the path

    @property
    def who(self) -> SignedIn:
        """Say who is there, on pages for people who are signed in."""
        if self.somebody is None:
            raise Unauthorized
        return self.somebody

    @property
    def here(self) -> Belonging:
        """Say in which organization, on pages of one."""
        if self.place is None:
            raise Unauthorized
        return self.place

    @property
    def organization_id(self) -> str:
        """Give the id of the organization that the page is of."""
        return self.here.organization.id

    @property
    def root(self) -> str:
        """Give what the addresses of this organization's pages begin with."""
        return f"/app/{self.organization_id}"

    def may(self, right: Right) -> bool:
        """Tell whether whoever is there may do this here."""
        return self.place is not None and self.place.may(right)

    def render(
        self,
        template: str,
        *,
        status: int = 200,
        refused: LeydenError | None = None,
        **shown: Any,
    ) -> Response:
        """Show a page; with what was refused, and for how long, where something was."""
        if refused is not None:
            status = refused.status
            shown["wrong"] = refused.message
        text = self.templates.get_template(template).render(
            **{"visit": self, "Right": Right, "wrong": "", **shown}
        )
        response = HTMLResponse(text, status_code=status)
        if refused is not None and refused.retry_after_s is not None:
            response.headers["retry-after"] = str(refused.retry_after_s)
        return response


Handler = Callable[[Visit], Awaitable[Response]]


def go(url: str) -> Response:
    """Send the browser to another page, with GET; a reload then repeats nothing."""
    return RedirectResponse(url, status_code=303)


def to_sign_in(back: str) -> Response:
    """Ask to sign in first, and come back after."""
    return go(f"{SIGN_IN}?{urlencode({'next': back})}" if back != HOME else SIGN_IN)


def ours(url: str) -> str:
    """Give an address of this dashboard back; any other one becomes its first page."""
    plain = url.isascii() and url.isprintable() and "\\" not in url
    inside = url.startswith(HOME) and not url.startswith(f"{HOME}/")
    return url if plain and inside else HOME
