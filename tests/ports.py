"""Ports for servers of tests: each is given out once, whoever else runs tests here.

The system's own choice (bind to 0, close, use later) is lost to the next outgoing
connection or to another test that asks; this range is never chosen by the system.
"""

import fcntl
import os
import socket
import tempfile
from pathlib import Path

from tests.reaper import PORTS

_FIRST, _LAST = 28_000, 32_700  # below what the system gives to connections


def free_port() -> int:
    """Return a port that nobody uses, and that no other test will be given soon."""
    ledger = Path(os.environ.get(PORTS, f"{tempfile.gettempdir()}/leyden-test-ports"))
    with ledger.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
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
        file.truncate(0)
        file.write(str(port))
    return port


def free_network() -> str:
    """Return addresses of this machine for nodes, that no other test will be given.

    Two installations must share none: an lnd would find its address taken, and callers
    would reach the other one's.
    """
    port = free_port()  # 28,000 and above: 127.109.96.0 and above
    return f"127.{port // 256}.{port % 256}.0/24"


def free_ports(count: int) -> tuple[int, ...]:
    """Return so many different ports."""
    return tuple(free_port() for _ in range(count))
