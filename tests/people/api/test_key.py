"""GET /key: whoever holds a key learns what it opens."""

from datetime import timedelta
from functools import partial

import pytest

from leyden.base.platform import Platform
from leyden.people import api_keys
from tests.base.api.conftest import Caller
from tests.conftest import NOW


async def test_it_tells_whose_it_is(alice: Caller) -> None:
    assert (await alice.get("/key")).json() == {
        "organization_id": alice.organization_id,
        "organization_name": "Harbour Light",
        "key_name": "test",
        "scopes": ["flow", "node"],
        "expires": "never",
    }


@pytest.mark.parametrize("scope", ["node", "flow"])
async def test_any_scope_will_do(alice: Caller, platform: Platform, scope: str) -> None:
    _, text = await api_keys.create(
        platform,
        alice.organization_id,
        name="pier",
        scopes=[scope],
        expires=NOW + timedelta(days=1),
        actor="test",
    )
    body = (await Caller(alice.api, text, "").get("/key")).json()
    assert (body["key_name"], body["scopes"]) == ("pier", [scope])
    assert body["expires"] == "2026-03-02T12:00:00.000Z"


async def test_two_teams_hear_of_themselves_alone(
    alice: Caller, charlie: Caller
) -> None:
    ours, theirs = (await alice.get("/key")).json(), (await charlie.get("/key")).json()
    assert (ours["organization_name"], theirs["organization_name"]) == (
        "Harbour Light",
        "Other Shore",
    )


async def test_without_a_key_nothing_is_told(nobody: Caller) -> None:
    assert (await nobody.get("/key")).status == 401


async def test_a_body_that_takes_its_time_outlives_no_key(
    alice: Caller, platform: Platform
) -> None:
    (key,) = await platform.database.reader.keys.list_(alice.organization_id)
    alice.meanwhile = partial(
        api_keys.revoke, platform, alice.organization_id, key.id, actor="test"
    )
    refused = await alice.post("/flow/redeem", {"coupon": "x"})
    assert refused.status == 401
