"""What makes room in the history of a backup, and what never does."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from leyden.nodes.rules.backup_history import (
    LONG_USE,
    MAX_BRIEF,
    BackupVersion,
    versions_to_delete,
)
from tests.conftest import NOW

MINUTE = timedelta(minutes=1)


def history(*uses: timedelta) -> list[BackupVersion]:
    """The first one, and then one after each of these times."""
    versions = [BackupVersion(0, NOW)]
    for use in uses:
        versions.append(BackupVersion(len(versions), versions[-1].until + use))
    return versions


def test_a_few_all_stay() -> None:
    assert versions_to_delete([]) == []
    assert versions_to_delete(history(*[MINUTE] * MAX_BRIEF)) == []


def test_the_first_and_what_was_in_use_for_a_day_stay_whatever_follows() -> None:
    uses = (LONG_USE, MINUTE, *[MINUTE * 2] * 60)
    gone = versions_to_delete(history(*uses))
    assert len(gone) == 41
    assert not {0, 1} & {*gone}
    assert gone[0] == 2, "it was in use for the shortest time"


def test_what_was_in_use_for_hours_outlasts_what_was_for_minutes() -> None:
    uses = (timedelta(hours=3), *[MINUTE] * 500)
    assert 1 not in versions_to_delete(history(*uses))


def test_of_equals_the_latest_stay() -> None:
    assert versions_to_delete(history(*[timedelta()] * (MAX_BRIEF + 2))) == [1, 2]


def test_a_clock_that_was_set_back_pushes_nothing_out() -> None:
    uses = (timedelta(days=-9), *[MINUTE] * 60)
    assert 1 not in versions_to_delete(history(*uses))


@given(
    st.lists(st.integers(min_value=0, max_value=3 * 24 * 60), max_size=120),
)
def test_however_they_follow_what_has_to_stay_stays(minutes: list[int]) -> None:
    versions = history(*(MINUTE * each for each in minutes))
    stored: list[BackupVersion] = []
    for version in versions:  # one after the other, as they come
        stored.append(version)
        gone = versions_to_delete(stored)
        stored = [each for each in stored if each.id not in gone]
    days = sum(MINUTE * each >= LONG_USE for each in minutes)
    assert len(stored) <= 1 + days + MAX_BRIEF + days
    assert stored[0].id == 0
    long = {at for at, each in enumerate(minutes, start=1) if MINUTE * each >= LONG_USE}
    assert long <= {each.id for each in stored}
