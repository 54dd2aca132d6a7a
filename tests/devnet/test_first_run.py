"""dev.json, when several processes have something to add to it."""

import subprocess
import sys
from pathlib import Path

from leyden.devnet import first_run

EACH = 100
# They wait for one another, so that they begin in the same moment.
ADDS = """
import sys
from pathlib import Path
from leyden.devnet import first_run
home, name, each = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for number in range(each):
    first_run.write(home, {f"{name} {number}": number})
"""


def test_two_processes_that_add_fields_at_once_lose_none(tmp_path: Path) -> None:
    names = ("harbour", "lighthouse")
    begun = [
        subprocess.Popen(
            [sys.executable, "-c", ADDS, str(tmp_path), name, str(EACH)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    for each in begun:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in begun:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    for each in begun:
        each.communicate(timeout=60)
    assert [each.returncode for each in begun] == [0, 0]
    expected = {f"{name} {at}": at for name in names for at in range(EACH)}
    assert first_run.read(tmp_path) == expected
    assert (tmp_path / first_run.FILE).stat().st_mode & 0o777 == 0o600
