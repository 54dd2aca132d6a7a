"""The cookies: for a session, a visitor who has none yet, a browser that is known.

Over TLS their names begin with `__Host-`, which no neighbour and no plain-text page can
set. On a laptop there is no TLS, and cookies do not tell ports apart, so there the port
is in the name: two installations do not sign each other's people out.
"""

import re
from collections.abc import Mapping

from starlette.responses import Response

from leyden.values import Struct

_KNOWN_FOR_S = 180 * 86_400
# What we set is made of these; the standard library's reader takes 0.25 s of processor
# for 16 KiB of backslashes in quotes, from anybody.
_WORD = re.compile(r"[A-Za-z0-9_.-]{1,128}")


def _read(header: str) -> dict[str, str]:
    """Read the cookies that can be ours; of two with one name, the last."""
    pairs = (each.partition("=") for each in header.split(";"))
    return {
        name.strip(): value.strip()
        for name, _, value in pairs
        if _WORD.fullmatch(value.strip())
    }


class Cookies(Struct, frozen=True, kw_only=True):
    """The cookies of one request, and how to answer with others."""

    found: Mapping[str, str]
    is_secure: bool
    port: str

    @classmethod
    def of(cls, headers: Mapping[str, str], *, is_secure: bool) -> "Cookies":
        """Read what the browser sent; what is not well formed counts as absent."""
        _, _, port = headers.get("host", "").rpartition(":")
        return cls(
            found=_read(headers.get("cookie", "")),
            is_secure=is_secure,
            port=port if port.isdecimal() else "80",
        )

    @property
    def session(self) -> str:
        """The word of a session; empty is none."""
        return self.found.get(self._name("session"), "")

    @property
    def guest(self) -> str:
        """The word of a visitor who is not signed in; empty is none."""
        return self.found.get(self._name("guest"), "")

    @property
    def browser(self) -> str:
        """The word of a browser that somebody has signed in with; empty is none."""
        return self.found.get(self._name("browser"), "")

    def know(self, response: Response, word: str) -> None:
        """Let the browser be known the next time somebody signs in."""
        self._set(response, "browser", word, _KNOWN_FOR_S)

    def begin_session(self, response: Response, word: str, *, lives_s: int) -> None:
        """Let the browser keep a session."""
        self._set(response, "session", word, lives_s)

    def end_session(self, response: Response) -> None:
        """Let the browser forget its session."""
        self._set(response, "session", "", 0)

    def welcome(self, response: Response, word: str) -> None:
        """Let the browser keep a visitor's word until it is closed."""
        self._set(response, "guest", word, None)

    def _set(
        self, response: Response, name: str, word: str, lives_s: int | None
    ) -> None:
        response.set_cookie(
            self._name(name),
            word,
            max_age=lives_s,
            path="/",
            secure=self.is_secure,
            httponly=True,
            samesite="lax",
        )

    def _name(self, name: str) -> str:
        if self.is_secure:
            return f"__Host-leyden-{name}"
        return f"leyden-{name}-{self.port}"
