"""Every run of pytest is below a reaper of its own, and so is every worker of it."""

import shlex
import sys
from pathlib import Path

import execnet
import pytest

from tests import reaper


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    if hasattr(config, "workerinput") or sys.platform != "linux":
        return
    folder = reaper.make_folder()
    if config.option.basetemp is None:  # `--basetemp=FOLDER` keeps the files
        config.option.basetemp = str(folder / "pytest")
    reaper.supervise(folder)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(specs: list[execnet.XSpec]) -> None:
    program = shlex.join([sys.executable, str(Path(reaper.__file__))])
    for position, spec in enumerate(specs):
        if spec.popen and not spec.python:
            specs[position] = execnet.XSpec(f"{spec}//python={program}")
            specs[position].id = spec.id  # gw0 stays gw0
