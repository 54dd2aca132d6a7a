"""Rights are looked at when one acts, not when one asked: what was taken meanwhile."""

from collections.abc import AsyncIterator

import pytest

from leyden.base.database.database import Database, open_database
from leyden.base.database.secrets import Sealer
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Membership, Role
from leyden.base.settings import Settings
from leyden.people import accounts
from tests.base.pages.conftest import PASSWORD, person
from tests.base.pages.visitor import Visitor
from tests.channels.pages.test_channels import ONCE
from tests.channels.pausing_database import PausingDatabase
from tests.nodes.fleet_harness import FleetHarness
from tests.people.pages.test_team import roles, user_id


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    """Both: which of two comes first is decided by each in its own way."""
    database = await open_database(database_url)
    yield database
    await database.close()


@pytest.fixture
def pausing(db: Database) -> PausingDatabase:
    return PausingDatabase(db)


@pytest.fixture
def platform(
    pausing: PausingDatabase,
    sealer: Sealer,
    settings: Settings,
    fleet_harness: FleetHarness,
) -> Platform:
    return Platform(
        settings=settings,
        database=pausing,
        sealer=sealer,
        clock=lambda: fleet_harness.now,
        fleet=fleet_harness.fleet,
    )


async def become(platform: Platform, name: str, role: Role, of: str) -> None:
    """Let somebody have another role, or none, in a transaction of its own."""
    async with platform.database.transaction() as tx:
        await tx.accounts.lock(of)
        for each in await tx.people.members(of):
            if each.person.id == await user_id(platform, name):
                changed = Membership(
                    organization_id=of,
                    user_id=each.person.id,
                    role=role,
                    created=each.since,
                )
                await tx.accounts.join(changed)


async def test_an_owner_who_becomes_an_admin_makes_no_owner_any_more(
    alice: Visitor, bob: Visitor, platform: Platform, pausing: PausingDatabase
) -> None:
    of = alice.organization_id
    await person(platform, alice.site, "dora", of, Role.OWNER)
    pausing.happens = lambda: become(platform, "alice", Role.ADMIN, of)
    fields = {"user": await user_id(platform, "bob"), "role": "owner"}
    refused = await alice.submit(f"{alice.root}/team/role", fields)
    assert (refused.status, "Only an owner" in refused.text) == (403, True)
    assert (await roles(platform, of))["bob"] == "viewer"
    assert bob.organization_id == of


async def test_a_key_that_spends_is_made_by_who_may_spend_now(
    alice: Visitor, platform: Platform, pausing: PausingDatabase
) -> None:
    of = alice.organization_id
    pausing.happens = lambda: become(platform, "alice", Role.DEVELOPER, of)
    fields = {"name": "backend", "scope": "flow", "once": ONCE}
    assert (await alice.submit(f"{alice.root}/keys", fields)).status == 403
    assert not await platform.database.reader.keys.list_(of)


OPERATOR = {
    "organizations": {"name": "A third shore"},
    "organizations/{of}/correct": {
        "correction": "credit",
        "sats": "7",
        "reason": "because",
        "once": "once",
    },
    "organizations/{of}/limit": {"most_owed": "7"},
    "organizations/{of}/quotas": {"nodes": "7"},
    "coupons": {"sats": "7"},
}


@pytest.mark.parametrize("path", OPERATOR)
async def test_who_is_no_operator_any_more_does_nothing(
    alice: Visitor, platform: Platform, pausing: PausingDatabase, path: str
) -> None:
    email = "alice@example.org"
    await accounts.set_operator(platform, email, operator=True, actor="test")
    await alice.get("/app/operator")

    async def unmade() -> None:
        await accounts.set_operator(platform, email, operator=False, actor="test")

    pausing.happens = unmade
    at = f"/app/operator/{path.format(of=alice.organization_id)}"
    assert (await alice.submit(at, {**OPERATOR[path]})).status == 404
    reader = platform.database.reader
    assert len(await reader.accounts.list_()) == 1
    assert not await reader.coupons.all_(after="", limit=9)
    assert await reader.corporate_accounts.limit(alice.organization_id) is None
    assert not await reader.ledger.sums()
    assert not await reader.quotas.exceptions(alice.organization_id)


ACCOUNT = {
    "password": {"present": PASSWORD, "new": "two lamps in the harbour"},
    "sign-out-elsewhere": {},
    "authenticator": {"present": PASSWORD},
    "passkeys/remove": {"passkey": "00"},
}


@pytest.mark.parametrize("path", ACCOUNT)
async def test_a_browser_that_is_signed_out_meanwhile_changes_nothing(
    alice: Visitor,
    nobody: Visitor,
    platform: Platform,
    pausing: PausingDatabase,
    path: str,
) -> None:
    assert (await nobody.sign_in("alice@example.org", PASSWORD)).status == 303

    async def out() -> None:
        await nobody.get("/app/account")
        await nobody.submit("/app/account/sign-out-elsewhere")

    pausing.happens = out
    refused = await alice.submit(f"/app/account/{path}", {**ACCOUNT[path]})
    assert refused.status == 401
    assert (await nobody.get("/app/account")).status == 200
    assert (
        await Visitor(nobody.site).sign_in("alice@example.org", PASSWORD)
    ).status == 303
    found = await platform.database.reader.second_factors.totp(
        await user_id(platform, "alice")
    )
    assert found is None
