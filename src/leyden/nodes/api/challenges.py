"""Responses to ACME HTTP-01 challenges for our names.

The response is the token followed by our account's thumbprint. That is
correct for every order we place and for none that others place, so no order
state is stored and every process can respond to all challenges.
"""

import re
from typing import Final

from leyden.base.http import problems
from leyden.base.http.reading import Receive, Scope, Send
from leyden.base.http.responses import answer
from leyden.errors import MethodNotAllowed, NotFound, Refused

_TOKEN: Final = re.compile(r"/\.well-known/acme-challenge/([A-Za-z0-9_-]{16,256})")
PREFIX: Final = "/.well-known/acme-challenge/"


class Challenges:
    """ASGI application for ACME challenges; other paths are 404."""

    def __init__(self, thumbprint: str) -> None:
        self._thumbprint = thumbprint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        del receive  # nobody sends anything here
        headers = [(b"content-type", b"text/plain")]
        try:
            status, body = 200, self._answer(scope["method"], scope["path"]).encode()
        except Refused as error:
            status, body = error.status, problems.body(error)
            headers = problems.headers(error)
        headers.append((b"x-content-type-options", b"nosniff"))
        await answer(scope, send, status, headers, body)

    def _answer(self, method: str, path: str) -> str:
        if (match := _TOKEN.fullmatch(path)) is None:
            raise NotFound
        if method not in {"GET", "HEAD"}:
            raise MethodNotAllowed
        return f"{match[1]}.{self._thumbprint}"
