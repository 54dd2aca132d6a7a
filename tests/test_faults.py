"""The tests that docs/operators/faults.md promises are there."""

import re
from pathlib import Path

TESTS = Path(__file__).parent


def test_what_is_said_to_be_shown_is_shown() -> None:
    page = (TESTS.parent / "docs" / "operators" / "faults.md").read_text()
    promised = re.findall(r"`([a-z_/]+\.py)::([a-z0-9_]+)`", page)
    assert len(promised) > 30
    for file, name in promised:
        found = re.search(
            rf"^(async )?def {name}\(", (TESTS / file).read_text(), re.MULTILINE
        )
        assert found, f"{file} has no {name}"
