"""Signing in: who may, who may not, and what a stranger learns from trying."""

import asyncio
import re
import threading
from datetime import timedelta

import pytest

from leyden.app.serving.site import Site
from leyden.base.platform import Platform
from leyden.base.rules.sign_in import totp_code
from leyden.errors import Unauthorized
from leyden.people import passwords, sign_in
from tests.base.pages.conftest import PASSWORD
from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import FleetHarness
from tests.people.pages.test_team import invite
from tests.waiting import until

RFC_SECRET = b"12345678901234567890"


async def test_a_person_comes_in_and_lands_among_their_nodes(
    alice: Visitor,
) -> None:
    first = await alice.get("/")
    assert (first.status, first.location) == (303, f"{alice.root}/nodes")
    shown = await alice.get(first.location)
    assert shown.status == 200
    assert "Get started" in shown.text


@pytest.mark.usefixtures("alice")
async def test_a_wrong_password_and_a_wrong_address_look_the_same(
    nobody: Visitor,
) -> None:
    wrong = await nobody.sign_in("alice@example.org", "not her password")
    unknown = await nobody.sign_in("mallory@example.org", "not her password")
    none = await nobody.sign_in("no address", "not her password")
    assert wrong.status == unknown.status == none.status == 401
    assert sign_in.WRONG in wrong.text
    challenge = re.compile(r'data-challenge="[^"]+"')  # never the same twice
    pages = (wrong.text.replace("alice@", "mallory@"), unknown.text)
    assert len({challenge.sub("", each) for each in pages}) == 1
    assert "not her password" not in wrong.text


@pytest.mark.usefixtures("alice")
async def test_whoever_guesses_has_to_wait_and_others_do_not(
    nobody: Visitor, fleet_harness: FleetHarness
) -> None:
    for _ in range(3):
        assert (await nobody.sign_in("alice@example.org", "wrong")).status == 401
    refused = await nobody.sign_in("alice@example.org", PASSWORD)
    assert refused.status == 429
    assert "Wait 15 min" in refused.text
    assert refused.header("retry-after") == "900"
    elsewhere = Visitor(nobody.site, address="203.0.113.9")
    assert (await elsewhere.sign_in("alice@example.org", PASSWORD)).status == 303
    fleet_harness.now += timedelta(minutes=16)
    assert (await nobody.sign_in("alice@example.org", PASSWORD)).status == 303


@pytest.mark.usefixtures("alice")
async def test_a_clock_that_was_set_back_keeps_nobody_out_until_then(
    nobody: Visitor, fleet_harness: FleetHarness
) -> None:
    for _ in range(4):
        await nobody.sign_in("alice@example.org", "wrong")
    fleet_harness.now -= timedelta(days=3)
    assert (await nobody.sign_in("alice@example.org", PASSWORD)).status == 303


@pytest.mark.usefixtures("alice")
async def test_a_clock_that_was_set_back_counts_failures_anew(
    nobody: Visitor, fleet_harness: FleetHarness
) -> None:
    await nobody.sign_in("alice@example.org", "wrong")
    fleet_harness.now -= timedelta(days=3)
    for _ in range(4):
        await nobody.sign_in("alice@example.org", "wrong")
    assert (await nobody.sign_in("alice@example.org", PASSWORD)).status == 429


@pytest.mark.usefixtures("alice")
async def test_a_household_counts_as_one_address(nobody: Visitor) -> None:
    for number in range(3):
        nobody.address = f"2001:db8:1:2::{number}"
        assert (await nobody.sign_in("alice@example.org", "wrong")).status == 401
    nobody.address = "2001:db8:1:2:3:4:5:6"
    assert (await nobody.sign_in("alice@example.org", PASSWORD)).status == 429
    nobody.address = "2001:db8:1:3::1"
    assert (await nobody.sign_in("alice@example.org", PASSWORD)).status == 303


async def others_fail(site: Site, email: str, times: int, *, at: str = "") -> None:
    """Let others get it wrong so often, at one address or each at another."""
    for number in range(times):
        other = Visitor(site, address=at or f"203.0.113.{number}")
        await other.sign_in(email.format(number), "wrong")


@pytest.mark.usefixtures("alice")
async def test_a_browser_that_is_known_does_not_wait_for_its_neighbours(
    nobody: Visitor,
) -> None:
    await nobody.sign_in("alice@example.org", PASSWORD)
    await nobody.submit("/app/sign-out")
    await others_fail(nobody.site, "victim{}@example.org", 10, at=nobody.address)
    stranger = Visitor(nobody.site, address=nobody.address)
    refused = await stranger.sign_in("alice@example.org", PASSWORD)
    assert refused.status == 429
    assert (await nobody.sign_in("alice@example.org", PASSWORD)).status == 303


@pytest.mark.usefixtures("alice")
async def test_a_browser_that_is_known_does_not_wait_for_who_guesses_elsewhere(
    nobody: Visitor,
) -> None:
    await nobody.sign_in("alice@example.org", PASSWORD)
    await nobody.submit("/app/sign-out")
    await others_fail(nobody.site, "alice@example.org", 31)
    stranger = Visitor(nobody.site, address="203.0.113.99")
    refused = await stranger.sign_in("alice@example.org", PASSWORD)
    assert refused.status == 429
    assert (await nobody.sign_in("alice@example.org", PASSWORD)).status == 303


@pytest.mark.usefixtures("alice", "charlie")
async def test_who_guesses_in_a_known_browser_has_to_wait(
    nobody: Visitor, fleet_harness: FleetHarness
) -> None:
    await nobody.sign_in("charlie@example.org", PASSWORD)
    await nobody.submit("/app/sign-out")
    for _ in range(3):
        assert (await nobody.sign_in("charlie@example.org", "wrong")).status == 401
    refused = await nobody.sign_in("charlie@example.org", PASSWORD)
    assert (refused.status, refused.header("retry-after")) == (429, "900")
    fleet_harness.now += timedelta(minutes=16)
    assert (await nobody.sign_in("charlie@example.org", PASSWORD)).status == 303


@pytest.mark.parametrize("word", ["", "made-up", "made.up", "."])
@pytest.mark.usefixtures("alice", "charlie")
async def test_a_browser_is_known_as_one_persons(nobody: Visitor, word: str) -> None:
    await nobody.sign_in("charlie@example.org", PASSWORD)
    await nobody.submit("/app/sign-out")
    if word:
        nobody.cookies["leyden-browser-8000"] = word
    for _ in range(3):
        assert (await nobody.sign_in("alice@example.org", "wrong")).status == 401
    elsewhere = Visitor(nobody.site, address=nobody.address)
    assert (await elsewhere.sign_in("alice@example.org", PASSWORD)).status == 429


async def test_who_is_signed_in_does_not_wait_for_who_guesses_elsewhere(
    alice: Visitor,
) -> None:
    await others_fail(alice.site, "alice@example.org", 31)
    await alice.get("/app/account")
    new = {"present": PASSWORD, "new": "two lamps in the harbour"}
    changed = await alice.submit("/app/account/password", new)
    assert changed.location == "/app/account?done=password"


async def test_who_is_signed_in_guesses_a_few_times(alice: Visitor) -> None:
    await alice.get("/app/account")
    for status in (401, 401, 401, 429):
        wrong = {"present": "wrong", "new": "two lamps in the harbour"}
        refused = await alice.submit("/app/account/password", wrong)
        assert refused.status == status
    assert refused.header("retry-after") == "900"


@pytest.mark.usefixtures("alice", "charlie")
async def test_an_account_of_ones_own_buys_no_guesses(nobody: Visitor) -> None:
    refused = 0
    for number in range(8):
        guess = await nobody.sign_in(f"victim{number}@example.org", "wrong")
        refused += guess.status == 429
        await nobody.sign_in("charlie@example.org", PASSWORD)
        nobody.cookies.clear()
        guess = await nobody.sign_in(f"victim{number}@example.org", "wrong")
        refused += guess.status == 429
    assert refused > 0


@pytest.mark.usefixtures("alice")
async def test_signing_in_changes_the_cookie_that_was_planted(nobody: Visitor) -> None:
    nobody.cookies["leyden-session-8000"] = "planted"
    await nobody.sign_in("alice@example.org", PASSWORD)
    assert nobody.cookies["leyden-session-8000"] != "planted"
    thief = Visitor(nobody.site, cookies={"leyden-session-8000": "planted"})
    assert (await thief.get("/app/")).location == "/app/sign-in"


async def test_the_cookie_is_for_the_browser_alone(nobody: Visitor) -> None:
    shown = await nobody.get("/app/sign-in")
    assert "HttpOnly" in shown.header("set-cookie")
    assert "SameSite=lax" in shown.header("set-cookie")
    nobody.scheme = "https"
    shown = await nobody.get("/app/sign-in")
    cookie = shown.header("set-cookie")
    assert cookie.startswith("__Host-leyden-guest=")
    assert "Secure" in cookie
    assert "Path=/;" in f"{cookie};"
    assert "Domain" not in cookie


async def test_a_session_ends_when_it_is_left_alone_or_old(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    nodes = f"{alice.root}/nodes"
    for _ in range(13):
        fleet_harness.now += timedelta(hours=23)
        assert (await alice.get(nodes)).status == 200
    fleet_harness.now += timedelta(hours=25)
    shown = await alice.get(nodes)
    assert shown.location.startswith("/app/sign-in?next=%2Fapp%2F")
    await alice.sign_in("alice@example.org", PASSWORD)
    for _ in range(14):
        fleet_harness.now += timedelta(hours=23, minutes=59)
        await alice.get(nodes)
    fleet_harness.now += timedelta(minutes=30)
    assert (await alice.get(nodes)).status == 303


async def test_who_signs_out_is_out_everywhere_that_cookie_is(alice: Visitor) -> None:
    copy = Visitor(alice.site, alice.organization_id, cookies=dict(alice.cookies))
    assert (await alice.submit("/app/sign-out")).location == "/app/sign-in"
    assert (await copy.get(f"{alice.root}/nodes")).status == 303


async def test_one_comes_back_to_where_one_wanted_to_go(
    alice: Visitor, nobody: Visitor
) -> None:
    answer = await nobody.get(f"{alice.root}/nodes?page=2")
    form = await nobody.get(answer.location)
    assert f'value="{alice.root}/nodes?page=2"' in form.text
    entered = await nobody.submit(
        "/app/sign-in",
        {
            "email": "alice@example.org",
            "password": PASSWORD,
            "next": f"{alice.root}/nodes?page=2",
        },
    )
    assert entered.location == f"{alice.root}/nodes?page=2"


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/",
        "//evil.example/app/",
        "/\\evil.example",
        "/app//evil.example",
        "/app/\\evil",
        "javascript:alert(1)",
        "/app/\nLocation: https://evil.example",
        "\t//evil.example",
        "/docs",
    ],
)
@pytest.mark.usefixtures("alice")
async def test_one_is_never_sent_to_another_site(
    nobody: Visitor, elsewhere: str
) -> None:
    await nobody.get("/app/sign-in")
    fields = {"email": "alice@example.org", "password": PASSWORD, "next": elsewhere}
    entered = await nobody.submit("/app/sign-in", fields)
    assert entered.location == "/app/"


async def _give_totp(platform: Platform, email: str) -> None:
    found = await platform.database.reader.people.password(email)
    assert found is not None
    person, _ = found
    sealed = platform.sealer.seal(RFC_SECRET, purpose=sign_in.TOTP.format(person.id))
    async with platform.database.transaction() as tx:
        await tx.second_factors.keep_totp(person.id, sealed)
        await tx.second_factors.confirm_totp(person.id, now=platform.clock())


async def test_with_an_authenticator_the_password_alone_opens_nothing(
    alice: Visitor, nobody: Visitor, platform: Platform, fleet_harness: FleetHarness
) -> None:
    await _give_totp(platform, "alice@example.org")
    entered = await nobody.sign_in("alice@example.org", PASSWORD)
    assert entered.location.startswith("/app/second-factor")
    assert (await nobody.get(f"{alice.root}/nodes")).status == 303
    half = dict(nobody.cookies)
    await nobody.get("/app/second-factor")
    wrong = await nobody.submit("/app/second-factor", {"code": "000000", "next": ""})
    assert wrong.status == 401
    step = int(fleet_harness.now.timestamp()) // 30
    code = totp_code(RFC_SECRET, step)
    right = await nobody.submit("/app/second-factor", {"code": code, "next": ""})
    assert right.location == "/app/"
    assert (await nobody.get(f"{alice.root}/nodes")).status == 200
    # The half of a session that was is nothing now, nor does the code work again.
    ghost = Visitor(nobody.site, cookies=half)
    assert (await ghost.get("/app/second-factor")).location == "/app/sign-in"
    thief = Visitor(nobody.site, address="203.0.113.9")
    await thief.sign_in("alice@example.org", PASSWORD)
    await thief.get("/app/second-factor")
    again = await thief.submit("/app/second-factor", {"code": code, "next": ""})
    assert again.status == 401


async def test_codes_are_guessed_a_few_times_however_many_addresses_one_has(
    alice: Visitor, nobody: Visitor, platform: Platform, fleet_harness: FleetHarness
) -> None:
    await _give_totp(platform, "alice@example.org")

    async def enter(visitor: Visitor, code: str) -> int:
        await visitor.sign_in("alice@example.org", PASSWORD)
        await visitor.get("/app/second-factor")
        shown = await visitor.submit("/app/second-factor", {"code": code})
        return shown.status

    def code() -> str:
        return totp_code(RFC_SECRET, int(fleet_harness.now.timestamp()) // 30)

    assert await enter(nobody, code()) == 303  # which is not counted
    await nobody.submit("/app/sign-out")
    fleet_harness.now += timedelta(seconds=30)
    thieves = [Visitor(alice.site, address=f"203.0.113.{n}") for n in range(5)]
    guessed = [await enter(each, "000000") for each in thieves]
    assert guessed == [401, 401, 401, 429, 429]
    assert await enter(Visitor(alice.site, address="203.0.113.9"), code()) == 429
    # She has signed in in this browser before, and so does not wait for them.
    assert await enter(nobody, code()) == 303


async def known_browsers(alice: Visitor, how_many: int) -> list[Visitor]:
    """Let a thief who has the password sign in often, each time elsewhere."""
    browsers = []
    for number in range(how_many):
        browsers.append(Visitor(alice.site, address=f"203.0.113.{number}"))
        await browsers[-1].sign_in("alice@example.org", PASSWORD)
        await browsers[-1].submit("/app/sign-out")
    return browsers


async def test_passwords_are_guessed_a_few_times_however_many_browsers_know_one(
    alice: Visitor,
) -> None:
    guessed = []
    for browser in await known_browsers(alice, 12):
        for _ in range(3):
            shown = await browser.sign_in("alice@example.org", "wrong")
            guessed.append(shown.status)
    assert guessed.count(401) == 30


async def test_codes_are_guessed_a_few_times_however_many_browsers_know_one(
    alice: Visitor, platform: Platform
) -> None:
    browsers = await known_browsers(alice, 12)
    await _give_totp(platform, "alice@example.org")

    guessed = []
    for browser in browsers:
        await browser.sign_in("alice@example.org", PASSWORD)
        for _ in range(3):
            await browser.get("/app/second-factor")
            shown = await browser.submit("/app/second-factor", {"code": "000000"})
            guessed.append(shown.status)
    assert guessed.count(401) == 3
    # Who comes in by a browser that nobody has seen is counted apart.
    stranger = Visitor(alice.site, address="198.51.100.9")
    assert (await stranger.sign_in("alice@example.org", PASSWORD)).status == 303


async def test_signing_in_with_a_code_leaves_nothing_counted(
    alice: Visitor, platform: Platform, fleet_harness: FleetHarness
) -> None:
    await _give_totp(platform, "alice@example.org")
    for _ in range(12):
        fleet_harness.now += timedelta(seconds=30)
        visitor = Visitor(alice.site, address="203.0.113.9")
        await visitor.sign_in("alice@example.org", PASSWORD)
        assert await _enter_code(visitor, fleet_harness) == 303


@pytest.mark.usefixtures("charlie")
async def test_an_account_with_an_authenticator_buys_no_guesses(
    nobody: Visitor, platform: Platform, fleet_harness: FleetHarness
) -> None:
    await nobody.sign_in("charlie@example.org", PASSWORD)
    await _give_totp(platform, "charlie@example.org")
    known, refused = dict(nobody.cookies), 0
    for number in range(12):
        fleet_harness.now += timedelta(seconds=30)
        nobody.cookies.clear()
        guess = await nobody.sign_in(f"victim{number}@example.org", "wrong")
        refused += guess.status == 429
        nobody.cookies |= known
        await nobody.sign_in("charlie@example.org", PASSWORD)
        del nobody.cookies["leyden-browser-8000"]
        await _enter_code(nobody, fleet_harness)
    assert refused > 0


async def _enter_code(visitor: Visitor, fleet_harness: FleetHarness) -> int:
    """Enter the code of this moment; return the status of the answer."""
    await visitor.get("/app/second-factor")
    code = totp_code(RFC_SECRET, int(fleet_harness.now.timestamp()) // 30)
    shown = await visitor.submit("/app/second-factor", {"code": code, "next": ""})
    return shown.status


@pytest.mark.parametrize(
    "credential",
    ["", "{}", "[]", "null", "x", '{"rawId": 7}', '{"rawId": "AAAA", "response": {}}'],
)
async def test_what_is_no_passkey_opens_nothing(
    alice: Visitor, nobody: Visitor, credential: str
) -> None:
    await nobody.get("/app/sign-in")
    refused = await nobody.submit("/app/sign-in/passkey", {"credential": credential})
    assert refused.status == 401
    await alice.get("/app/account")
    stored = await alice.submit(
        "/app/account/passkeys",
        {"credential": credential, "name": "my phone", "present": PASSWORD},
    )
    assert stored.status == 400
    gone = await alice.submit("/app/account/passkeys/remove", {"passkey": "zz"})
    assert gone.status == 404


def test_codes_are_those_of_the_standard() -> None:
    for at_s, code in (
        (59, "287082"),
        (1_111_111_109, "081804"),
        (2 * 10**10, "353130"),
    ):
        assert totp_code(RFC_SECRET, at_s // 30) == code


async def test_a_sign_in_on_its_way_ends_with_the_password_it_used(
    alice: Visitor, platform: Platform
) -> None:
    changed = threading.Event()
    slow = passwords._SLOWLY  # kept busy, so that the sign-in waits in its middle
    busy = [slow.submit(changed.wait, 20) for _ in range(slow._max_workers)]
    coming = asyncio.create_task(
        sign_in.sign_in(
            platform,
            "alice@example.org",
            PASSWORD,
            address="203.0.113.9",
            browser="a thief's",
            now=platform.clock(),
        )
    )
    await until(lambda: not slow._work_queue.empty())
    found = await platform.database.reader.accounts.find_person("alice@example.org")
    assert found is not None
    async with platform.database.transaction() as tx:
        await tx.accounts.set_password(found.id, "another digest")
    changed.set()
    with pytest.raises(Unauthorized):
        await coming
    assert all(each.result() for each in busy)
    assert (await alice.get(f"{alice.root}/nodes")).status == 200


async def test_a_flood_of_sign_ins_is_asked_to_come_back(
    alice: Visitor, nobody: Visitor
) -> None:
    done = threading.Event()
    slow = passwords._SLOWLY
    busy = [slow.submit(done.wait, 20) for _ in range(slow._max_workers)]
    flood = [
        asyncio.create_task(passwords.is_right("wrong", "no digest"))
        for _ in range(passwords.LIMIT)
    ]
    await until(lambda: slow._work_queue.qsize() >= passwords.LIMIT)
    for _ in range(5):  # more often than one may be wrong: none of it is counted
        refused = await nobody.sign_in("alice@example.org", PASSWORD)
        assert (refused.status, refused.header("retry-after")) == (503, "5")
    await alice.get("/app/account")
    new = {"present": PASSWORD, "new": "two lamps in the harbour"}
    assert (await alice.submit("/app/account/password", new)).status == 503
    done.set()
    assert not any(await asyncio.gather(*flood))
    assert all(each.result() for each in busy)
    assert (await nobody.sign_in("alice@example.org", PASSWORD)).status == 303


async def test_a_flood_from_one_address_keeps_nobody_else_out(
    alice: Visitor, charlie: Visitor, nobody: Visitor
) -> None:
    """An invitation of who has an account takes a password to be hashed each time."""
    del charlie
    flooding = nobody.at("203.0.113.5")
    link = await invite(alice, "charlie@example.org")
    word = link.partition("word=")[2]
    await flooding.get(link)
    done = threading.Event()
    slow = passwords._SLOWLY
    busy = [slow.submit(done.wait, 20) for _ in range(slow._max_workers)]
    fields = {"word": word, "password": PASSWORD}
    flood = [
        asyncio.create_task(flooding.submit("/app/invitation", dict(fields)))
        for _ in range(2 * passwords.LIMIT)
    ]
    await until(
        lambda: sum(each.done() for each in flood) >= len(flood) - passwords.MAX_OF_ONE
    )
    assert {each.result().status for each in flood if each.done()} == {503}
    signing_in = asyncio.create_task(nobody.sign_in("alice@example.org", PASSWORD))
    await until(lambda: slow._work_queue.qsize() > passwords.MAX_OF_ONE)
    done.set()
    assert (await signing_in).status == 303
    assert {each.status for each in await asyncio.gather(*flood)} == {503, 303}
    assert all(each.result() for each in busy)


async def test_a_code_completes_no_sign_in_that_has_ended(
    alice: Visitor, nobody: Visitor, platform: Platform, fleet_harness: FleetHarness
) -> None:
    await _give_totp(platform, "alice@example.org")
    await nobody.sign_in("alice@example.org", PASSWORD)
    await nobody.get("/app/second-factor")
    sessions = await platform.database.reader.sessions.list_(await _id(platform))
    (half,) = (each for each in sessions if not each.is_complete)
    await alice.get("/app/account")
    await alice.submit("/app/account/sign-out-elsewhere")
    code = totp_code(RFC_SECRET, int(fleet_harness.now.timestamp()) // 30)
    with pytest.raises(Unauthorized, match="Your sign-in timed out"):
        await sign_in.second_factor(platform, half, code, now=fleet_harness.now)


async def _id(platform: Platform) -> str:
    found = await platform.database.reader.accounts.find_person("alice@example.org")
    assert found is not None
    return found.id
