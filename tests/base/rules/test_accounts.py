import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.base.rules.accounts import (
    INSTALLATION,
    OF_ORGANIZATIONS,
    ApiKey,
    Principal,
    Scope,
    check_email,
    check_name,
    new_id,
    parse_scopes,
)
from leyden.base.rules.times import from_us, to_iso, to_us
from leyden.errors import Malformed

NOON = datetime(2026, 3, 1, 12, 0, 0, 123_456, tzinfo=UTC)


@pytest.mark.parametrize("name", ["", " ", "x" * 51, "a\nb", "a\u202eb", "a\u200bb"])
def test_a_name_that_cannot_be_shown_is_refused(name: str) -> None:
    with pytest.raises(Malformed, match=r"^name: must"):
        check_name(name, what="name")


def test_a_name_is_trimmed_and_composed() -> None:
    assert check_name("  Cafe\u0301 du Port ", what="name") == "Café du Port"


@pytest.mark.parametrize(
    "email", ["", "ada", "@", "a@b@c", "a b@c", "a" * 251 + "@b.c"]
)
def test_what_is_no_address_is_refused(email: str) -> None:
    with pytest.raises(Malformed, match=r"^email: "):
        check_email(email)


def test_an_address_is_kept_in_lower_case() -> None:
    assert check_email(" Ada@Example.ORG ") == "ada@example.org"


def test_scopes_are_known_words_and_at_least_one() -> None:
    assert parse_scopes(["node", " flow"]) == {Scope.NODE, Scope.FLOW}
    for words in ([], [""], ["root"], ["node", "root"], ["operator"]):
        with pytest.raises(Malformed, match=r"one or more of: node, flow$"):
            parse_scopes(words)


def test_an_operator_is_known_by_the_owner_of_the_key_and_by_its_scope() -> None:
    every, node = OF_ORGANIZATIONS, frozenset({Scope.NODE})
    operator = Principal(INSTALLATION, "7", every)
    assert (operator.is_operator, operator.actor) == (True, "operator:key:7")
    for principal in (
        Principal("harbour", "7", every),
        Principal(INSTALLATION, "7", node),
    ):
        assert (principal.is_operator, principal.actor) == (False, "key:7")


def test_a_key_lives_until_it_expires_or_is_revoked() -> None:
    def a_key(
        *, expires: datetime | None = None, revoked: datetime | None = None
    ) -> ApiKey:
        return ApiKey(
            id=new_id(),
            organization_id=new_id(),
            name="backend",
            hint="leyden_abcd",
            scopes=OF_ORGANIZATIONS,
            created=NOON,
            expires=expires,
            last_used=None,
            revoked=revoked,
        )

    second = timedelta(seconds=1)
    assert a_key().is_live(NOON)
    assert a_key(expires=NOON + second).is_live(NOON)
    assert not a_key(expires=NOON).is_live(NOON)
    assert not a_key(revoked=NOON).is_live(NOON)


def test_ids_are_random_uuids() -> None:
    first, second = new_id(), new_id()
    assert first != second
    assert uuid.UUID(first).version == 4
    assert str(uuid.UUID(first)) == first


def test_the_longest_name_and_address_are_taken() -> None:
    assert check_name("x" * 50, what="name") == "x" * 50
    longest = "a" * 250 + "@b.c"
    assert check_email(longest) == longest
    with pytest.raises(Malformed, match=r"^email: "):
        check_email("\u0130" + longest[1:])  # which is two letters in lower case


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_time_is_kept_to_the_microsecond(when: datetime) -> None:
    assert from_us(to_us(when)) == when


def test_a_time_is_shown_to_the_millisecond_with_a_z() -> None:
    assert to_iso(NOON) == "2026-03-01T12:00:00.123Z"
