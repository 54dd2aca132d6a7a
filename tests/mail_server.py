"""A mail server as there are many: aiosmtpd, on this machine, for one test."""

import asyncio
import email
import email.policy
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from leyden.events.rules.emails import Security
from leyden.events.smtp import SmtpServer

USER, PASSWORD = "leyden", "a lamp in the harbour"
SENDER = "leyden@harbour.test"


class MailServer:
    """Takes everything, until told what to answer."""

    def __init__(self) -> None:
        self.taken: list[EmailMessage] = []
        self.raw: list[bytes] = []  # the same, as it came
        self.recipients: list[str] = []
        self.answers = {"RCPT": "250 OK", "DATA": "250 OK"}
        self.port = 0

    async def handle_RCPT(  # noqa: N802  aiosmtpd's name
        self,
        _server: SMTP,
        _session: Session,
        envelope: Envelope,
        address: str,
        _options: list[str],
    ) -> str:
        self.recipients.append(address)
        envelope.rcpt_tos.append(address)
        return self.answers["RCPT"]

    async def handle_DATA(  # noqa: N802  aiosmtpd's name
        self, _server: SMTP, _session: Session, envelope: Envelope
    ) -> str:
        content = envelope.content
        assert isinstance(content, bytes)
        if self.answers["DATA"].startswith("250"):
            parsed = email.message_from_bytes(content, policy=email.policy.SMTP)
            assert isinstance(parsed, EmailMessage)
            self.taken.append(parsed)
            self.raw.append(content)
        return self.answers["DATA"]

    def smtp(self, **changes: Any) -> SmtpServer:
        """Return our side of it."""
        given: dict[str, Any] = {
            "host": "127.0.0.1",
            "port": self.port,
            "security": Security.NONE,
            "user": "",
            "password": "",
            "sender": SENDER,
            "deadline_s": 10.0,
        }
        return SmtpServer(**{**given, **changes})

    def texts(self, to: str = "") -> list[str]:
        """Return what was said to somebody."""
        return [text(each) for each in self.taken if not to or each["To"] == to]

    def subjects(self, to: str = "") -> list[str]:
        return [each["Subject"] for each in self.taken if not to or each["To"] == to]


def text(message: EmailMessage) -> str:
    return str(message.get_content()).replace("\r\n", "\n")


def _authenticated(
    _server: SMTP, _session: Session, _envelope: Envelope, _how: str, given: object
) -> AuthResult:
    wanted = LoginPassword(USER.encode(), PASSWORD.encode())
    return AuthResult(success=given == wanted, handled=False)


@contextmanager
def mail_server(
    *, tls: ssl.SSLContext | None = None, implicit: bool = False
) -> Iterator[MailServer]:
    """Serve on a port of its own, in a thread of its own; with TLS, one signs in."""
    served = MailServer()
    loop = asyncio.new_event_loop()

    def smtp() -> SMTP:
        return SMTP(
            served,
            hostname="mail.harbour.test",
            tls_context=None if implicit else tls,
            require_starttls=tls is not None and not implicit,
            auth_required=tls is not None,
            auth_require_tls=not implicit,
            authenticator=_authenticated,
            loop=loop,
        )

    async def begin() -> asyncio.Server:
        over = tls if implicit else None
        return await loop.create_server(smtp, "127.0.0.1", 0, ssl=over)

    thread = threading.Thread(target=loop.run_forever, name="mail server")
    thread.start()
    server = asyncio.run_coroutine_threadsafe(begin(), loop).result(10)
    served.port = server.sockets[0].getsockname()[1]
    try:
        yield served
    finally:
        asyncio.run_coroutine_threadsafe(_end(server), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


async def _end(server: asyncio.Server) -> None:
    server.close()
    mine = asyncio.current_task()
    others = [each for each in asyncio.all_tasks() if each is not mine]
    for each in others:
        each.cancel()
    await asyncio.gather(*others, return_exceptions=True)
