"""What the hooks of `.pre-commit-config.yaml` say to commits."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

CONFIG = Path(__file__).parents[1] / ".pre-commit-config.yaml"
OWN, RUFF = yaml.safe_load(CONFIG.read_text())["repos"]
(HOOK,) = OWN["hooks"]


@pytest.mark.parametrize(
    ("subject", "passes"),
    [
        ("nodes: fix a restart that forgets the whitelist", True),
        ("nodes, docs: add a setting for the fee of a hop", True),
        ("Merge branch 'rooms'", True),
        ('Revert "nodes: add a setting"', True),
        ("nodes: let no restart forget the whitelist", False),
        ("fix a restart that forgets the whitelist", False),
        ("nodes: fix", False),
        (f"nodes: fix {'a' * 61}", True),
        (f"nodes: fix {'a' * 62}", False),
    ],
)
def test_the_hook_asks_for_an_area_a_verb_and_72_characters(
    subject: str, *, passes: bool
) -> None:
    message = f"{subject}\n\nnodes: add a reason in the body.\n"
    # As pre-commit's pygrep does with --multiline; with --negate, it must be found.
    found = re.search(HOOK["entry"], message, re.MULTILINE | re.DOTALL)
    assert bool(found) is passes


def test_the_hook_has_the_ruff_of_the_project() -> None:
    project = tomllib.loads((CONFIG.parent / "pyproject.toml").read_text())
    ruff = f"ruff=={RUFF['rev'].removeprefix('v')}"
    assert ruff in project["dependency-groups"]["dev"]
