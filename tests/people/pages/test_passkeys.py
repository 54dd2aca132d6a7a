"""Passkeys: with the password, at our own address, each challenge once."""

import re
from datetime import timedelta

import pytest

from leyden.base.platform import Platform
from tests.base.pages.authenticator import Authenticator
from tests.base.pages.conftest import PASSWORD
from tests.base.pages.visitor import HOST, Shown, Visitor
from tests.nodes.fleet_harness import FleetHarness

HERE = f"http://{HOST}"
ACCOUNT = "/app/account"


def _challenge(shown: Shown) -> str:
    found = re.search(r'data-challenge="([\w-]+)"', shown.text)
    assert found is not None, shown.text
    return found[1]


async def _add(
    alice: Visitor, device: Authenticator, password: str = PASSWORD
) -> Shown:
    made = device.make(_challenge(await alice.get(ACCOUNT)))
    fields = {"credential": made, "name": "my phone", "present": password}
    return await alice.submit(f"{ACCOUNT}/passkeys", fields)


async def _show(visitor: Visitor, credential: str) -> Shown:
    return await visitor.submit("/app/sign-in/passkey", {"credential": credential})


async def _enter(visitor: Visitor, device: Authenticator) -> Shown:
    answer = await visitor.get("/app/sign-in")
    return await _show(visitor, device.show(_challenge(answer)))


async def test_a_passkey_is_added_with_the_password_alone(
    alice: Visitor, nobody: Visitor
) -> None:
    device = Authenticator(HERE)
    for wrong in ("", "not her password"):
        refused = await _add(alice, device, wrong)
        assert (refused.status, "Wrong current password" in refused.text) == (401, True)
    assert (await _enter(nobody, device)).status == 401
    assert (await _add(alice, device)).location == f"{ACCOUNT}?done=passkey"
    assert (await _enter(nobody, device)).location == "/app/"
    assert (await nobody.get(ACCOUNT)).status == 200


async def test_a_challenge_is_answered_once(alice: Visitor, nobody: Visitor) -> None:
    device = Authenticator(HERE)
    await _add(alice, device)
    request = await nobody.get("/app/sign-in")
    answer = device.show(_challenge(request))
    guest = dict(nobody.cookies)
    assert (await _show(nobody, answer)).status == 303
    thief = Visitor(nobody.site, cookies=guest, token=request.token)
    assert (await _show(thief, answer)).status == 401
    made = Authenticator(HERE).make(_challenge(await alice.get(ACCOUNT)))
    fields = {"credential": made, "name": "my key", "present": PASSWORD}
    assert (await alice.submit(f"{ACCOUNT}/passkeys", fields)).status == 303
    assert (await alice.submit(f"{ACCOUNT}/passkeys", fields)).status == 400


async def test_a_challenge_is_of_one_browser_and_of_these_minutes(
    alice: Visitor, nobody: Visitor, fleet_harness: FleetHarness
) -> None:
    device = Authenticator(HERE)
    await _add(alice, device)
    others = _challenge(await Visitor(nobody.site).get("/app/sign-in"))
    own = _challenge(await nobody.get("/app/sign-in"))
    for challenge in (others, own[:-4] + "AAAA", ""):
        assert (await _show(nobody, device.show(challenge))).status == 401
    fleet_harness.now += timedelta(minutes=11)
    assert (await _show(nobody, device.show(own))).status == 401


@pytest.mark.parametrize(
    "elsewhere", ["http://evil.example", f"https://{HOST}", "http://dashboard.example"]
)
async def test_a_passkey_of_another_site_opens_nothing(
    alice: Visitor, nobody: Visitor, elsewhere: str
) -> None:
    device = Authenticator(HERE)
    await _add(alice, device)
    device.origin = elsewhere
    assert (await _enter(nobody, device)).status == 401


async def test_where_the_dashboard_is_not_said_to_be_there_are_no_passkeys(
    alice: Visitor, nobody: Visitor
) -> None:
    device = Authenticator(HERE)
    await _add(alice, device)
    device.origin = "http://evil.example"
    shown = await nobody.get("/app/sign-in", host="evil.example")
    assert 'data-rp=""' in shown.text
    refused = await nobody.submit(
        "/app/sign-in/passkey",
        {"credential": device.show(_challenge(shown))},
        host="evil.example",
        origin="http://evil.example",
    )
    assert refused.status in {401, 403}


async def test_a_passkey_that_is_removed_takes_its_sessions_along(
    alice: Visitor, nobody: Visitor
) -> None:
    device = Authenticator(HERE)
    await _add(alice, device)
    await _enter(nobody, device)
    fields = {"passkey": device.id.hex()}
    removed = await alice.submit(f"{ACCOUNT}/passkeys/remove", fields)
    assert removed.location == f"{ACCOUNT}?done=forgotten"
    assert (await nobody.get(ACCOUNT)).status == 303
    assert (await _enter(nobody, device)).status == 401


async def test_a_passkey_that_is_removed_meanwhile_opens_nothing(
    alice: Visitor, nobody: Visitor, platform: Platform
) -> None:
    device = Authenticator(HERE)
    await _add(alice, device)
    answer = await nobody.get("/app/sign-in")
    shown = device.show(_challenge(answer))
    found = await platform.database.reader.second_factors.find_passkey(device.id)
    assert found is not None
    async with platform.database.transaction() as tx:
        await tx.second_factors.remove_passkey(found.user_id, found.id)
        used = await tx.second_factors.used(
            found.id, sign_count=0, now=platform.clock()
        )
    assert not used
    assert (await _show(nobody, shown)).status == 401


@pytest.mark.parametrize(("ticked", "status"), [("yes", 401), ("", 303)])
async def test_a_new_password_may_forget_passkeys(
    alice: Visitor, nobody: Visitor, ticked: str, status: int
) -> None:
    device = Authenticator(HERE)
    await _add(alice, device)
    fields = {"present": PASSWORD, "new": "two lamps in the harbour"}
    if ticked:
        fields["forget-passkeys"] = ticked
    changed = await alice.submit(f"{ACCOUNT}/password", fields)
    assert changed.location == f"{ACCOUNT}?done=password"
    assert (await _enter(nobody, device)).status == status
