"""A page, and a browser's visit to it: the person, and building the response."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from enum import Enum, auto
from typing import Any, Literal
from urllib.parse import urlencode

from jinja2 import Environment
from starlette.responses import HTMLResponse, RedirectResponse, Response

from leyden.base.database.stores import Stores
from leyden.base.pages.cookies import Cookies
from leyden.base.pages.forms import Form
from leyden.base.pages.open_streams import OpenStreams
from leyden.base.platform import Platform
from leyden.base.prices import Price
from leyden.base.rules.sign_in import Right, Session, SignedIn, UserMembership
from leyden.errors import LeydenError, Unauthorized
from leyden.values import Struct

SIGN_IN = "/app/sign-in"
HOME = "/app/"


class Visit(Struct, kw_only=True):
    """What a page is given."""

    platform: Platform
    templates: Environment
    streams: OpenStreams
    cookies: Cookies
    identify: Callable[[], Awaitable[SignedIn | None]]  # whose session it is by now
    guest: str  # the token of a visitor who is not signed in
    path: Mapping[str, str]
    url: str
    origin: str  # what addresses of this dashboard begin with, for other programs
    passkeys_at: str  # the same, if passkeys can be used there
    query: Form
    form: Form
    token: str  # for forms
    address: str
    browser: str
    now: datetime
    signed_in: SignedIn | None
    pending_sign_in: Session | None  # signed in, but for the second factor
    membership: UserMembership | None  # the organization in the path

    @property
    def rows(self) -> Stores:
        """The stored rows, to read."""
        return self.platform.database.reader

    @property
    def price(self) -> Price | None:
        """What a bitcoin costs, where the operator set a source of prices."""
        return self.platform.prices.last(self.now)

    @property
    def user(self) -> SignedIn:
        """The signed-in person; raise Unauthorized if there is none."""
        if self.signed_in is None:
            raise Unauthorized
        return self.signed_in

    @property
    def own_membership(self) -> UserMembership:
        """The membership in the page's organization; raise Unauthorized if none."""
        if self.membership is None:
            raise Unauthorized
        return self.membership

    @property
    def organization_id(self) -> str:
        """The id of the page's organization."""
        return self.own_membership.organization.id

    @property
    def root(self) -> str:
        """The prefix of the URLs of this organization's pages."""
        return f"/app/{self.organization_id}"

    def may(self, right: Right) -> bool:
        """Return whether the person has this right here."""
        return self.membership is not None and self.membership.may(right)

    def render(
        self,
        template: str,
        *,
        status: int = 200,
        refused: LeydenError | None = None,
        **shown: Any,
    ) -> HTMLResponse:
        """Render a page; with an error, and how long to wait, if there is one."""
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

    def ask(
        self,
        question: str,
        *,
        back: str,
        refused: LeydenError | None = None,
        **shown: Any,
    ) -> HTMLResponse:
        """Ask before what can't be undone; the question names the consequence.

        The address of an action answers GET with its question, and does it on POST.
        Without scripts the question is a page; leyden.js shows it as a dialog.
        """
        action = self.url.partition("?")[0]
        return self.render(
            f"confirm/{question}.html",
            action=action,
            back=back,
            refused=refused,
            **shown,
        )


Handler = Callable[[Visit], Awaitable[Response]]


def redirect(url: str) -> Response:
    """Redirect to another page with GET, so that a reload repeats nothing."""
    return RedirectResponse(url, status_code=303)


def to_sign_in(back: str) -> Response:
    """Redirect to the sign-in page, and back afterwards."""
    return redirect(
        f"{SIGN_IN}?{urlencode({'next': back})}" if back != HOME else SIGN_IN
    )


def local_url(url: str) -> str:
    """Return the URL if it is this dashboard's, else that of its first page."""
    plain = url.isascii() and url.isprintable() and "\\" not in url
    inside = url.startswith(HOME) and not url.startswith(f"{HOME}/")
    return url if plain and inside else HOME


class Who(Enum):
    """The audience of a page that belongs to no organization."""

    ANYONE = auto()
    PERSON = auto()  # everybody who is signed in
    OPERATOR = auto()  # operators of this installation


class Page(Struct, frozen=True):
    """A page: its method, path, handler and required right; an entry of a table."""

    method: Literal["GET", "POST"]
    path: str
    run: Handler
    needs: Right | Who
    # Its form may come from other programs: its address has a word of its own.
    from_anywhere: bool = False
