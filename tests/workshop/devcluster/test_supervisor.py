"""The first process of a machine says why a step of its plan can't be done."""

import os
import subprocess
import sys
from pathlib import Path

from leyden_workshop.devcluster.plans import MachinePlan, shell


def test_a_step_that_cannot_be_done_ends_it_with_the_reason(tmp_path: Path) -> None:
    todo = (shell("echo no such tide >&2; exit 3"), shell(f": > {tmp_path}/after"))
    plan = tmp_path / "plan.json"
    environment = {"PATH": os.defpath}
    MachinePlan(logs=tmp_path, environment=environment, todo=todo).write(plan)
    done = subprocess.run(
        [sys.executable, "-m", "leyden_workshop.devcluster.supervisor", plan],
        stderr=subprocess.PIPE,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.strip().endswith("no such tide")
    assert not (tmp_path / "after").exists()
