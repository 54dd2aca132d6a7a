"""No two public classes share a name.

The client library keeps its own words, and generated stubs have the names of their
protocols.
"""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
_SOURCES = ("src/leyden", "workshop/src/leyden_workshop")
_FREE = (ROOT / "src/leyden/client", ROOT / "src/leyden/channels/tickets/stubs")


def test_public_classes_have_names_of_their_own() -> None:
    found = defaultdict(list)
    for source in _SOURCES:
        for file in (ROOT / source).rglob("*.py"):
            if any(file.is_relative_to(folder) for folder in _FREE):
                continue
            for node in ast.parse(file.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(str(file.relative_to(ROOT)))
    assert {name: files for name, files in found.items() if len(files) > 1} == {}
