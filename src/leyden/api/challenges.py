"""What an ACME authority looks for at a name, to see that the name is ours.

The answer is the question with the thumbprint of our account behind it. That is right
for every order we place, and for none that others place: so nothing has to be kept of
orders, and every process answers for all.
"""

import re
from typing import Final

import msgspec

from leyden.api.operations import Problem
from leyden.api.reading import Receive, Scope, Send
from leyden.api.whole import answer
from leyden.errors import MethodNotAllowed, NotFound, Refused

_TOKEN: Final = re.compile(r"/\.well-known/acme-challenge/([A-Za-z0-9_-]{16,256})")
PREFIX: Final = "/.well-known/acme-challenge/"


class Challenges:
    """Answers one address; all others are not found."""

    def __init__(self, thumbprint: str) -> None:
        self._thumbprint = thumbprint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        del receive  # nobody sends anything here
        content_type = b"text/plain"
        try:
            status, body = 200, self._answer(scope["method"], scope["path"]).encode()
        except Refused as error:
            content_type = b"application/json"
            status, body = error.status, msgspec.json.encode(Problem(error.message))
        headers = [
            (b"content-type", content_type),
            (b"x-content-type-options", b"nosniff"),
        ]
        await answer(scope, send, status, headers, body)

    def _answer(self, method: str, path: str) -> str:
        if (asked := _TOKEN.fullmatch(path)) is None:
            raise NotFound
        if method not in {"GET", "HEAD"}:
            raise MethodNotAllowed
        return f"{asked[1]}.{self._thumbprint}"
