"""The list of the longest files names files that there are, and is obeyed."""

import subprocess
import sys

from tests.longest_first import LONGEST, ROOT

SHORT = "tests/test_values.py"


def test_each_of_them_is_there() -> None:
    assert [name for name in LONGEST if not (ROOT / name).is_file()] == []


def test_they_are_begun_first() -> None:
    words = ("-q", "--collect-only", "--longest-first", "-p", "no:cacheprovider")
    given = (SHORT, LONGEST[-1], LONGEST[2])
    done = subprocess.run(
        (sys.executable, "-m", "pytest", *words, "-p", "no:schemathesis", *given),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    files = [line.partition("::")[0] for line in done.stdout.splitlines()]
    known = [name for name in dict.fromkeys(files) if name in given]
    assert known == [LONGEST[2], LONGEST[-1], SHORT], done.stdout
