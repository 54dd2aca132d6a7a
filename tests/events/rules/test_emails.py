"""Emails are made of names that people chose, and none begins another header."""

import email
import email.policy

import pytest

from leyden.events.rules.emails import Email, compose, is_address
from leyden.events.rules.letters import Letter, write
from tests.conftest import NOW

SENDER = "leyden@harbour.test"
EVIL = [
    "light\r\nBcc: victim@example.org",
    "light\nBcc: victim@example.org\n\nbody",
    "light\r\n\r\n<script>",
    "light\x00\x0b\x0c\x85\u2028Bcc: victim@example.org",
]


@pytest.mark.parametrize("name", EVIL)
def test_a_name_begins_no_other_header(name: str) -> None:
    facts = {"word": "w", "organization": name, "role": "owner", "until": "2026"}
    letter = Letter(kind="invitation", facts=facts)
    subject, text = write(letter, origin="https://harbour.test")
    made = Email(id="7", to="ada@example.org", subject=subject, text=text)
    sent = compose(made, sender=SENDER, now=NOW).as_bytes()
    read = email.message_from_bytes(sent, policy=email.policy.SMTP)
    assert read["Bcc"] is None
    assert read["To"] == "ada@example.org"
    assert set(read.keys()) == {
        *("From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted"),
        *("Content-Type", "Content-Transfer-Encoding", "MIME-Version"),
    }
    assert "Bcc:" not in text.split('"')[0]


@pytest.mark.parametrize("subject", EVIL)
def test_a_subject_is_one_line(subject: str) -> None:
    made = Email(id="7", to="ada@example.org", subject=subject, text="")
    assert "\n" not in compose(made, sender=SENDER, now=NOW)["Subject"]


@pytest.mark.parametrize(
    "address",
    [
        *("", "ada", "ada@", "@example.org", "ada@example..org", "ada@-x.org"),
        "ada@example.org\r\nBcc: victim@example.org",
        "ada@example.org>,<victim",
        "ada,victim@example.org",
        "ada@example.org,victim@example.org",
        '"ada victim"@example.org',
        "ada @example.org",
        "ada@[127.0.0.1]",
        "ädä@example.org",
        f"{'a' * 65}@example.org",
        *("a..d@example.org", ".ada@example.org", "ada.@example.org"),
        "=?utf-8?q?ada?=@example.org",
    ],
)
def test_what_means_something_to_a_mail_server_is_no_address(address: str) -> None:
    assert not is_address(address)


@pytest.mark.parametrize(
    "address",
    [
        *("ada@example.org", "a.d+a@mail.example.org", "ada@localhost"),
        *("a=?d@example.org", "!#$%&'*+/=^_`{|}~-@example.org", f"{'a' * 64}@a.org"),
    ],
)
def test_usual_addresses_are(address: str) -> None:
    assert is_address(address)
    made = Email(id="7", to=address, subject="The tide", text="")
    assert str(compose(made, sender=SENDER, now=NOW)["To"]) == address


def test_a_letter_hides_its_link() -> None:
    assert "lantern" not in repr(Letter(kind="reset", facts={"word": "lantern"}))
