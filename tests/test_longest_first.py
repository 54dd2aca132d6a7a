"""The list of the longest files names files that there are, and is obeyed."""

import os
import subprocess
import sys

from tests import programs
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
        # Not as the run that builds what it needs, which begins with something else.
        env={k: v for k, v in os.environ.items() if not k.startswith(programs.RUN)},
        capture_output=True,
        text=True,
        check=False,
    )
    files = [line.partition("::")[0] for line in done.stdout.splitlines()]
    known = [name for name in dict.fromkeys(files) if name in given]
    assert known == [LONGEST[2], LONGEST[-1], SHORT], done.stdout


def test_who_would_start_for_itself_what_others_share_is_refused() -> None:
    apart = "tests/nodes/contracts/test_identity.py"
    code = (
        "import sys, pytest\n"
        "class Apart:\n"
        "    def pytest_configure(self, config):\n"
        "        del sys.modules['tests.longest_first']._GROUPS[sys.argv[1]]\n"
        "words = ['-q', '--collect-only', '--longest-first', '-p', 'no:schemathesis']\n"
        "sys.exit(pytest.main([*words, sys.argv[1]], plugins=[Apart()]))\n"
    )
    done = subprocess.run(
        (sys.executable, "-c", code, apart),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4, done.stdout
    assert "uses the fixture of 'treasury'" in done.stderr
