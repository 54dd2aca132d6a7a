"""What `leyden up` asks at a terminal, once it is up."""

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.customer.trust.machine import ALONE, Machine, database, made, names

# As `up` does: asked while the loop runs, and by a program that is called `leyden`.
ASKS = """
import asyncio, sys
from pathlib import Path
import uvloop
from leyden_workshop.cli import trust_offer
async def up():
    asking = asyncio.create_task(trust_offer.ask_meanwhile(Path(sys.argv[1])))
    await asyncio.wait([asking], timeout=float(sys.argv[2]))
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    print("goes on", flush=True)
home, sys.argv[0] = sys.argv[1], sys.argv[3]
uvloop.run(up())
"""
LEYDEN = "#!{}\nfrom leyden.app.main import main\nmain()\n"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = made(tmp_path / "machine")
    machine.authority()
    program = tmp_path / "leyden"
    program.write_text(LEYDEN.format(sys.executable))
    program.chmod(0o755)
    return machine


def at_a_terminal(machine: Machine, typed: bytes, *, seconds: float) -> str:
    """Ask at a terminal; return all that stood on it."""
    ours, theirs = pty.openpty()
    alone = ["unshare", "--mount", "--propagation", "private", "sh", "-c", ALONE, "sh"]
    asks = [sys.executable, "-c", ASKS, str(machine.platform), str(seconds)]
    process = subprocess.Popen(
        [
            *alone,
            *(machine.anchors, machine.bundles, machine.listed),
            *asks,
            machine.folder / "../leyden",
        ],
        env=machine.environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    said = b""
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        if not select.select([ours], [], [], 1)[0]:
            continue
        try:
            said += os.read(ours, 4096)
        except OSError:  # it has ended
            break
        if b"[y/N]" in said and typed:
            os.write(ours, typed)
            typed = b""
    os.close(ours)
    assert process.wait(10) == 0, said
    return said.decode()


def test_a_yes_trusts_it_and_it_is_not_asked_again(machine: Machine) -> None:
    path = database(machine.person / ".pki/nssdb")
    said = at_a_terminal(machine, b"y\n", seconds=90)
    assert "trusted" in said
    assert "goes on" in said
    assert names(path) == {"Leyden nodes.localhost": "C,,"}
    assert "[y/N]" not in at_a_terminal(machine, b"", seconds=90)


def test_a_no_and_no_answer_change_nothing(machine: Machine) -> None:
    path = database(machine.person / ".pki/nssdb")
    for typed in (b"n\n", b"\n"):
        assert "goes on" in at_a_terminal(machine, typed, seconds=90)
    assert "goes on" in at_a_terminal(machine, b"", seconds=0.5)
    assert names(path) == {}


def test_where_there_is_no_terminal_nobody_is_asked(machine: Machine) -> None:
    done = machine.run(sys.executable, "-c", ASKS, machine.platform, "90", "leyden")
    assert done.stdout == "goes on\n"
