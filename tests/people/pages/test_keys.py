"""API keys as people handle them."""

import re
import uuid
from datetime import timedelta

import pytest

from leyden.app.serving.site import Site
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Role
from leyden.errors import Unauthorized
from leyden.people import api_keys
from leyden.people.rules.keys import is_key
from tests.base.pages.conftest import person
from tests.base.pages.visitor import Visitor


async def make(visitor: Visitor, **changes: object) -> tuple[int, str]:
    fields = {"once": str(uuid.uuid4()), "name": "our backend", "scope": ["node"]}
    shown = await visitor.submit(f"{visitor.root}/keys", {**fields, **changes})
    return shown.status, shown.text


def key_in(text: str) -> str:
    found = re.search(r"leyden_\w+", text)
    assert found is not None
    assert is_key(found[0])
    return found[0]


async def test_a_key_is_shown_once_and_opens_what_it_may(
    alice: Visitor, platform: Platform
) -> None:
    status, text = await make(alice, days="30")
    assert status == 200
    key = key_in(text)
    speaker = await api_keys.authenticate(platform, key, now=platform.clock())
    assert speaker.organization_id == alice.organization_id
    assert speaker.scopes == {"node"}
    later = platform.clock() + timedelta(days=31)
    with pytest.raises(Unauthorized):
        await api_keys.authenticate(platform, key, now=later)
    listed = (await alice.get(f"{alice.root}/keys")).text
    assert "our backend" in listed
    assert key not in listed


async def test_sent_again_the_form_makes_no_second_key(
    alice: Visitor, platform: Platform
) -> None:
    once = str(uuid.uuid4())
    await make(alice, once=once)
    status, text = await make(alice, once=once)
    assert (status, "was already created, and shown then" in text) == (409, True)
    keys = await platform.database.reader.keys.list_(alice.organization_id)
    assert len(keys) == 1


async def test_a_revoked_key_opens_nothing(
    alice: Visitor, charlie: Visitor, platform: Platform
) -> None:
    key = key_in((await make(alice))[1])
    (stored,) = await platform.database.reader.keys.list_(alice.organization_id)
    foreign = await charlie.submit(f"{charlie.root}/keys/revoke", {"key": stored.id})
    assert foreign.status == 404
    await alice.submit(f"{alice.root}/keys/revoke", {"key": stored.id})
    with pytest.raises(Unauthorized):
        await api_keys.authenticate(platform, key, now=platform.clock())


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ""},
        {"name": "a" * 51},
        {"scope": []},
        {"scope": ["root"]},
        {"days": "ten"},
        {"days": "99999"},
        {"once": "again"},
    ],
)
async def test_what_is_wrong_is_said(
    alice: Visitor, changes: dict[str, object]
) -> None:
    status, text = await make(alice, **changes)
    assert (status, 'role="alert"' in text) == (400, True)


async def test_whoever_only_looks_makes_none(bob: Visitor) -> None:
    assert "Create key" not in (await bob.get(f"{bob.root}/keys")).text
    assert (await make(bob))[0] == 403


async def test_a_name_is_shown_as_text(alice: Visitor) -> None:
    await make(alice, name="<img src=x onerror=alert(1)>")
    listed = (await alice.get(f"{alice.root}/keys")).text
    assert "&lt;img src=x onerror=alert(1)&gt;" in listed
    assert "<img src=x" not in listed


async def test_a_key_does_not_spend_what_its_maker_may_not(
    alice: Visitor, platform: Platform, site: Site
) -> None:
    of = alice.organization_id
    dora = await person(platform, site, "dora", of, Role.DEVELOPER)
    status, text = await make(dora, scope=["node", "flow"])
    assert (status, "your role can&#39;t create keys" in text) == (403, True)
    assert await platform.database.reader.keys.list_(of) == []
    assert 'value="flow"' not in (await dora.get(f"{dora.root}/keys")).text
    assert (await make(dora))[0] == 200
    assert (await make(alice, scope=["node", "flow"]))[0] == 200
