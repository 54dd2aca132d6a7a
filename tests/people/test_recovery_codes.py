"""Recovery codes sign people in whose authenticator is lost, each of them once."""

import asyncio
import base64
from datetime import datetime, timedelta

import pytest
from argon2 import PasswordHasher

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Person, new_id
from leyden.base.rules.sign_in import Session, SignedIn, totp_code
from leyden.base.settings import Settings
from leyden.errors import Conflict, TooMany, Unauthorized
from leyden.people import accounts, authenticators, sign_in
from leyden.people.rules import recovery_codes
from tests.conftest import NOW

PASSWORD = "a lamp in the harbour"
HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@pytest.fixture
def platform(db: Database, sealer: Sealer) -> Platform:
    return Platform(
        settings=Settings(sign_in_failures=3),
        database=db,
        sealer=sealer,
        clock=lambda: NOW,
    )


@pytest.fixture
async def alice(platform: Platform) -> Person:
    person = Person(id=new_id(), email="alice@example.org", created=NOW)
    async with platform.database.transaction() as tx:
        await tx.accounts.add_person(person, password=HASHER.hash(PASSWORD))
    return person


async def enter(platform: Platform, person: Person, *, is_complete: bool) -> Session:
    async with platform.database.transaction() as tx:
        session, _ = await sign_in.begin(
            platform,
            tx,
            person,
            is_complete=is_complete,
            address="198.51.100.7",
            browser="a test",
            now=NOW,
        )
    return session


async def begun(platform: Platform, person: Person) -> tuple[SignedIn, str]:
    """Add an authenticator; return who is signed in, and its secret."""
    session = await enter(platform, person, is_complete=True)
    who = SignedIn(person=person, session=session, memberships=(), is_operator=False)
    offer = await authenticators.offer(platform, who, present=PASSWORD, now=NOW)
    return who, offer.secret


def code(secret: str, now: datetime) -> str:
    return totp_code(base64.b32decode(secret), int(now.timestamp()) // 30)


async def enrolled(
    platform: Platform, person: Person
) -> tuple[SignedIn, tuple[str, ...]]:
    who, secret = await begun(platform, person)
    return who, await authenticators.confirm(platform, who, code(secret, NOW), now=NOW)


async def recover(platform: Platform, person: Person, typed: str) -> Session:
    half = await enter(platform, person, is_complete=False)
    session, _ = await sign_in.second_factor(platform, half, typed, now=NOW)
    return session


async def test_each_code_signs_in_once_however_it_is_typed(
    platform: Platform, alice: Person
) -> None:
    who, codes = await enrolled(platform, alice)
    assert len(set(codes)) == recovery_codes.COUNT
    for typed in (codes[0], f"  {codes[1].replace('-', ' ').upper()} "):
        assert (await recover(platform, alice, typed)).is_complete
        with pytest.raises(Unauthorized, match="was already used"):
            await recover(platform, alice, typed)
    assert (await authenticators.get(platform, who)).recovery_codes == 8
    lines = await platform.database.reader.audit.latest(limit=50)
    used = [each.detail for each in lines if each.action == "recovery code used"]
    assert sorted(each["left"] for each in used) == [8, 9]


async def test_of_two_at_once_with_one_code_one_comes_in(
    platform: Platform, alice: Person
) -> None:
    _, codes = await enrolled(platform, alice)
    came = await asyncio.gather(
        *(recover(platform, alice, codes[0]) for _ in range(2)), return_exceptions=True
    )
    assert sorted(type(each).__name__ for each in came) == ["Session", "Unauthorized"]


async def test_guesses_are_counted_as_those_of_an_authenticator(
    platform: Platform, alice: Person
) -> None:
    _, codes = await enrolled(platform, alice)
    for guess in ("00000-00000", "123456", "no code"):
        with pytest.raises(Unauthorized):
            await recover(platform, alice, guess)
    with pytest.raises(TooMany):
        await recover(platform, alice, codes[0])


async def test_new_codes_end_the_former_ones_and_take_the_password(
    platform: Platform, alice: Person
) -> None:
    who, former = await enrolled(platform, alice)
    with pytest.raises(Unauthorized):
        await authenticators.new_recovery_codes(
            platform, who, present="not it at all", now=NOW
        )
    anew = await authenticators.new_recovery_codes(
        platform, who, present=PASSWORD, now=NOW
    )
    assert not set(former) & set(anew)
    with pytest.raises(Unauthorized):
        await recover(platform, alice, former[0])
    assert (await recover(platform, alice, anew[0])).is_complete


async def test_codes_are_of_one_person_and_end_with_their_authenticator(
    platform: Platform, alice: Person
) -> None:
    who, codes = await enrolled(platform, alice)
    bob = Person(id=new_id(), email="bob@example.org", created=NOW)
    async with platform.database.transaction() as tx:
        await tx.accounts.add_person(bob, password=None)
    with pytest.raises(Unauthorized):
        await recover(platform, bob, codes[0])
    await authenticators.remove(platform, who, present=PASSWORD, now=NOW)
    assert (await authenticators.get(platform, who)).recovery_codes == 0
    with pytest.raises(Conflict, match="You have no authenticator app"):
        await authenticators.new_recovery_codes(
            platform, who, present=PASSWORD, now=NOW
        )


async def test_an_operator_who_readmits_somebody_ends_their_codes(
    platform: Platform, alice: Person
) -> None:
    who, _ = await enrolled(platform, alice)
    await accounts.readmit(
        platform,
        alice.email,
        password="two lamps in the harbour",
        keep_authenticator=False,
        actor="operator:test",
    )
    assert await authenticators.get(platform, who) == authenticators.Authenticator(
        exists=False, recovery_codes=0
    )


async def test_an_authenticator_is_confirmed_once(
    platform: Platform, alice: Person
) -> None:
    """A second form with a good code makes no codes without the password."""
    who, secret = await begun(platform, alice)
    await authenticators.confirm(platform, who, code(secret, NOW), now=NOW)
    later = NOW + timedelta(seconds=30)
    with pytest.raises(Conflict, match="was added"):
        await authenticators.confirm(platform, who, code(secret, later), now=later)
    assert (await authenticators.get(platform, who)).recovery_codes == 10


async def test_a_form_that_is_sent_twice_is_told_that_it_was_done(
    platform: Platform, alice: Person
) -> None:
    """The answer with the recovery codes was lost, or never looked at."""
    who, secret = await begun(platform, alice)

    async def confirm() -> tuple[str, ...]:
        return await authenticators.confirm(platform, who, code(secret, NOW), now=NOW)

    came = await asyncio.gather(confirm(), confirm(), return_exceptions=True)
    assert sorted(type(each).__name__ for each in came) == ["Conflict", "tuple"]
    with pytest.raises(Conflict, match="did not see your recovery codes, create new"):
        await confirm()


async def test_a_code_without_an_authenticator_is_wrong(
    platform: Platform, alice: Person
) -> None:
    who, secret = await begun(platform, alice)
    await authenticators.remove(platform, who, present=PASSWORD, now=NOW)
    with pytest.raises(Unauthorized, match="wrong"):
        await authenticators.confirm(platform, who, code(secret, NOW), now=NOW)


async def test_only_the_page_that_shows_a_secret_is_shown_it_again(
    platform: Platform, alice: Person
) -> None:
    who, secret = await begun(platform, alice)
    again = await authenticators.offered(platform, who, secret)
    assert again is not None
    assert again.secret == secret
    other = base64.b32encode(bytes(20)).decode()
    for sent in ("", "not base 32", "é", other):
        assert await authenticators.offered(platform, who, sent) is None
    await authenticators.confirm(platform, who, code(secret, NOW), now=NOW)
    assert await authenticators.offered(platform, who, secret) is None
