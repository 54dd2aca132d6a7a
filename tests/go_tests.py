"""Our programs in Go have tests of their own, which run as one of ours."""

import os
import re
import subprocess

from leyden.base.daemons.build import default_cache
from leyden.base.daemons.catalogue import ToolSet
from leyden_workshop.compiler.compiler import build_environment
from leyden_workshop.compiler.toolchain import toolchain
from tests.programs import only_with_all

# What failed, and why: lines that would be lost among what the program logs.
_FAILED = re.compile(r"^\s*--- FAIL.*|^\s+\w+_test\.go:\d+: .*", re.MULTILINE)


async def assert_its_own_tests_pass(tools: ToolSet) -> None:
    """Run them as the program is built, so that nothing is compiled a second time.

    With other settings Go compiles all of lnd once more, which takes minutes.
    """
    only_with_all("Go")
    go = await toolchain(
        default_cache(os.environ), oldest=tools.go, environment=os.environ
    )
    done = subprocess.run(
        (go, "test", "-trimpath", "./..."),
        cwd=tools.folder,
        env=build_environment(go, os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    printed = done.stdout + done.stderr
    failed = "\n".join(_FAILED.findall(printed))
    assert done.returncode == 0, f"{failed}\n\n{printed}"
