"""What helpers are asked to do in tests."""

import os
import time
from pathlib import Path

from leyden.errors import Malformed


def after_cpu_s(seconds: float) -> int:
    """Compute for so long; return which process did."""
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    return os.getpid()


def refuse(message: str) -> None:
    raise Malformed(message)


def many_bytes(number: int) -> int:
    return len(bytearray(number))


def environment() -> list[str]:
    return list(os.environ)


def niceness() -> int:
    return os.nice(0)


def tell_pid(path: str) -> None:
    Path(path).write_text(str(os.getpid()))


def until_exists(path: str) -> None:
    while not Path(path).exists():
        time.sleep(0.01)
