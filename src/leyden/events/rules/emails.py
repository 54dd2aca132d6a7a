"""Validate email addresses, and compose messages safely.

Messages contain names and addresses that people chose, which must not be able to add
another header or another recipient.
"""

import email.policy
import re
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from enum import StrEnum, auto
from typing import Final

from leyden.values import Struct

NAME: Final = "Leyden"  # of the sender
# The syntax that browsers check: no character with a meaning in SMTP. Of that, what can
# stand in a header: no dot without letters around it, and no start of an encoded word.
_ADDRESS: Final = re.compile(
    r"(?=[^@]{1,64}@)(?!=\?)"
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
    r"(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*"
)


# Long lines are not folded: a folded link would be encoded, and programs would not
# recognize it. Every server accepts 7 bits.
_POLICY: Final = email.policy.SMTP.clone(max_line_length=998, cte_type="7bit")


class Security(StrEnum):
    """How the connection to the mail server is encrypted."""

    STARTTLS = auto()
    TLS = auto()
    NONE = auto()


class Email(Struct, frozen=True, kw_only=True):
    """An email to one person."""

    id: str  # the same at each attempt, so that a duplicate can be recognised
    to: str
    subject: str
    text: str
    unsubscribe: str = ""  # the URL that ends emails like this


def is_address(text: str) -> bool:
    """Return whether this is a valid email address."""
    return _ADDRESS.fullmatch(text) is not None


def compose(message: Email, *, sender: str, now: datetime) -> EmailMessage:
    """Return the message for a mail server."""
    made = EmailMessage(policy=_POLICY)
    made["From"] = Address(NAME, addr_spec=sender)
    made["To"] = Address(addr_spec=message.to)
    made["Subject"] = one_line(message.subject)
    made["Date"] = format_datetime(now)
    made["Message-ID"] = f"<{message.id}@{sender.partition('@')[2]}>"
    made["Auto-Submitted"] = "auto-generated"
    if message.unsubscribe:
        made["List-Unsubscribe"] = f"<{message.unsubscribe}>"
        made["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    made.set_content(message.text)
    return made


def one_line(text: str) -> str:
    """Return the text on one line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
