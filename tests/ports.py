"""Ports for servers of tests: each is given out once, whoever else runs tests here.

The system's own choice (bind to 0, close, use later) is lost to the next outgoing
connection or to another test that asks; this range is never chosen by the system.
"""

import fcntl
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from tests.reaper import PORTS

_FIRST, _LAST = 28_000, 32_700  # below what the system gives to connections
_FIRST_NETWORK, _LAST_NETWORK = 65, 250  # 127.64.0.0/16 is whose home names none


def free_port() -> int:
    """Return a port that nobody uses, and that no other test will be given soon."""
    with _ledger() as file:
        port = int(file.read() or _LAST)
        while True:
            port = port + 1 if _FIRST <= port < _LAST else _FIRST
            with socket.socket() as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    trial.bind(("0.0.0.0", port))  # noqa: S104 -- taken anywhere is taken
                except OSError:
                    continue
            break
        _note(file, port)
    return port


def connected_to(port: int) -> list[socket.socket]:
    """Return copies of this process' sockets that are connected to the port."""
    found = []
    for each in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # closed meanwhile, or not connected
            if each.readlink().name.startswith("socket:"):
                with socket.socket(fileno=os.dup(int(each.name))) as line:
                    if line.family == socket.AF_INET and line.getpeername()[1] == port:
                        found.append(line.dup())
    return found


def free_network() -> str:
    """Return addresses of this machine for nodes, that no other test is given soon.

    Two installations must share none: an lnd would find its address taken, and callers
    would reach the other one's.
    """
    with _ledger(".networks") as file:
        number = int(file.read() or _LAST_NETWORK)
        number = number + 1 if number < _LAST_NETWORK else _FIRST_NETWORK
        _note(file, number)
    return f"127.{number}.0.0/16"


@contextmanager
def _ledger(suffix: str = "") -> Iterator[IO[str]]:
    """Yield the file that says what was given out last; one process at a time."""
    shared = os.environ.get(PORTS, f"{tempfile.gettempdir()}/leyden-test-ports")
    with Path(shared + suffix).open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        yield file


def _note(file: IO[str], given: int) -> None:
    file.truncate(0)
    file.write(str(given))


def free_ports(count: int) -> tuple[int, ...]:
    """Return so many different ports."""
    return tuple(free_port() for _ in range(count))
