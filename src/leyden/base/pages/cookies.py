"""Cookies: for sessions, visitors without one, and known browsers.

Over TLS their names begin with `__Host-`, which neither another subdomain
nor a plain-text page can set. On a laptop there is no TLS, and cookies
ignore the port, so the port is in the name: two installations do not sign
out each other's users.
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
    """Parse the cookies that can be ours; of two with one name, the last."""
    pairs = (each.partition("=") for each in header.split(";"))
    return {
        name.strip(): value.strip()
        for name, _, value in pairs
        if _WORD.fullmatch(value.strip())
    }


class Cookies(Struct, frozen=True, kw_only=True):
    """The cookies of a request, and methods to set them in a response."""

    found: Mapping[str, str]
    is_secure: bool
    port: str

    @classmethod
    def of(cls, headers: Mapping[str, str], *, is_secure: bool) -> "Cookies":
        """Parse the request's cookies; malformed ones count as absent."""
        _, _, port = headers.get("host", "").rpartition(":")
        return cls(
            found=_read(headers.get("cookie", "")),
            is_secure=is_secure,
            port=port if port.isdecimal() else "80",
        )

    @property
    def session(self) -> str:
        """The token of a session, or empty."""
        return self.found.get(self._name("session"), "")

    @property
    def guest(self) -> str:
        """The token of a visitor who is not signed in, or empty."""
        return self.found.get(self._name("guest"), "")

    @property
    def browser(self) -> str:
        """The token of a browser in which a person has signed in, or empty."""
        return self.found.get(self._name("browser"), "")

    @property
    def reset(self) -> str:
        """The token of a browser in which a new password was asked for, or empty."""
        return self.found.get(self._name("reset"), "")

    def set_reset(self, response: Response, word: str, *, lives_s: int) -> None:
        """Set the cookie of a browser in which a new password was asked for."""
        self._set(response, "reset", word, lives_s)

    def set_browser(self, response: Response, word: str) -> None:
        """Set the cookie that marks a browser in which a person has signed in."""
        self._set(response, "browser", word, _KNOWN_FOR_S)

    def begin_session(self, response: Response, word: str, *, lives_s: int) -> None:
        """Set the session cookie."""
        self._set(response, "session", word, lives_s)

    def end_session(self, response: Response) -> None:
        """Delete the session cookie."""
        self._set(response, "session", "", 0)

    def set_guest(self, response: Response, word: str) -> None:
        """Set the visitor cookie, which lasts until the browser is closed."""
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
