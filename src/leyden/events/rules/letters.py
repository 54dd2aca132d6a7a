"""Emails to one person: about the account, and invitations."""

from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlencode

from leyden.events.rules.emails import one_line
from leyden.values import Struct, hiding

_IGNORE: Final = "If you did not request this, you can ignore this email."
_NOT_YOU: Final = (
    "If this was not you, reset your password at {origin}/app/forgot-password at once, "
    "and tell the operator."
)
Facts = Mapping[str, str]


class Letter(Struct, frozen=True, kw_only=True):
    """An email's kind, and the values for its text."""

    kind: str
    facts: Facts

    __repr__ = hiding("facts")  # a link is a secret


def write(letter: Letter, *, origin: str) -> tuple[str, str]:
    """Return subject and text of a letter, with links to this dashboard."""
    return _LETTERS[letter.kind](letter.facts, origin)


def _reset(facts: Facts, origin: str) -> tuple[str, str]:
    link = _link(origin, "/app/reset-password", facts)
    text = (
        "Somebody, probably you, requested a password reset for your account.\n\n"
        "Open this link within an hour, in the browser that you used for the request. "
        f"You can use it once:\n\n{link}\n\n"
        "You are signed out everywhere. Your authenticator app and passkeys stay if "
        f"you had confirmed this address before.\n\n{_IGNORE}\n"
    )
    return "Reset your password", text


def _confirm(facts: Facts, origin: str) -> tuple[str, str]:
    link = _link(origin, "/app/account/confirm-email", facts)
    text = (
        "Confirm your email address. Sign in, and open this link within a day. You "
        f"can use it once:\n\n{link}\n\n{_IGNORE}\n"
    )
    return "Confirm your email address", text


def _invitation(facts: Facts, origin: str) -> tuple[str, str]:
    link = _link(origin, "/app/invitation", facts)
    team = one_line(facts["organization"])
    text = (
        f'You are invited to join the organization "{team}" as {facts["role"]}.\n\n'
        f"Open this link before {facts['until']} to join. You can use it once:\n\n"
        f"{link}\n\n"
        "If you don't know who invited you, ignore this email.\n"
    )
    return f'Invitation to "{team}"', text


def _password_changed(facts: Facts, origin: str) -> tuple[str, str]:
    del facts
    text = (
        "Your password was changed, and you were signed out everywhere "
        f"else.\n\n{_NOT_YOU.format(origin=origin)}\n"
    )
    return "Your password was changed", text


def _address_changed(facts: Facts, origin: str) -> tuple[str, str]:
    del facts, origin
    text = (
        "The email address of your account was changed. We send no more emails to "
        "this address.\n\nIf this was not you, tell the operator at once.\n"
    )
    return "Your email address was changed", text


def _test(facts: Facts, origin: str) -> tuple[str, str]:
    del facts
    return ("Test", f"This is a test email. {origin} can send emails.\n")


def _link(origin: str, path: str, facts: Facts) -> str:
    return f"{origin}{path}?{urlencode({'word': facts['word']})}"


_LETTERS: Final[Mapping[str, Callable[[Facts, str], tuple[str, str]]]] = {
    "reset": _reset,
    "confirm": _confirm,
    "invitation": _invitation,
    "password_changed": _password_changed,
    "address_changed": _address_changed,
    "test": _test,
}
