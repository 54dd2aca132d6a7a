"""Formats of endpoints: an event as signed JSON, or a sentence for a chat.

A chat's URL is a secret, because it permits writing to the chat. It is shown without
its path.
"""

import json
from enum import StrEnum, auto
from typing import Final
from urllib.parse import parse_qs, urlsplit

from leyden.errors import Malformed
from leyden.schemas.subscriptions import FORMATS

_ESCAPED: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_MARKDOWN: Final = str.maketrans({each: f"\\{each}" for each in "\\*_`~|<>@#[]()"})


class Format(StrEnum):
    """The format in which an endpoint gets events."""

    STANDARD = auto()  # JSON, signed as Standard Webhooks are
    SLACK = auto()
    DISCORD = auto()
    TELEGRAM = auto()
    NTFY = auto()
    EMAIL = auto()  # a person's: it has no URL
    NODE = auto()  # a node's webhook: three events, with the secret, as the API says

    @property
    def is_chat(self) -> bool:
        """Whether it gets sentences for people, without a signature."""
        return self in _CHATS


_CHATS: Final = frozenset({Format.SLACK, Format.DISCORD, Format.TELEGRAM, Format.NTFY})


def parse_format(word: str) -> Format:
    """Parse the format of an endpoint; raise Malformed if it is unknown."""
    if word not in FORMATS:
        raise Malformed(f"format: must be one of {', '.join(FORMATS)}")
    return Format(word)


def check_url(format_: Format, url: str) -> None:
    """Raise Malformed if a URL lacks what this chat needs."""
    if format_ is Format.TELEGRAM:
        parts = urlsplit(url)
        is_send = parts.path.endswith("/sendMessage")
        if not is_send or not parse_qs(parts.query).get("chat_id"):
            raise Malformed(
                "url: must be like "
                "https://api.telegram.org/botTOKEN/sendMessage?chat_id=CHAT_ID"
            )


def shown_url(url: str) -> str:
    """Return a chat's URL with everything after the host masked."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/…"


def message(format_: Format, text: str) -> str:
    """Return the request body that makes a chat show this text literally.

    Names in it were made inert by `sentence`: chats link what looks like a URL.
    """
    match format_:
        case Format.SLACK:
            return json.dumps({"text": text.translate(_ESCAPED)})
        case Format.DISCORD:
            body = {
                "content": text.translate(_MARKDOWN),
                "allowed_mentions": {"parse": []},
            }
            return json.dumps(body)
        case Format.TELEGRAM:
            preview = {"is_disabled": True}
            return json.dumps({"text": text, "link_preview_options": preview})
        case _:
            return text


def content_type(format_: Format) -> str:
    """Return the content type of `message`."""
    return "text/plain" if format_ is Format.NTFY else "application/json"
