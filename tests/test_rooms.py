"""What import-linter can't say of the rooms: services stand on rows, and rows on rules.

Its contracts name folders, and services are the modules of the room itself.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src"
BELOW_ALL = {"schemas", "errors", "values"}


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("leyden."):
            yield from (f"{node.module}.{each.name}" for each in node.names)


@pytest.mark.parametrize(
    ("layer", "below"), [("rows", {"rows", "rules", "database"}), ("rules", {"rules"})]
)
def test_a_layer_imports_no_higher_one(layer: str, below: set[str]) -> None:
    paths = sorted(SOURCES.glob(f"leyden/**/{layer}/*.py"))
    assert paths
    upwards = {
        f"{path.relative_to(SOURCES)} imports {name}"
        for path in paths
        for name in _imports(path)
        if not (below | BELOW_ALL) & set(name.split("."))
    }
    assert upwards == set()
