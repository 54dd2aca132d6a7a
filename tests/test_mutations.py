"""Taking any guard away makes some test fail."""

from pathlib import Path

import pytest

from tests.mutations import GUARDS, ROOT, Guard, failing, taken_away


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.what)
def test_each_guard_stands_where_the_list_says(guard: Guard) -> None:
    times = (ROOT / "src" / "leyden" / guard.file).read_text().count(guard.with_it)
    assert times == 1, (
        f"{times} times in src/leyden/{guard.file}:\n{guard.with_it}\n"
        "If you changed this guard, change its entry in tests/mutations.py, and run "
        "`python -m tests.mutations WORD` with a word of its name. If you removed it, "
        "say why it is not needed."
    )


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.what)
def test_each_guard_names_tests_that_there_are(guard: Guard) -> None:
    missing = [path for path in guard.tests.split() if not (ROOT / path).exists()]
    assert not missing, f"its entry in tests/mutations.py names {missing}"


def test_the_sources_stay_as_they_are_while_a_guard_is_away(tmp_path: Path) -> None:
    guard = GUARDS[0]
    sources = taken_away(guard, tmp_path)
    assert guard.with_it not in (sources / "leyden" / guard.file).read_text()
    assert guard.with_it in (ROOT / "src" / "leyden" / guard.file).read_text()


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.what)
def test_without_the_guard_a_test_fails(guard: Guard) -> None:
    assert failing(guard) is not None
