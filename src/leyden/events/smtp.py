"""The mail server that takes our emails, over SMTP.

1. Connect: over TLS, or STARTTLS, which the server must offer; in clear only to a
   server on this machine.
2. Sign in, where there is a user.
3. Send one message to one recipient.

All of it ends within one deadline, whatever the server does.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.message import EmailMessage
from typing import Final

import aiosmtplib

from leyden.errors import EmailAway, EmailRefused, SetupError
from leyden.events.rules.emails import Security
from leyden.values import Struct, hiding

_DEADLINE_S: Final = 60.0
_PERMANENT: Final = 500
# The server refuses all emails from us, for any recipient.
_ABOUT_US: Final = frozenset({530, 534, 535, 538})


class SmtpServer(Struct, frozen=True, kw_only=True):
    """A mail server, and how to be let in."""

    host: str
    port: int
    security: Security
    user: str
    password: str
    sender: str  # the address that emails come from
    authorities: str = ""  # a PEM file to trust besides the system's
    deadline_s: float = _DEADLINE_S

    __repr__ = hiding("password")

    async def send(self, message: EmailMessage, *, to: str) -> None:
        """Send a message; raise EmailAway to try later, or EmailRefused.

        Once this returns, the server has accepted the message. If it raises EmailAway,
        it may have.
        """
        async with self._connected() as client:
            # Not `send_message`, which folds headers by a policy of its own.
            await client.sendmail(self.sender, [to], message.as_bytes())

    async def check(self) -> None:
        """Connect and sign in, and send nothing; raise EmailAway with the reason."""
        async with self._connected() as client:
            await client.noop()

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[aiosmtplib.SMTP]:
        try:
            async with asyncio.timeout(self.deadline_s):
                client = aiosmtplib.SMTP(
                    hostname=self.host,
                    port=self.port,
                    use_tls=self.security is Security.TLS,
                    start_tls=self.security is Security.STARTTLS,
                    username=self.user or None,
                    password=self.password or None,
                    tls_context=await self._trusted(),
                    timeout=self.deadline_s,
                    # Not this machine's name, which takes a look-up.
                    local_hostname=self.sender.partition("@")[2],
                )
                async with client:
                    yield client
        except aiosmtplib.SMTPRecipientsRefused as error:
            # One recipient for each message.
            raise _translated(error.recipients[0]) from None
        except aiosmtplib.SMTPResponseException as error:
            raise _translated(error) from None
        except aiosmtplib.SMTPNotSupported as error:
            raise EmailAway(f"{self._address}: {error}") from None
        except aiosmtplib.SMTPException as error:
            raise EmailAway(f"{self._address}: {_line(str(error))}") from None
        except TimeoutError:
            raise EmailAway(f"{self._address}: no answer in time") from None
        except OSError as error:  # SSLErrors are OSErrors
            raise EmailAway(f"{self._address}: {_line(str(error))}") from None

    @property
    def _address(self) -> str:
        return f"{self.host}:{self.port}"

    async def _trusted(self) -> ssl.SSLContext | None:
        """Return the trusted authorities; reading them all takes 30 ms."""
        if self.security is Security.NONE:
            return None
        context = await asyncio.to_thread(ssl.create_default_context)
        if self.authorities:
            try:
                context.load_verify_locations(self.authorities)
            except OSError as error:
                raise SetupError(f"smtp_authorities: {error}") from None
        return context


def _translated(error: aiosmtplib.SMTPResponseException) -> Exception:
    said = f"the mail server answered {error.code} {_line(str(error.message))}"
    is_ours = isinstance(
        error, aiosmtplib.SMTPAuthenticationError | aiosmtplib.SMTPSenderRefused
    )
    if error.code < _PERMANENT or is_ours or error.code in _ABOUT_US:
        return EmailAway(said)
    return EmailRefused(said)


def _line(text: str) -> str:
    """Return what a server said as one readable line."""
    return "".join(c if c.isprintable() else " " for c in text)[:200]
