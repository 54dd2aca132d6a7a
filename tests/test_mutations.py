"""Taking any guard away makes some test fail."""

import re

import pytest

from tests.guards import Guard
from tests.mutations import GUARDS, ROOT, failing

RECORD = ROOT / "docs/decisions/0013-guards-and-the-tests-that-hold-them.md"


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.what)
def test_each_guard_stands_where_the_list_says(guard: Guard) -> None:
    text = (ROOT / "src" / "leyden" / guard.file).read_text()
    assert text.count(guard.with_it) == 1


def test_the_record_names_them_all_with_tests_that_there_are() -> None:
    rows = re.findall(
        r"^\| (.+?) \| `(.+?)` \| `(.+?)` \|$", RECORD.read_text(), re.MULTILINE
    )
    assert [row[:2] for row in rows] == [(each.what, each.file) for each in GUARDS]
    for _, _, test in rows:
        file, _, name = test.partition("::")
        files = ROOT.glob(f"tests/**/{file}")
        assert any(f"def {name}(" in each.read_text() for each in files)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.what)
def test_without_the_guard_a_test_fails(guard: Guard) -> None:
    assert failing(guard) is not None
