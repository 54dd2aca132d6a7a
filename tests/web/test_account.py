"""What people change about themselves, and what that ends."""

import base64
import re

import pytest

from leyden.domain.sign_in import totp_code
from leyden.errors import NotFound
from leyden.services import accounts
from leyden.services.platform import Platform
from tests.services.yard import Yard
from tests.web.conftest import PASSWORD
from tests.web.visitor import Visitor

NEW = "two lamps in the harbour"


async def test_a_new_password_ends_every_other_session(
    alice: Visitor, nobody: Visitor
) -> None:
    await nobody.sign_in("alice@example.org", PASSWORD)
    await alice.get("/app/account")
    wrong = await alice.submit(
        "/app/account/password", {"present": "not it at all", "new": NEW}
    )
    assert (wrong.status, "not your present password" in wrong.text) == (401, True)
    changed = await alice.submit(
        "/app/account/password", {"present": PASSWORD, "new": NEW}
    )
    assert changed.location == "/app/account?done=password"
    assert (await alice.get("/app/account")).status == 200
    assert (await nobody.get("/app/account")).status == 303
    assert (await nobody.sign_in("alice@example.org", PASSWORD)).status == 401
    assert (await nobody.sign_in("alice@example.org", NEW)).status == 303


async def test_an_authenticator_is_offered_with_the_password_alone(
    alice: Visitor,
) -> None:
    await alice.get("/app/account")
    for present in ("", "not it at all"):
        fields = {"present": present}
        refused = await alice.submit("/app/account/authenticator", fields)
        assert (refused.status, 'id="secret"' in refused.text) == (401, False)


async def test_an_authenticator_counts_once_it_has_shown_a_code(
    alice: Visitor, yard: Yard
) -> None:
    await alice.get("/app/account")
    offered = await alice.submit("/app/account/authenticator", {"present": PASSWORD})
    found = re.search(r'id="secret">([A-Z2-7]+)<', offered.text)
    assert found is not None
    secret = base64.b32decode(found[1])
    wrong = await alice.submit("/app/account/authenticator/confirm", {"code": "000000"})
    assert wrong.status == 401
    before = Visitor(alice.site)
    assert (await before.sign_in("alice@example.org", PASSWORD)).location == "/app/"
    code = totp_code(secret, int(yard.now.timestamp()) // 30)
    done = await alice.submit("/app/account/authenticator/confirm", {"code": code})
    assert done.location == "/app/account?done=authenticator"
    after = Visitor(alice.site)
    asked = await after.sign_in("alice@example.org", PASSWORD)
    assert asked.location.startswith("/app/second-factor")
    again = await alice.submit("/app/account/authenticator", {"present": PASSWORD})
    assert again.status == 409
    removed = await alice.submit(
        "/app/account/authenticator/remove", {"present": PASSWORD}
    )
    assert removed.location == "/app/account?done=removed"


async def test_whoever_lost_everything_is_let_in_again(
    alice: Visitor, nobody: Visitor, platform: Platform, yard: Yard
) -> None:
    await alice.get("/app/account")
    offered = await alice.submit("/app/account/authenticator", {"present": PASSWORD})
    found = re.search(r'id="secret">([A-Z2-7]+)<', offered.text)
    assert found is not None
    code = totp_code(base64.b32decode(found[1]), int(yard.now.timestamp()) // 30)
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
    with pytest.raises(NotFound, match="there is no user mallory"):
        await accounts.readmit(
            platform,
            "mallory@example.org",
            password=NEW,
            keep_authenticator=False,
            actor="operator:test",
        )


async def test_one_signs_out_everywhere_else(alice: Visitor, nobody: Visitor) -> None:
    await nobody.sign_in("alice@example.org", PASSWORD)
    await alice.get("/app/account")
    await alice.submit("/app/account/sign-out-elsewhere")
    assert (await nobody.get("/app/account")).status == 303
    assert (await alice.get("/app/account")).status == 200
