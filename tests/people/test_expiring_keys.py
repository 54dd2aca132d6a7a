"""Organizations are told once that a key ends, and of sign-ins from elsewhere."""

from datetime import datetime, timedelta

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Role
from leyden.base.rules.times import to_iso
from leyden.base.settings import Settings
from leyden.base.tasks.work import Work
from leyden.errors import Unauthorized
from leyden.people import accounts, api_keys, sign_in
from leyden.people.api_keys import EXPIRING_KEYS
from tests.conftest import NOW
from tests.events.stored_events import stored_events, stored_types

PASSWORD = "a lamp in the harbour"


@pytest.fixture
def platform(db: Database, sealer: Sealer) -> Platform:
    return Platform(settings=Settings(), database=db, sealer=sealer, clock=lambda: NOW)


@pytest.fixture
async def team(platform: Platform) -> str:
    return (await accounts.create_organization(platform, "Pier", actor="op")).id


async def look(platform: Platform, *, at: datetime) -> None:
    """Look once, as the queue does."""
    async with platform.database.transaction() as tx:
        await tx.tasks.put(EXPIRING_KEYS, "all", due=at)
        (claim,) = await tx.tasks.claim(
            EXPIRING_KEYS, now=at, until=at + timedelta(minutes=1), limit=1
        )
    await api_keys.announce_expiring(Work(platform.database, claim), clock=lambda: at)


async def test_a_key_that_ends_soon_is_told_of_once(
    platform: Platform, team: str
) -> None:
    ends = NOW + timedelta(days=30)
    keys = {}
    for name, expires in (
        ("harbour", ends),
        ("revoked", ends),
        ("later", ends + timedelta(days=1)),
        ("for a week", NOW + timedelta(days=7)),
        ("for ever", None),
    ):
        keys[name], _ = await api_keys.create(
            platform, team, name=name, scopes=["node"], expires=expires, actor="op"
        )
    await api_keys.revoke(platform, team, keys["revoked"].id, actor="op")
    before = len(await stored_types(platform.database, team))
    await look(platform, at=NOW + timedelta(days=1))
    await look(platform, at=ends - timedelta(days=7, seconds=1))
    assert await stored_types(platform.database, team, skip=before) == []
    for days in (7, 6):
        await look(platform, at=ends - timedelta(days=days))
        key = {"key_id": keys["harbour"].id, "name": "harbour"}
        assert (await stored_events(platform.database, team, skip=before))[:1] == [
            ("key.expiring", {**key, "expires": to_iso(ends)})
        ]
    assert await stored_types(platform.database, team, skip=before) == [
        "key.expiring",
        "key.expiring",  # of the later one, a day later
    ]
    await look(platform, at=ends)
    assert len(await stored_events(platform.database, team, skip=before)) == 2


async def test_a_sign_in_from_a_new_browser_is_told_to_each_organization(
    platform: Platform, team: str
) -> None:
    email = "alice@example.org"
    alice = await accounts.create_user(
        platform,
        email,
        password=PASSWORD,
        organization_id=team,
        role=Role.OWNER,
        actor="op",
    )
    before = len(await stored_types(platform.database, team))

    async def enter(password: str, known: str) -> str:
        session, _ = await sign_in.sign_in(
            platform,
            email,
            password,
            address="198.51.100.7",
            browser="Firefox",
            known=known,
            now=NOW,
        )
        return session.id

    known = sign_in.known_browser(platform, email)
    with pytest.raises(Unauthorized):
        await enter("wrong", "")
    await enter(PASSWORD, known)
    assert await stored_events(platform.database, team, skip=before) == []
    first = await enter(PASSWORD, "")
    other = await enter(PASSWORD, sign_in.known_browser(platform, "bob@example.org"))
    assert await stored_events(platform.database, team, skip=before) == [
        ("login.new_device", {"user_id": alice.id, "session_id": session})
        for session in (first, other)
    ]
