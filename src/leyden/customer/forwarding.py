"""Sending events to a webhook endpoint from this machine."""

import secrets
import time
from datetime import datetime
from pathlib import Path
from typing import Final, Self

import click
import msgspec

from leyden.client.wire import NoResponse, Server, Wire
from leyden.events.rules.webhooks import signature_headers
from leyden.schemas.events import LoggedEvent

_SECRET_BYTES: Final = 32
_TIMEOUT_S: Final = 15.0


def secret_for(file: Path | None) -> str:
    """Return the secret in a file, or a new one."""
    if file is None:
        return secrets.token_hex(_SECRET_BYTES)
    secret = file.read_text().strip()
    if not secret or not secret.isascii() or not secret.isprintable():
        raise click.UsageError("--secret-file: must hold one line of ASCII characters")
    return secret


class ForwardingTarget:
    """An endpoint, over one connection."""

    def __init__(self, url: str, secret: str) -> None:
        self._secret = secret
        try:
            server = Server.at(url)
        except ValueError as error:
            raise click.UsageError(f"URL: {error}") from None
        self._path = "" if server.path else "/"
        self._wire = Wire(server, timeout_s=_TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._wire.close()

    def send(self, event: LoggedEvent, *, now: datetime) -> str:
        """Send an event; return what came of it."""
        body = msgspec.json.encode(event).decode()
        signed = signature_headers(
            [self._secret], event_id=event.id, sent=now, body=body
        )
        headers = {"Content-Type": "application/json", **signed}
        began = time.monotonic()
        try:
            answer = self._wire.request("POST", self._path, body.encode(), headers)
        except NoResponse as error:
            return f"no answer: {error}"
        return f"{answer.status} ({(time.monotonic() - began) * 1_000:.0f} ms)"
