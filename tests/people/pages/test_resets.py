"""A forgotten password: a link by email, which works once, here, and for a while."""

from datetime import timedelta
from functools import partial

import pytest

from leyden.app.serving.site import Site
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.errors import TooMany
from leyden.events import letters
from leyden.events.emailing import Emailing
from leyden.events.rows.email_links import LinkKind
from leyden.people import accounts, resets
from tests.base.pages.authenticator import Authenticator
from tests.base.pages.conftest import PASSWORD
from tests.base.pages.mailroom import LINK, SENDS_EMAILS
from tests.base.pages.visitor import Shown, Visitor
from tests.events.emailed import send_emails
from tests.mail_server import MailServer
from tests.nodes.fleet_harness import FleetHarness
from tests.people.pages.test_account import enrolled
from tests.people.pages.test_emails import confirmed
from tests.people.pages.test_passkeys import HERE
from tests.people.pages.test_passkeys import _add as add_passkey
from tests.people.pages.test_passkeys import _enter as enter_by_passkey
from tests.people.pages.test_team import invite

ALICE = "alice@example.org"
NEW = "two lamps in the harbour"


@pytest.fixture
def settings() -> Settings:
    return SENDS_EMAILS


async def request_reset(visitor: Visitor, email: str = ALICE) -> Shown:
    await visitor.get("/app/forgot-password")
    return await visitor.submit("/app/forgot-password", {"email": email})


async def linked(visitor: Visitor, email_sending: Emailing, served: MailServer) -> str:
    """Ask for a link, and return it."""
    assert (await request_reset(visitor)).status == 200
    await send_emails(email_sending)
    found = LINK.search(served.texts(ALICE)[-1])
    assert found is not None
    return found[1]


async def chosen(visitor: Visitor, link: str, password: str = NEW) -> Shown:
    """Open a link, and choose a new password."""
    await visitor.get(link)
    word = link.partition("word=")[2]
    fields = {"word": word, "password": password}
    return await visitor.submit("/app/reset-password", fields)


async def readmitted(platform: Platform) -> None:
    """Have the operator set Alice's password."""
    await accounts.readmit(
        platform, ALICE, password=PASSWORD, keep_authenticator=True, actor="test"
    )


async def test_a_link_sets_a_new_password_and_ends_every_session(
    alice: Visitor, nobody: Visitor, email_sending: Emailing, served: MailServer
) -> None:
    link = await linked(nobody, email_sending, served)
    opened = await nobody.get(link)
    assert (opened.status, ALICE in opened.text) == (200, True)
    short = await chosen(nobody, link, "short")
    assert (short.status, "at least 10 characters" in short.text) == (400, True)
    done = await chosen(nobody, link)
    assert done.location == "/app/sign-in?done=reset"
    assert "Your password was changed" in (await nobody.get(done.location)).text
    await send_emails(email_sending)
    assert served.subjects(ALICE) == [
        "Reset your password",
        "Your password was changed",
    ]
    assert LINK.findall(served.texts(ALICE)[-1]) == ["/app/forgot-password"]
    assert (await alice.get("/app/account")).status == 303
    assert (await nobody.sign_in(ALICE, PASSWORD)).status == 401
    assert (await nobody.sign_in(ALICE, NEW)).location == "/app/"


async def test_a_link_works_once(
    alice: Visitor, nobody: Visitor, email_sending: Emailing, served: MailServer
) -> None:
    del alice
    link = await linked(nobody, email_sending, served)
    cookies = dict(nobody.cookies)
    assert (await chosen(nobody, link)).status == 303
    nobody.cookies = cookies
    again = await chosen(nobody, link, "a third lamp entirely")
    assert (again.status, resets.GONE in again.text) == (404, True)
    assert ALICE not in again.text
    assert (await nobody.sign_in(ALICE, NEW)).status == 303


async def test_a_link_works_only_in_the_browser_that_asked(
    alice: Visitor,
    nobody: Visitor,
    email_sending: Emailing,
    served: MailServer,
    site: Site,
) -> None:
    del alice
    link = await linked(nobody, email_sending, served)
    thief = Visitor(site)
    await request_reset(thief, "mallory@example.org")  # a cookie of their own
    for each in (thief, Visitor(site)):
        opened = await each.get(link)
        assert (opened.status, ALICE in opened.text) == (403, False)
        assert "only in the browser that requested it" in opened.text
        taken = await chosen(each, link)
        assert taken.status == 403
    assert (await chosen(nobody, link)).status == 303


async def test_a_link_ends_with_its_hour(
    alice: Visitor,
    nobody: Visitor,
    email_sending: Emailing,
    served: MailServer,
    fleet_harness: FleetHarness,
) -> None:
    del alice
    link = await linked(nobody, email_sending, served)
    fleet_harness.now += timedelta(hours=1)
    late = await chosen(nobody, link)
    assert (late.status, resets.GONE in late.text) == (404, True)


async def test_a_link_ends_with_the_password_that_it_was_asked_for(
    alice: Visitor,
    nobody: Visitor,
    email_sending: Emailing,
    served: MailServer,
    platform: Platform,
) -> None:
    link = await linked(nobody, email_sending, served)
    await alice.submit("/app/account/password", {"present": PASSWORD, "new": NEW})
    late = await chosen(nobody, link, "a third lamp entirely")
    assert (late.status, resets.GONE in late.text) == (404, True)
    # However it was changed.
    link = await linked(nobody, email_sending, served)
    await readmitted(platform)
    assert (await chosen(nobody, link)).status == 404
    assert (await nobody.sign_in(ALICE, PASSWORD)).status == 303


async def test_a_link_that_is_stored_after_the_password_changed_is_none(
    alice: Visitor,
    nobody: Visitor,
    email_sending: Emailing,
    served: MailServer,
    platform: Platform,
) -> None:
    """Whoever sends it has read the password before."""
    del alice
    link = await linked(nobody, email_sending, served)
    digest = letters.link_digest(platform.sealer, link.partition("word=")[2])
    stored = await platform.database.reader.email_links.find(
        digest, LinkKind.RESET, now=platform.clock()
    )
    assert stored is not None
    await readmitted(platform)
    async with platform.database.transaction() as tx:
        await tx.email_links.add(stored)
    assert (await chosen(nobody, link)).status == 404
    assert (await nobody.sign_in(ALICE, PASSWORD)).status == 303


async def test_a_password_changed_while_the_new_one_is_hashed_ends_the_link(
    alice: Visitor,
    nobody: Visitor,
    email_sending: Emailing,
    served: MailServer,
    platform: Platform,
) -> None:
    del alice
    link = await linked(nobody, email_sending, served)
    await nobody.get(link)

    nobody.meanwhile = partial(readmitted, platform)
    assert (await chosen(nobody, link)).status == 404


async def test_authenticator_stays_when_the_address_is_confirmed(
    alice: Visitor,
    nobody: Visitor,
    email_sending: Emailing,
    served: MailServer,
    fleet_harness: FleetHarness,
) -> None:
    assert await enrolled(alice, fleet_harness)
    await confirmed(alice, email_sending, served)
    link = await linked(nobody, email_sending, served)
    assert (await chosen(nobody, link)).status == 303
    signed_in = await nobody.sign_in(ALICE, NEW)
    assert signed_in.location.startswith("/app/second-factor")


async def test_authenticator_from_before_the_address_was_confirmed_ends(
    alice: Visitor,
    nobody: Visitor,
    email_sending: Emailing,
    served: MailServer,
    fleet_harness: FleetHarness,
    platform: Platform,
) -> None:
    """Whoever opened an invitation first would keep its owner out for good."""
    assert await enrolled(alice, fleet_harness)
    assert (
        await chosen(nobody, await linked(nobody, email_sending, served))
    ).status == 303
    assert (await nobody.sign_in(ALICE, NEW)).location == "/app/"
    found = await platform.database.reader.people.password(ALICE)
    assert found is not None
    factors = platform.database.reader.second_factors
    assert await factors.totp(found[0].id) is None
    assert await factors.count_recovery_codes(found[0].id) == 0


async def test_passkeys_from_before_the_address_was_confirmed_end(
    alice: Visitor,
    nobody: Visitor,
    email_sending: Emailing,
    served: MailServer,
    site: Site,
) -> None:
    """Whoever opened an invitation first need not be who reads emails there."""
    device = Authenticator(HERE)
    await add_passkey(alice, device)
    assert (
        await chosen(nobody, await linked(nobody, email_sending, served))
    ).status == 303
    assert (await enter_by_passkey(Visitor(site), device)).status == 401
    # From then on it is hers, and so is what she adds.
    assert (await nobody.sign_in(ALICE, NEW)).status == 303
    await send_emails(email_sending)  # that it was changed
    await add_passkey(nobody, device := Authenticator(HERE), NEW)
    again = await chosen(nobody, await linked(nobody, email_sending, served), PASSWORD)
    assert again.status == 303
    assert (await enter_by_passkey(Visitor(site), device)).status == 303


async def test_nobody_learns_whether_an_address_is_known(
    alice: Visitor,
    nobody: Visitor,
    email_sending: Emailing,
    served: MailServer,
    site: Site,
    platform: Platform,
) -> None:
    del alice
    known = await request_reset(nobody)
    stranger = Visitor(site, address="192.0.2.9")
    unknown = await request_reset(stranger, "ghost@example.org")
    assert unknown.status == known.status
    assert (
        unknown.text.replace("ghost@example.org", ALICE).replace(
            stranger.token, nobody.token
        )
        == known.text
    )
    set_ = [
        [each.split("=")[0] for n, each in shown.headers if n == "set-cookie"]
        for shown in (known, unknown)
    ]
    assert set_ == [["leyden-reset-8000"]] * 2
    # Nor from the work that is done: it is the same, until nobody waits for it.
    rows = [
        await platform.database.reader.emails.find(each)
        for each in await waiting(platform)
    ]
    assert [row.address for row in rows if row] == [ALICE, "ghost@example.org"]
    await send_emails(email_sending)
    assert (served.recipients, await waiting(platform)) == ([ALICE], [])


async def waiting(platform: Platform) -> list[str]:
    """Return the ids of the emails that wait."""
    now = platform.clock()
    async with platform.database.transaction() as tx:
        claims = await tx.tasks.claim("emails", now=now, until=now, limit=100)
    return [each.key for each in claims]


async def test_asking_is_limited_for_known_and_unknown_alike(
    alice: Visitor, platform: Platform, fleet_harness: FleetHarness
) -> None:
    del alice

    async def ask(email: str, address: str) -> None:
        await resets.ask(
            platform, email, address=address, browser="", now=fleet_harness.now
        )

    for email in (ALICE, "ghost@example.org"):
        for _ in range(3):
            await ask(email, "192.0.2.1")
        with pytest.raises(TooMany, match="Wait 60 min") as first:
            await ask(email, "192.0.2.1")
        assert first.value.retry_after_s == 3600
        for number in range(2, 9):
            await ask(email, f"192.0.2.{number}")
        with pytest.raises(TooMany):
            await ask(email, "192.0.2.9")
    fleet_harness.now += timedelta(hours=1, seconds=1)
    await ask(ALICE, "192.0.2.1")
    for number in range(19):
        await ask(f"ghost{number}@example.org", "192.0.2.1")
    with pytest.raises(TooMany):
        await ask("ghost20@example.org", "192.0.2.1")


async def test_who_signs_in_meanwhile_grants_nobody_more_links(
    alice: Visitor, nobody: Visitor, fleet_harness: FleetHarness
) -> None:
    del alice
    for _ in range(3):
        assert (await request_reset(nobody)).status == 200
    fleet_harness.now += timedelta(minutes=20)
    assert (await nobody.sign_in(ALICE, PASSWORD)).status == 303
    await nobody.submit("/app/sign-out")
    assert (await request_reset(nobody)).status == 429


async def test_nobodys_invitations_keep_a_link_from_who_asks_for_one(
    alice: Visitor,
    charlie: Visitor,
    nobody: Visitor,
    email_sending: Emailing,
    served: MailServer,
) -> None:
    """They are emails to the same address, and anybody with a team sends them."""
    del alice
    for number in range(11):
        assert (await invite(charlie, ALICE)).startswith("/app/invitation"), number
    await send_emails(email_sending)
    assert len(served.subjects(ALICE)) == 10
    await linked(nobody, email_sending, served)
    assert served.subjects(ALICE)[-1] == "Reset your password"


async def test_a_wrong_address_is_refused_and_sends_nothing(
    nobody: Visitor, email_sending: Emailing, served: MailServer
) -> None:
    for email in ("", "ada", "ada@example.org\r\nBcc: victim@example.org"):
        refused = await request_reset(nobody, email)
        assert (refused.status, "name@example.org" in refused.text) == (400, True)
    strange = await request_reset(nobody, "ada,victim@example.org")
    assert strange.status == 200
    await send_emails(email_sending)
    assert served.recipients == []


class TestWithoutAMailServer:
    @pytest.fixture
    def settings(self) -> Settings:
        return Settings(sign_in_failures=3)

    async def test_the_operator_is_named(self, nobody: Visitor) -> None:
        shown = await nobody.get("/app/forgot-password")
        assert resets.NO_EMAILS in shown.text
        assert (shown.status, "<form" in shown.text) == (409, False)
        await nobody.get("/app/sign-in")  # which has a token
        sent = await nobody.submit("/app/forgot-password", {"email": ALICE})
        assert sent.status == 409
