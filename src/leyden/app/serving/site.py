"""Serving all pages, all in the same way.

1. Identify the person by the session cookie, if the session is valid.
2. Check the right: an organization's pages do not exist for others.
3. Accept a form only from our own pages.
4. Run the page; an error is rendered as a page as well.
5. Add the security headers to every response.
"""

import logging
import secrets
import time
from collections.abc import Iterable, MutableMapping
from functools import partial
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.routing import Route, Router

from leyden.app.serving.admission import (
    check_may,
    identify,
    is_stranger,
    recognise,
    sign_in_first,
)
from leyden.base import request_ids
from leyden.base.http import turns
from leyden.base.http.limits import Requests
from leyden.base.http.reading import ClientLeft, read_body
from leyden.base.pages import forms
from leyden.base.pages.assets import assets
from leyden.base.pages.cookies import Cookies
from leyden.base.pages.forms import Form
from leyden.base.pages.open_streams import OpenStreams
from leyden.base.pages.origins import Origins, security_headers
from leyden.base.pages.templates import environment
from leyden.base.pages.visits import Page, Visit
from leyden.base.platform import Platform
from leyden.base.rules.addresses import rate_limit_key
from leyden.errors import LeydenError, NotFound, Stale
from leyden.people import sign_in

Scope = MutableMapping[str, Any]

_TRIES = 5  # someone else moved it first: looking again settles it
_OURS_TO_MEND = 500
_FILES = "/app/static/"
_LONGEST = 10  # no page of ours has so long an address
_UNREAD = 16 * 1024
log = logging.getLogger(__name__)


class Site:
    """ASGI application for every URL of the dashboard."""

    def __init__(
        self,
        platform: Platform,
        pages: Iterable[Page],
        *,
        version: str,
        origins: Origins,
    ) -> None:
        self._platform = platform
        self._origins = origins
        self._requests = Requests(platform.settings.requests_per_minute)
        self.streams = OpenStreams()
        self._assets = assets()
        self._templates = environment(version=version)
        self._protection = security_headers(platform.settings)
        # An address is held against those of its length alone: a third of all.
        self._routers: dict[int, Router] = {}
        for page in pages:
            self._router(page.path).routes.append(_Answering(page, self).route)
        self._files = Router(redirect_slashes=False, default=self._nowhere)
        address = f"{_FILES}{{edition}}/{{path:path}}"
        self._files.routes.append(Route(address, self._asset))

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Handle one request."""
        host = Headers(scope=scope).get("host", "")
        protection = {**self._protection, **self._origins.protection(host)}

        async def protected(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                for name, value in protection.items():
                    headers.setdefault(name, value)
            await send(message)

        if b"%" in scope["raw_path"]:  # no address of ours needs it
            await self._nowhere(scope, receive, protected)
        else:
            path = scope["path"]
            router = self._files if path.startswith(_FILES) else self._router(path)
            await router(scope, receive, protected)

    def _router(self, path: str) -> Router:
        length = min(path.count("/"), _LONGEST)
        if length not in self._routers:
            router = Router(redirect_slashes=False, default=self._nowhere)
            self._routers[length] = router
        return self._routers[length]

    async def answer(self, page: Page, scope: Scope, receive: Any, send: Any) -> None:
        """Serve this page, or show why not."""
        visit = self._visit(scope)
        try:
            response = await self._made(page, visit, scope, receive)
        except ClientLeft:
            return
        except LeydenError as error:
            response = self._refusal(visit, error)
        except Exception:
            log.exception("a page failed", extra={"path": scope["path"]})
            response = self._refusal(visit, LeydenError())
        if visit.signed_in is None and not visit.cookies.guest:
            visit.cookies.set_guest(response, visit.guest)
        await response(scope, receive, send)

    def _visit(self, scope: Scope) -> Visit:
        """Build a visit before the person is identified."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        origin = self._origins.of(host, scheme=scope["scheme"])
        cookies = Cookies.of(headers, is_secure=origin.startswith("https:"))
        guest = cookies.guest or secrets.token_urlsafe(16)
        query = scope["query_string"].decode("latin-1")
        return Visit(
            platform=self._platform,
            templates=self._templates,
            streams=self.streams,
            cookies=cookies,
            identify=partial(identify, self._platform, cookies.session),
            path=scope.get("path_params", {}),
            guest=guest,
            url=f"{scope['path']}?{query}" if query else scope["path"],
            origin=origin,
            passkeys_at=self._origins.find(host),
            query=Form([]),
            form=Form([]),
            address=scope["client"][0] if scope.get("client") else "",
            browser=headers.get("user-agent", ""),
            now=self._platform.clock(),
            token=sign_in.form_token(self._platform, guest),
            signed_in=None,
            pending_sign_in=None,
            membership=None,
        )

    async def _made(
        self, page: Page, visit: Visit, scope: Scope, receive: Any
    ) -> Response:
        """Identify the visitor, and make the page in its organization's turn."""
        await recognise(visit)
        self._count(visit)
        if visit.membership is not None:
            await turns.begin(visit.membership.organization.id)
        return await self._response(page, visit, scope, receive)

    def _count(self, visit: Visit) -> None:
        """Count a request: by person if signed in, else by address.

        People are counted together by the organization whose pages they ask for.
        """
        address = f"from {rate_limit_key(visit.address)}"
        who = visit.signed_in.person.id if visit.signed_in else address
        together = visit.membership.organization.id if visit.membership else who
        self._requests.take(who, together, at_s=time.monotonic())

    async def _response(
        self, page: Page, visit: Visit, scope: Scope, receive: Any
    ) -> Response:
        headers = Headers(scope=scope)
        if is_stranger(page, visit):
            return sign_in_first(visit, headers, method=scope["method"])
        check_may(page, visit)
        visit.query = Form.parse(scope["query_string"])
        if scope["method"] == "POST":
            owner = visit.signed_in.person.id if visit.signed_in else None
            if page.from_anywhere:  # what is sent, in whichever form, says nothing
                await read_body(receive, _UNREAD, what="form")
            else:
                visit.form = await forms.read(receive, headers, owner=owner)
            # Reading may have taken its time: who was let in may have been put out.
            await recognise(visit)
            if is_stranger(page, visit):
                return sign_in_first(visit, headers, method=scope["method"])
            check_may(page, visit)
            if not page.from_anywhere:
                forms.check_ours(visit.form, headers, token=visit.token)
        for _ in range(_TRIES - 1):
            try:
                return await page.run(visit)
            except Stale:
                # What was moved may be their own rights, or their session.
                await recognise(visit)
                if is_stranger(page, visit):
                    return sign_in_first(visit, headers, method=scope["method"])
                check_may(page, visit)
        return await page.run(visit)

    def _refusal(self, visit: Visit, error: LeydenError) -> Response:
        status, message = error.status, error.message
        if status == _OURS_TO_MEND:
            log.error(
                "a page failed",
                extra={"path": visit.url.partition("?")[0], "why": message},
            )
            message = "Something went wrong on our side. The error has been logged."
        response = visit.render(
            "error.html",
            status=status,
            code=status,
            message=message,
            request_id=request_ids.current(),
        )
        response.headers["error-code"] = error.error_code
        if error.retry_after_s is not None:
            response.headers["retry-after"] = str(error.retry_after_s)
        return response

    async def _nowhere(self, scope: Scope, receive: Any, send: Any) -> None:
        visit = self._visit({**scope, "path_params": {}})
        why: LeydenError = NotFound()
        try:
            await recognise(visit)
        except LeydenError as error:
            why = error
        await self._refusal(visit, why)(scope, receive, send)

    async def _asset(self, request: Any) -> Response:
        packed = "gzip" in request.headers.get("accept-encoding", "")
        try:
            return self._assets.answer(**request.path_params, packed=packed)
        except NotFound:
            return Response("not found", status_code=404, media_type="text/plain")


class _Answering:
    """A page, as the router needs it."""

    def __init__(self, page: Page, site: Site) -> None:
        self._page, self._site = page, site
        self.route = Route(page.path, self, methods=[page.method])

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        await self._site.answer(self._page, scope, receive, send)
