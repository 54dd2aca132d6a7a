"""Keys of the operator API as operators handle them, and nobody else."""

import re
import uuid

import pytest

from leyden.base.platform import Platform
from leyden.base.rules.accounts import INSTALLATION, Scope
from leyden.people import accounts, api_keys
from tests.base.pages.visitor import Visitor

URL = "/app/operator/keys"


@pytest.fixture
async def opal(alice: Visitor, platform: Platform) -> Visitor:
    await accounts.set_operator(
        platform, "alice@example.org", operator=True, actor="test"
    )
    await alice.get(URL)
    return alice


async def test_a_key_is_shown_once_and_revoked_after_a_question(
    opal: Visitor, platform: Platform
) -> None:
    form = {"name": "billing <b>", "days": "30", "once": str(uuid.uuid4())}
    shown = (await opal.submit(URL, form)).text
    (key,) = set(re.findall(r"leyden_\w{40,}", shown))
    found = await api_keys.authenticate(platform, key, now=platform.clock())
    assert found.organization_id == INSTALLATION
    assert found.scopes == {Scope.OPERATOR}
    again = await opal.submit(URL, form)
    assert (again.status, "was already created" in again.text) == (409, True)
    listed = (await opal.get(URL)).text
    assert "billing &lt;b&gt;" in listed
    assert key not in listed
    question = (await opal.get(f"{URL}/revoke?key={found.key_id}")).text
    assert "Programs that use" in question
    assert (await opal.submit(f"{URL}/revoke", {"key": found.key_id})).status == 303
    assert "revoked" in (await opal.get(URL)).text
    assert (await opal.submit(f"{URL}/revoke", {"key": found.key_id})).status == 404
    lines = await platform.database.reader.audit.latest()
    assert [each.action for each in lines[:2]] == [
        "operator key revoked",
        "operator key created",
    ]
    assert lines[0].actor.startswith("user:")


@pytest.mark.parametrize(
    "wrong", [{"name": ""}, {"days": "x"}, {"days": "4000"}, {"name": "a" * 51}]
)
async def test_a_wrong_form_makes_no_key(
    opal: Visitor, platform: Platform, wrong: dict[str, str]
) -> None:
    form = {"name": "billing", "once": str(uuid.uuid4()), **wrong}
    shown = await opal.submit(URL, form)
    assert (shown.status, 'role="alert"' in shown.text) == (400, True)
    assert await platform.database.reader.keys.list_(INSTALLATION) == []


async def test_who_is_no_operator_any_more_makes_no_key(
    opal: Visitor, platform: Platform
) -> None:
    async def end() -> None:
        await accounts.set_operator(
            platform, "alice@example.org", operator=False, actor="test"
        )

    opal.meanwhile = end
    form = {"name": "billing", "once": str(uuid.uuid4())}
    assert (await opal.submit(URL, form)).status == 404
    assert await platform.database.reader.keys.list_(INSTALLATION) == []
