import subprocess
import sys
from pathlib import Path

from leyden.storage import writing


def test_what_is_written_is_what_we_say() -> None:
    assert writing.stale() == []


def test_what_is_not_as_it_would_be_written_is_named(tmp_path: Path) -> None:
    writing.write(tmp_path)
    assert writing.stale(tmp_path) == []
    tasks = tmp_path / "tasks.py"
    tasks.write_text(tasks.read_text().replace("task.due <= :now", "1 = 1"))
    (tmp_path / "purchases.py").touch()
    (tmp_path / "nodes.py").unlink()
    changed = ["nodes.py", "purchases.py", "tasks.py"]
    assert writing.stale(tmp_path) == changed
    assert writing.write(tmp_path) == changed
    assert writing.stale(tmp_path) == []


def test_a_program_that_serves_does_without_sqlalchemy() -> None:
    look = """
import sys
import leyden.cli.serve, leyden.storage.sqlite, leyden.storage.postgres
print({"sqlalchemy", "alembic"} & {*sys.modules})
"""
    done = subprocess.run(
        [sys.executable, "-c", look], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"
