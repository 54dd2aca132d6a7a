"""Handing emails to a mail server, which may answer anything, or nothing."""

import socket

import pytest

from leyden.errors import EmailAway, EmailRefused, SetupError
from leyden.events.rules.emails import Email, Security, compose
from leyden.events.smtp import SmtpServer
from tests.conftest import NOW
from tests.events.webhooks.conftest import Serving
from tests.mail_server import PASSWORD, SENDER, USER, MailServer, mail_server, text

ADA = "ada@example.org"
SIGNED_IN = {"user": USER, "password": PASSWORD}


async def send(server: SmtpServer, said: str = "The tide is in.\n") -> None:
    email = Email(id="7", to=ADA, subject="Lantern ✓", text=said)
    await server.send(compose(email, sender=SENDER, now=NOW), to=ADA)


async def test_an_email_arrives_as_it_was_written() -> None:
    with mail_server() as served:
        await send(served.smtp(), "Grüße from the harbour.\n.\nAnd more.\n")
        await served.smtp().check()
    [email] = served.taken
    assert text(email) == "Grüße from the harbour.\n.\nAnd more.\n"
    assert email["Subject"] == "Lantern ✓"
    assert email["From"] == f"Leyden <{SENDER}>"
    assert (email["To"], served.recipients) == (ADA, [ADA])
    assert email["Message-ID"] == "<7@harbour.test>"
    assert email["Date"].datetime == NOW


# aiosmtpd does not know that it is behind TLS from the first byte.
@pytest.mark.filterwarnings("ignore:Requiring AUTH")
@pytest.mark.parametrize("security", [Security.STARTTLS, Security.TLS])
async def test_over_tls_the_server_is_verified_before_anything_is_said(
    mail_authority: Serving, security: Security
) -> None:
    tls = mail_authority.serving("127.0.0.1")
    with mail_server(tls=tls, implicit=security is Security.TLS) as served:
        ours = str(mail_authority.ca_file)
        server = served.smtp(security=security, authorities=ours, **SIGNED_IN)
        await send(server)
        assert served.recipients == [ADA]
        with pytest.raises(EmailAway, match="certificate verify failed"):
            await send(served.smtp(security=security, **SIGNED_IN))
        wrong = {**SIGNED_IN, "password": "not it at all"}
        with pytest.raises(EmailAway, match="535") as refused:
            await send(served.smtp(security=security, authorities=ours, **wrong))
        assert "not it" not in str(refused.value)
        with pytest.raises(EmailAway, match="530"):
            await send(served.smtp(security=security, authorities=ours))
    assert len(served.taken) == 1


async def test_nothing_is_said_to_a_server_without_starttls() -> None:
    with mail_server() as served:
        for given in ({}, SIGNED_IN):
            with pytest.raises(EmailAway, match="STARTTLS"):
                await send(served.smtp(security=Security.STARTTLS, **given))
        assert (served.taken, served.recipients) == ([], [])


@pytest.mark.parametrize(
    ("command", "answer", "expected"),
    [
        ("RCPT", "550 no such user", EmailRefused),
        ("RCPT", "451 greylisted", EmailAway),
        ("DATA", "554 looks like spam", EmailRefused),
        ("DATA", "452 the disk is full", EmailAway),
        ("DATA", "421 going down", EmailAway),
    ],
)
async def test_what_is_permanent_is_told_from_what_is_not(
    command: str, answer: str, expected: type[Exception]
) -> None:
    with mail_server() as served:
        served.answers[command] = answer
        with pytest.raises(expected, match=answer):
            await send(served.smtp())
        assert served.taken == []


async def test_a_server_that_is_away_or_silent_is_away() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        served = MailServer()
        served.port = silent.getsockname()[1]
        with pytest.raises(EmailAway, match=f"127.0.0.1:{served.port}: "):
            await send(served.smtp())
        silent.listen()
        for security in Security:
            with pytest.raises(EmailAway):
                await send(served.smtp(security=security, deadline_s=0.1))


async def test_a_file_of_authorities_that_is_none_is_said() -> None:
    server = MailServer().smtp(security=Security.TLS, authorities="/nowhere.pem")
    with pytest.raises(SetupError, match="smtp_authorities: "):
        await server.check()
