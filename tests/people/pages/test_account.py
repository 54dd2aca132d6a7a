"""What people change about themselves, and what that ends."""

import base64
import re
from datetime import timedelta
from pathlib import Path

import pytest

from leyden.base.platform import Platform
from leyden.base.rules.sign_in import totp_code
from leyden.errors import NotFound
from leyden.people import accounts
from tests.base.pages.conftest import PASSWORD
from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import FleetHarness

NEW = "two lamps in the harbour"
CODES = re.compile(r"\b[0-9a-hj-kmnp-tv-z]{5}-[0-9a-hj-kmnp-tv-z]{5}\b(?=\n)")


async def test_a_new_password_ends_every_other_session(
    alice: Visitor, nobody: Visitor
) -> None:
    await nobody.sign_in("alice@example.org", PASSWORD)
    wrong = await alice.submit(
        "/app/account/password", {"present": "not it at all", "new": NEW}
    )
    assert (wrong.status, "Wrong current password" in wrong.text) == (401, True)
    changed = await alice.submit(
        "/app/account/password", {"present": PASSWORD, "new": NEW}
    )
    assert changed.location == "/app/account?done=password"
    assert (await alice.get("/app/account")).status == 200
    assert (await nobody.get("/app/account")).status == 303
    assert (await nobody.sign_in("alice@example.org", PASSWORD)).status == 401
    assert (await nobody.sign_in("alice@example.org", NEW)).status == 303


async def test_display_settings_are_of_one_person(alice: Visitor, bob: Visitor) -> None:
    for visitor in (alice, bob):
        await visitor.get("/app/account")
    chosen = {"theme": "dark", "time_zone": "Europe/Berlin"}
    saved = await alice.submit("/app/account/display", chosen)
    assert saved.location == "/app/account?done=display"
    html = '<html lang="en" data-theme="dark" data-time-zone="Europe/Berlin">'
    assert html in (await alice.get(f"{alice.root}/nodes")).text
    assert html not in (await bob.get(f"{bob.root}/nodes")).text
    for wrong in ({"theme": "x"}, {"time_zone": "../../etc/passwd"}):
        refused = await alice.submit("/app/account/display", {**chosen, **wrong})
        assert (refused.status, "must be" in refused.text) == (400, True)
    usual = {"theme": "", "time_zone": ""}
    assert (await alice.submit("/app/account/display", usual)).status == 303
    assert 'data-theme="" data-time-zone=""' in (await alice.get("/app/account")).text


async def test_an_authenticator_is_offered_with_the_password_alone(
    alice: Visitor,
) -> None:
    for present in ("", "not it at all"):
        fields = {"present": present}
        refused = await alice.submit("/app/account/authenticator", fields)
        assert (refused.status, 'id="secret"' in refused.text) == (401, False)


async def test_an_authenticator_counts_once_it_has_shown_a_code(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    offered = await alice.submit("/app/account/authenticator", {"present": PASSWORD})
    found = re.search(r'id="secret">([A-Z2-7]+)<', offered.text)
    assert found is not None
    secret = base64.b32decode(found[1])
    typed = {"code": "000000", "secret": found[1]}
    wrong = await alice.submit("/app/account/authenticator/confirm", typed)
    assert (wrong.status, found[0] in wrong.text) == (401, True)
    assert wrong.text.count('class="qr"') == 1
    elsewhere = await alice.submit(
        "/app/account/authenticator/confirm", {**typed, "secret": ""}
    )
    assert (elsewhere.status, found[1] in elsewhere.text) == (401, False)
    before = Visitor(alice.site)
    assert (await before.sign_in("alice@example.org", PASSWORD)).location == "/app/"
    code = totp_code(secret, int(fleet_harness.now.timestamp()) // 30)
    done = await alice.submit("/app/account/authenticator/confirm", {"code": code})
    assert (done.status, len(CODES.findall(done.text))) == (200, 10)
    twice = await alice.submit("/app/account/authenticator/confirm", {"code": code})
    assert (twice.status, CODES.findall(twice.text)) == (409, [])
    assert "If you did not see your recovery codes, create new ones." in twice.text
    after = Visitor(alice.site)
    request = await after.sign_in("alice@example.org", PASSWORD)
    assert request.location.startswith("/app/second-factor")
    again = await alice.submit("/app/account/authenticator", {"present": PASSWORD})
    assert again.status == 409
    removed = await alice.submit(
        "/app/account/authenticator/remove", {"present": PASSWORD}
    )
    assert removed.location == "/app/account?done=removed"


async def test_whoever_lost_everything_is_let_in_again(
    alice: Visitor, nobody: Visitor, platform: Platform, fleet_harness: FleetHarness
) -> None:
    offered = await alice.submit("/app/account/authenticator", {"present": PASSWORD})
    found = re.search(r'id="secret">([A-Z2-7]+)<', offered.text)
    assert found is not None
    code = totp_code(
        base64.b32decode(found[1]), int(fleet_harness.now.timestamp()) // 30
    )
    await alice.submit("/app/account/authenticator/confirm", {"code": code})
    for keep, where in ((True, "/app/second-factor?next="), (False, "/app/")):
        await accounts.readmit(
            platform,
            "alice@example.org",
            password=NEW,
            keep_authenticator=keep,
            actor="operator:test",
        )
        assert (await alice.get("/app/account")).status == 303
        assert (await nobody.sign_in("alice@example.org", NEW)).location == where
    with pytest.raises(NotFound, match="no user mallory"):
        await accounts.readmit(
            platform,
            "mallory@example.org",
            password=NEW,
            keep_authenticator=False,
            actor="operator:test",
        )


async def enrolled(visitor: Visitor, fleet_harness: FleetHarness) -> list[str]:
    """Add an authenticator; return the recovery codes."""
    offered = await visitor.submit("/app/account/authenticator", {"present": PASSWORD})
    found = re.search(r'id="secret">([A-Z2-7]+)<', offered.text)
    assert found is not None
    code = totp_code(
        base64.b32decode(found[1]), int(fleet_harness.now.timestamp()) // 30
    )
    done = await visitor.submit("/app/account/authenticator/confirm", {"code": code})
    codes: list[str] = CODES.findall(done.text)
    return codes


async def test_recovery_codes_are_shown_once_and_sign_in(
    alice: Visitor, nobody: Visitor, fleet_harness: FleetHarness, sqlite_url: str
) -> None:
    codes = await enrolled(alice, fleet_harness)
    assert not CODES.findall((await alice.get("/app/account")).text)
    folder = Path(sqlite_url.removeprefix("sqlite:///")).parent
    stored = b"".join(each.read_bytes() for each in folder.glob("leyden.db*"))
    for code in codes:
        assert code.encode() not in stored
        assert code.replace("-", "").encode() not in stored
    await nobody.sign_in("alice@example.org", PASSWORD)
    wrong = await nobody.submit("/app/second-factor", {"code": "0" * 10, "next": ""})
    assert (wrong.status, "Use a recovery code" in wrong.text) == (401, True)
    right = await nobody.submit("/app/second-factor", {"code": codes[3], "next": ""})
    assert (right.status, right.location) == (303, "/app/")
    shown = (await nobody.get("/app/account")).text
    assert "Recovery codes left: <strong>9</strong>" in shown


async def test_new_recovery_codes_take_the_password(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    codes = await enrolled(alice, fleet_harness)
    for present, status, shown in (("not it", 401, 0), (PASSWORD, 200, 10)):
        answer = await alice.submit("/app/account/recovery-codes", {"present": present})
        found = CODES.findall(answer.text)
        assert (answer.status, len(found)) == (status, shown)
        assert not set(found) & set(codes)


async def test_one_session_is_ended_and_no_stranger_s(
    alice: Visitor, charlie: Visitor, nobody: Visitor
) -> None:
    await nobody.sign_in("alice@example.org", PASSWORD)
    theirs = re.search(
        r'name="session" value="([^"]+)"', (await alice.get("/app/account")).text
    )
    assert theirs is not None
    refused = await charlie.submit("/app/account/sessions/end", {"session": theirs[1]})
    assert (refused.status, (await nobody.get("/app/account")).status) == (404, 200)
    ended = await alice.submit("/app/account/sessions/end", {"session": theirs[1]})
    assert ended.location == "/app/account?done=session"
    assert (await nobody.get("/app/account")).status == 303
    shown = await alice.get("/app/account")
    assert shown.text.count("This browser") == 1
    assert 'name="session"' not in shown.text


async def test_a_session_that_ended_by_itself_is_not_listed(
    alice: Visitor, nobody: Visitor, platform: Platform, fleet_harness: FleetHarness
) -> None:
    await nobody.sign_in("alice@example.org", PASSWORD)
    fleet_harness.now += timedelta(seconds=platform.settings.session_idle_s - 1)
    await alice.get("/app/account")
    fleet_harness.now += timedelta(seconds=2)
    assert 'name="session"' not in (await alice.get("/app/account")).text


async def test_one_signs_out_everywhere_else(alice: Visitor, nobody: Visitor) -> None:
    await nobody.sign_in("alice@example.org", PASSWORD)
    await alice.submit("/app/account/sign-out-elsewhere")
    assert (await nobody.get("/app/account")).status == 303
    assert (await alice.get("/app/account")).status == 200
