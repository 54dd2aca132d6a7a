"""A run that leaves as much behind as it can; test_reaper.py starts and ends it.

By its name pytest does not collect it unless it is asked to.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from leyden.base.processes import ProcessIdentity, alive, holder, identify, spawn
from leyden.nodes.runtimes.local import nftables
from leyden.nodes.runtimes.local.egress_policy import EgressPolicy
from leyden.nodes.runtimes.local.placement import LEAST_MEMORY, Placement, Share
from leyden_workshop.devnet.waiting import until
from tests.control_groups import groups
from tests.disks import small_disk
from tests.nodes.contracts.runtimes import a_loopback_network
from tests.reaper import in_memory

REPORT = "TEST_RUN_REPORT"
WISH = "TEST_RUN_WISH"
_FIRST_UID = 0x5EED0000
# What a platform does: it starts a daemon apart from itself, and ends.
_PLATFORM = """
import asyncio, sys
from pathlib import Path
from leyden.base.processes import spawn
home = Path(sys.argv[1])
asyncio.run(spawn(["/bin/sleep", "600"], log=home / "log", claim=home / "claim"))
"""


async def test_of_a_run_that_is_ended(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    subprocess.run([sys.executable, "-c", _PLATFORM, str(home)], check=True)
    orphan = holder(home / "claim")
    assert orphan is not None
    daemons = [orphan, await spawn(["/bin/sleep", "600"], log=home / "log")]
    left = {"table": "", "mount": "", "groups": ""}
    if "everything" in os.environ[WISH]:
        request.getfixturevalue("postgres_server")
        daemons += [_postmaster()]
        left |= _of_root(home, orphan)
    report = {
        "pytest": os.getpid(),
        "reaper": os.getppid(),
        "daemons": [each.written for each in daemons],
        "folder": tempfile.gettempdir(),
        **left,
    }
    part = Path(f"{os.environ[REPORT]}.part")
    part.write_text(json.dumps(report))
    part.rename(os.environ[REPORT])
    if "wait" in os.environ[WISH]:
        await asyncio.get_running_loop().create_future()


async def test_of_the_next_worker() -> None:
    """What the one before left behind has ended while this run goes on."""
    report = json.loads(Path(os.environ[REPORT]).read_text())
    left = [ProcessIdentity.read(each) for each in report["daemons"]]

    async def ended() -> bool:
        return not any(map(alive, left))

    if report["pytest"] != os.getpid():
        await until(ended, "the daemons of a killed worker do not end", within_s=15)


def _postmaster() -> ProcessIdentity:
    path = Path(in_memory() or tempfile.gettempdir())
    (file,) = path.glob("leyden-postgres-*/postmaster.pid")
    found = identify(int(file.read_text().split()[0]))
    assert found is not None
    return found


def _of_root(home: Path, daemon: ProcessIdentity) -> dict[str, str]:
    """Leave what only root can, where this machine has it."""
    left = {}
    if not os.geteuid():
        disk = small_disk(home / "disk", mib=1)
        left["mount"] = str(disk.__enter__())  # nobody unmounts it
        _KEPT.append(disk)
    if not nftables.unavailable_reason():
        placement = Placement(network=a_loopback_network(), first_uid=_FIRST_UID)
        policy = EgressPolicy(home=home, placement=placement)
        nftables.apply(policy)
        left["table"] = policy.table
    made = groups(home)
    if made is not None:
        made.prepare()
        made.hold("lamp", daemon, Share(memory=LEAST_MEMORY))
        left["groups"] = made.folder.name
    return left


_KEPT: list[object] = []
