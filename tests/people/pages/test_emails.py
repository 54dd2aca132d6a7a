"""Addresses confirmed and changed by links, and the emails that people choose."""

import re
from datetime import timedelta

import pytest

from leyden.app.serving.site import Site
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Role
from leyden.base.settings import Settings
from leyden.events.emailing import Emailing
from leyden.events.rules.events import INSTALLATION, Event
from leyden.people import accounts
from leyden.people.email_choices import IMPORTANT
from tests.base.pages.conftest import PASSWORD, person
from tests.base.pages.mailroom import LINK, SENDS_EMAILS
from tests.base.pages.visitor import Shown, Visitor
from tests.events.emailed import ORIGIN, send_emails
from tests.mail_server import MailServer, text
from tests.nodes.fleet_harness import FleetHarness

ALICE, NEW = "alice@example.org", "alice@harbour.test"
ACCOUNT = "/app/account"


@pytest.fixture
def settings() -> Settings:
    return SENDS_EMAILS


async def link_to(email_sending: Emailing, served: MailServer, address: str) -> str:
    """Return the first link of the newest email to somebody."""
    await send_emails(email_sending)
    found = LINK.search(served.texts(address)[-1])
    assert found is not None
    return found[1]


async def used(visitor: Visitor, link: str) -> Shown:
    """Open a link, and confirm what it asks."""
    await visitor.get(link)
    word = link.partition("word=")[2]
    return await visitor.submit(f"{ACCOUNT}/confirm-email", {"word": word})


async def confirmed(
    visitor: Visitor, email_sending: Emailing, served: MailServer
) -> str:
    """Confirm an address; return the link, which is used up."""
    request = await visitor.submit(f"{ACCOUNT}/email/link")
    assert request.location == f"{ACCOUNT}?done=link"
    link = await link_to(email_sending, served, ALICE)
    assert (await used(visitor, link)).location == f"{ACCOUNT}?done=email"
    return link


async def tell(email_sending: Emailing, organization_id: str, *types: str) -> None:
    async with email_sending.database.transaction() as tx:
        for kind in types:
            data = {"node_id": "7N", "name": "harbour light"}
            event = Event(organization_id=organization_id, type=kind, data=data)
            tx.events.add(event, at=email_sending.clock())
    await send_emails(email_sending)


async def test_an_address_is_confirmed_by_a_link_that_works_once(
    alice: Visitor,
    charlie: Visitor,
    email_sending: Emailing,
    served: MailServer,
    site: Site,
) -> None:
    await tell(email_sending, alice.organization_id, "node.failed")
    assert served.taken == []  # nothing before it is confirmed
    await alice.submit(f"{ACCOUNT}/email/link")
    link = await link_to(email_sending, served, ALICE)
    # Not by a stranger, nor by who signed in as somebody else.
    assert (await Visitor(site).get(link)).location.startswith("/app/sign-in")
    for shown in (await charlie.get(link), await used(charlie, link)):
        assert (shown.status, ALICE in shown.text) == (403, False)
    assert (await used(alice, link)).location == f"{ACCOUNT}?done=email"
    for shown in (await alice.get(link), await used(alice, link)):
        assert shown.status == 404
    assert "confirmed" in (await alice.get(ACCOUNT)).text
    again = await alice.submit(f"{ACCOUNT}/email/link")
    assert again.status == 409


async def test_an_address_changes_once_the_new_one_is_confirmed(
    alice: Visitor, nobody: Visitor, email_sending: Emailing, served: MailServer
) -> None:
    wrong = {"email": NEW, "present": "not it at all"}
    assert (await alice.submit(f"{ACCOUNT}/email", wrong)).status == 401
    await alice.submit(f"{ACCOUNT}/email/link")
    former = await link_to(email_sending, served, ALICE)
    request = await alice.submit(
        f"{ACCOUNT}/email", {"email": NEW, "present": PASSWORD}
    )
    assert request.location == f"{ACCOUNT}?done=link"
    await nobody.get("/app/forgot-password")
    await nobody.submit("/app/forgot-password", {"email": ALICE})
    link = await link_to(email_sending, served, NEW)
    old = LINK.search(served.texts(ALICE)[-1])
    assert old is not None
    assert ALICE in (await alice.get(ACCOUNT)).text
    assert NEW in (await alice.get(link)).text
    assert (await used(alice, link)).location == f"{ACCOUNT}?done=email"
    # What went to the old address opens nothing, nor does it change back.
    assert (await nobody.get(old[1])).status == 404
    assert (await used(alice, former)).status == 404
    assert (await nobody.sign_in(ALICE, PASSWORD)).status == 401
    assert (await nobody.sign_in(NEW, PASSWORD)).status == 303
    await send_emails(email_sending)
    assert served.subjects(ALICE)[-1] == "Your email address was changed"


async def test_who_is_readmitted_keeps_no_link_of_who_was_in_their_account(
    alice: Visitor, email_sending: Emailing, served: MailServer, platform: Platform
) -> None:
    fields = {"email": NEW, "present": PASSWORD}
    assert (await alice.submit(f"{ACCOUNT}/email", fields)).status == 303
    link = await link_to(email_sending, served, NEW)
    await accounts.readmit(
        platform, ALICE, password=PASSWORD, keep_authenticator=False, actor="test"
    )
    await alice.sign_in(ALICE, PASSWORD)
    assert (await used(alice, link)).status == 404


async def test_only_who_has_its_mailbox_learns_that_an_address_is_in_use(
    alice: Visitor, bob: Visitor, email_sending: Emailing, served: MailServer
) -> None:
    del bob
    theirs = {"email": "bob@example.org", "present": PASSWORD}
    request = await alice.submit(f"{ACCOUNT}/email", theirs)
    assert request.location == f"{ACCOUNT}?done=link"
    link = await link_to(email_sending, served, "bob@example.org")
    refused = await used(alice, link)
    assert (refused.status, "use this address for your account" in refused.text) == (
        409,
        True,
    )
    assert ALICE in (await alice.get(ACCOUNT)).text


@pytest.mark.parametrize(
    "email", ["", "ada", ALICE, "a,b@example.org", "ada@example.org\r\nBcc: b@c.org"]
)
async def test_a_wrong_address_is_refused(
    alice: Visitor, email_sending: Emailing, served: MailServer, email: str
) -> None:
    fields = {"email": email, "present": PASSWORD}
    assert (await alice.submit(f"{ACCOUNT}/email", fields)).status == 400
    await send_emails(email_sending)
    assert served.recipients == []


async def test_what_is_important_is_emailed_until_one_chooses(
    alice: Visitor, bob: Visitor, email_sending: Emailing, served: MailServer
) -> None:
    del bob  # who has not confirmed his address
    await confirmed(alice, email_sending, served)
    served.taken.clear()
    await tell(email_sending, alice.organization_id, "node.running", "node.failed")
    [sent] = served.taken
    assert (sent["To"], sent["Subject"]) == (
        ALICE,
        'Node "harbour light" could not be started. We try again.',
    )
    assert f"{ORIGIN}/app/{alice.organization_id}/events" in text(sent)
    shown = await alice.get(f"{ACCOUNT}/emails")
    ticked = re.findall(r'value="([\w.]+)" checked', shown.text)
    assert set(ticked) <= IMPORTANT
    chosen = {"organization": alice.organization_id, "type": ["node.running"]}
    saved = await alice.submit(f"{ACCOUNT}/emails", chosen)
    assert saved.location == f"{ACCOUNT}/emails?done=saved"
    await tell(email_sending, alice.organization_id, "node.failed", "node.running")
    assert served.subjects()[1:] == ['Node "harbour light" is running.']
    await alice.submit(f"{ACCOUNT}/emails", {"organization": alice.organization_id})
    await tell(email_sending, alice.organization_id, "node.running")
    assert len(served.taken) == 2
    # Chosen again, it begins with what happens from then on.
    await alice.submit(f"{ACCOUNT}/emails", chosen)
    await send_emails(email_sending)
    assert len(served.taken) == 2


async def test_a_choice_is_among_what_one_may_see(
    alice: Visitor, charlie: Visitor, email_sending: Emailing, served: MailServer
) -> None:
    early = {"organization": alice.organization_id, "type": ["node.failed"]}
    refused = await alice.submit(f"{ACCOUNT}/emails", early)
    assert (refused.status, "Confirm your email address" in refused.text) == (409, True)
    await confirmed(alice, email_sending, served)
    for organization, kind, status in (
        (charlie.organization_id, "node.failed", 404),
        (INSTALLATION, "disk.low", 404),
        (alice.organization_id, "disk.low", 400),
        (alice.organization_id, "order.eaten", 400),
    ):
        fields = {"organization": organization, "type": [kind]}
        answer = await alice.submit(f"{ACCOUNT}/emails", fields)
        assert answer.status == status, organization


async def test_a_former_member_gets_nothing_more(
    alice: Visitor,
    platform: Platform,
    site: Site,
    email_sending: Emailing,
    served: MailServer,
) -> None:
    dora = await person(platform, site, "dora", alice.organization_id, Role.ADMIN)
    await dora.submit(f"{ACCOUNT}/email/link")
    link = await link_to(email_sending, served, "dora@example.org")
    assert (await used(dora, link)).status == 303
    served.taken.clear()
    members = await platform.database.reader.people.members(alice.organization_id)
    [user] = [each.person.id for each in members if "dora" in each.person.email]
    await alice.submit(
        f"{alice.root}/team/role", {"user": user, "role": Role.BILLING.value}
    )
    await tell(email_sending, alice.organization_id, "node.failed")
    assert served.taken == []  # which money is not
    await alice.submit(f"{alice.root}/team/remove", {"user": user})
    await tell(email_sending, alice.organization_id, "order.failed")
    assert served.taken == []


async def test_who_refuses_emails_gets_them_once_they_choose_anew(
    alice: Visitor,
    email_sending: Emailing,
    served: MailServer,
    fleet_harness: FleetHarness,
) -> None:
    await confirmed(alice, email_sending, served)
    served.taken.clear()
    served.answers["RCPT"] = "550 no such user"
    for _ in range(4):
        await tell(email_sending, alice.organization_id, "node.failed")
        fleet_harness.now += timedelta(hours=1)
    served.answers["RCPT"] = "250 OK"
    await tell(email_sending, alice.organization_id, "node.failed")
    assert served.taken == []
    shown = await alice.get(f"{ACCOUNT}/emails")
    assert "rejected our emails" in shown.text
    chosen = {"organization": alice.organization_id, "type": ["node.failed"] * 2}
    await alice.submit(f"{ACCOUNT}/emails", chosen)
    await send_emails(email_sending)
    # The one that was refused is what it was, and the rest follows.
    assert [text(each).count("could not be started") for each in served.taken] == [1, 4]
    assert "rejected our" not in (await alice.get(f"{ACCOUNT}/emails")).text


async def test_a_new_address_gets_emails_that_the_old_one_refused(
    alice: Visitor,
    email_sending: Emailing,
    served: MailServer,
    fleet_harness: FleetHarness,
) -> None:
    """Its link has just arrived, and people move because the old mailbox is gone."""
    of = alice.organization_id
    await confirmed(alice, email_sending, served)
    served.answers["RCPT"] = "550 no such user"
    for _ in range(4):
        await tell(email_sending, of, "node.failed")
        fleet_harness.now += timedelta(hours=1)
    assert "rejected our emails" in (await alice.get(f"{ACCOUNT}/emails")).text
    served.answers["RCPT"] = "250 OK"
    await alice.submit(f"{ACCOUNT}/email", {"email": NEW, "present": PASSWORD})
    await used(alice, await link_to(email_sending, served, NEW))
    assert "rejected our emails" not in (await alice.get(f"{ACCOUNT}/emails")).text
    before = len(served.texts(NEW))
    await tell(email_sending, of, "node.failed")
    assert len(served.texts(NEW)) > before


async def test_an_operator_gets_alarms(
    alice: Visitor, platform: Platform, email_sending: Emailing, served: MailServer
) -> None:
    await accounts.set_operator(platform, ALICE, operator=True, actor="test")
    await confirmed(alice, email_sending, served)
    served.taken.clear()
    async with platform.database.transaction() as tx:
        data = {"status": "raised", "what": "1 GiB is free"}
        event = Event(organization_id=INSTALLATION, type="disk.low", data=data)
        tx.events.add(event, at=platform.clock())
    await send_emails(email_sending)
    assert served.subjects() == ["Alarm: 1 GiB is free"]
    await accounts.set_operator(platform, ALICE, operator=False, actor="test")
    async with platform.database.transaction() as tx:
        tx.events.add(event, at=platform.clock())
    await send_emails(email_sending)
    assert len(served.taken) == 1


# RFC 8058 lets mail programs send either, and prefers the second.
ONE_CLICK = {
    "application/x-www-form-urlencoded": b"List-Unsubscribe=One-Click",
    "multipart/form-data; boundary=b": b"--b\r\nContent-Disposition: form-data; "
    b'name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--\r\n',
}


@pytest.mark.parametrize("kind", ONE_CLICK, ids=lambda kind: kind.partition("/")[0])
async def test_an_email_has_a_link_that_ends_emails_like_it(
    alice: Visitor, site: Site, email_sending: Emailing, served: MailServer, kind: str
) -> None:
    await confirmed(alice, email_sending, served)
    await tell(email_sending, alice.organization_id, "node.failed")
    header = served.taken[-1]["List-Unsubscribe"]
    assert f"List-Unsubscribe: {header}" in served.raw[-1].decode().splitlines()
    assert served.taken[-1]["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    link = header.strip("<>").removeprefix(ORIGIN)
    nobody = Visitor(site)
    shown = await nobody.get(link)
    assert (shown.status, ALICE in shown.text) == (200, False)
    wrong = f"{link[:-1]}{'0' if link[-1] != '0' else '1'}"
    assert (await nobody.submit(wrong)).status == 404
    await tell(email_sending, alice.organization_id, "node.failed")
    before = len(served.taken)
    # As mail programs do: without a cookie, a token, or a page before.
    headers = {"origin": "https://x.org", "content-type": kind}
    program = await Visitor(site).ask("POST", link, ONE_CLICK[kind], headers=headers)
    assert (program.status, "You are unsubscribed" in program.text) == (200, True)
    await tell(email_sending, alice.organization_id, "node.failed")
    assert len(served.taken) == before


async def test_an_invitation_is_sent_and_shown(
    alice: Visitor, site: Site, email_sending: Emailing, served: MailServer
) -> None:
    fields = {"email": "erin@example.org", "role": "developer"}
    shown = await alice.submit(f"{alice.root}/team/invite", fields)
    assert "We are sending this link to erin@example.org" in shown.text
    link = await link_to(email_sending, served, "erin@example.org")
    assert link in shown.text
    erin = Visitor(site)
    await erin.get(link)
    word = link.partition("word=")[2]
    joined = await erin.submit("/app/invitation", {"word": word, "password": PASSWORD})
    assert joined.status == 303
    # The link was shown to Alice, so it proves nothing about the mailbox.
    await send_emails(email_sending)
    assert served.subjects("erin@example.org") == [
        'Invitation to "Harbour Light"',
        "Confirm your email address",
    ]


async def test_one_address_is_not_flooded_with_invitations(
    alice: Visitor,
    email_sending: Emailing,
    served: MailServer,
    fleet_harness: FleetHarness,
) -> None:
    fields = {"email": "erin@example.org", "role": "developer"}
    for number in range(13):
        shown = await alice.submit(f"{alice.root}/team/invite", fields)
        is_sent = "We are sending this link" in shown.text
        assert is_sent == (number < 10), number
    await send_emails(email_sending)
    assert len(served.taken) == 10
    fleet_harness.now += timedelta(hours=1, seconds=1)
    shown = await alice.submit(f"{alice.root}/team/invite", fields)
    assert "We are sending this link" in shown.text


async def test_a_new_password_is_told_to_its_owner(
    alice: Visitor, email_sending: Emailing, served: MailServer
) -> None:
    fields = {"present": PASSWORD, "new": "two lamps in the harbour"}
    await alice.submit(f"{ACCOUNT}/password", fields)
    await send_emails(email_sending)
    assert served.subjects(ALICE) == ["Your password was changed"]
