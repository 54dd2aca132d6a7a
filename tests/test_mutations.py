"""Taking any guard away makes some test fail."""

import pytest

from tests.guards import Guard
from tests.mutations import GUARDS, ROOT, failing


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.what)
def test_each_guard_stands_where_the_list_says(guard: Guard) -> None:
    text = (ROOT / "src" / "leyden" / guard.file).read_text()
    assert text.count(guard.with_it) == 1


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.what)
def test_each_guard_names_tests_that_there_are(guard: Guard) -> None:
    assert all((ROOT / path).exists() for path in guard.tests.split())


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.what)
def test_without_the_guard_a_test_fails(guard: Guard) -> None:
    assert failing(guard) is not None
