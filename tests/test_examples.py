"""Examples that are run without what they need say what that is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ports import free_port

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run an example with these variables, and none of a platform's besides."""
    return subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "first_node.py",
            (
                "LEYDEN_URL is not set: while `./leyden up` runs, type this first:\n"
                '    eval "$(./leyden dev env)"\n'
            ),
        ),
        (
            "unlocker.py",
            "NODE_API is not set; this file begins with how to call it\n",
        ),
    ],
    ids=["first_node", "unlocker"],
)
def test_an_example_says_what_it_needs_when_the_environment_is_empty(
    name: str, text: str
) -> None:
    done = run(name)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", text)


def test_the_first_node_says_so_when_the_platform_is_down() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    rest = dict.fromkeys(("KEY", "ORGANIZATION", "GATEWAY", "CA"), "pier")
    done = run(
        "first_node.py",
        LEYDEN_URL=url,
        **{f"LEYDEN_{name}": value for name, value in rest.items()},
    )
    text = f"{url} does not respond; start it with `./leyden up`\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", text)
