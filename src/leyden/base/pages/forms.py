"""Forms: parsed strictly, and accepted only from our own pages."""

import hmac
import uuid
from collections.abc import Mapping
from functools import partial
from urllib.parse import parse_qsl

from leyden.base.http.parsing import PARSING
from leyden.base.http.reading import Receive, read_body
from leyden.errors import Forbidden, Malformed, NotJson

_LARGEST = 256 * 1024
_LARGE = 16 * 1024
_MAX_FIELDS = 500
_URLENCODED = "application/x-www-form-urlencoded"
TOKEN = "token"  # noqa: S105  the name of a field
_STALE = (
    "This form is out of date, or came from another site. Nothing was changed. Go "
    "back, reload the page and try again."
)


class Form:
    """The fields of a form or a query string."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._pairs = pairs

    @classmethod
    def parse(cls, raw: bytes) -> "Form":
        """Parse URL-encoded fields; raise Malformed if they are invalid."""
        try:
            pairs = parse_qsl(
                raw.decode("ascii"),
                keep_blank_values=True,
                errors="strict",
                max_num_fields=_MAX_FIELDS,
            )
        except (UnicodeDecodeError, ValueError):
            raise Malformed("the form is malformed") from None
        if any("\0" in name or "\0" in value for name, value in pairs):
            raise Malformed("the form contains an invalid character")
        return cls(pairs)

    def text(self, name: str, default: str = "") -> str:
        """Return a field, trimmed; raise Malformed if it occurs twice."""
        found = self.all_(name)
        if len(found) > 1:
            raise Malformed(f"{name}: was sent twice")
        return found[0].strip() if found else default

    def secret(self, name: str) -> str:
        """Return a field as it was typed, including spaces at its ends."""
        found = self.all_(name)
        if len(found) > 1:
            raise Malformed(f"{name}: was sent twice")
        return found[0] if found else ""

    def number(self, name: str, default: int | None = None) -> int:
        """Return a whole number; thousands separators are allowed."""
        text = self.text(name).replace(",", "").replace("\u202f", "").replace(" ", "")
        if not text and default is not None:
            return default
        if not (text.isascii() and text.isdigit() and len(text) <= 16):  # noqa: PLR2004
            raise Malformed(f"{name}: must be a whole number")
        return int(text)

    def key(self, name: str) -> uuid.UUID:
        """Return the key of a form that is done once, even if it is sent twice."""
        try:
            return uuid.UUID(self.text(name))
        except ValueError:
            raise Malformed("This form is out of date; reload the page.") from None

    def ticked(self, name: str) -> bool:
        """Return whether a checkbox is checked."""
        return bool(self.all_(name))

    def filled_in(self) -> list[tuple[str, str]]:
        """Return all fields as they were sent, without the token."""
        return [(name, value) for name, value in self._pairs if name != TOKEN]

    def all_(self, name: str) -> list[str]:
        """Return all fields of this name."""
        return [value for each, value in self._pairs if each == name]


async def read(
    receive: Receive, headers: Mapping[str, str], *, owner: str | None
) -> Form:
    """Read a form; without an owner, only a small one is accepted.

    A large form is parsed by a thread, on its owner's turn.
    """
    largest = _LARGEST if owner else _LARGE
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _URLENCODED:
        raise NotJson(f"a form is sent as {_URLENCODED}")
    raw = await read_body(receive, largest, what="form")
    parse = partial(Form.parse, raw)
    return await PARSING.run(owner, parse) if owner and len(raw) > _LARGE else parse()


def check_ours(form: Form, headers: Mapping[str, str], *, token: str) -> None:
    """Raise unless the form came from one of our pages, in this session.

    Two checks: browsers say where a form came from, and only our pages know
    the token.
    """
    if headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise Forbidden(_STALE)
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers.get("host"):
        raise Forbidden(_STALE)
    sent = form.text(TOKEN) or headers.get("x-form-token", "")
    if not hmac.compare_digest(sent.encode(), token.encode()):
        raise Forbidden(_STALE)
