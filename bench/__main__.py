"""Run one benchmark: `python -m bench NAME ARGUMENTS`.

A benchmark that is ended, as `timeout` ends it, ends what it started, as after Ctrl-C.
"""

import runpy
import signal
import sys


def _interrupt(*_: object) -> None:
    # Once: `timeout` sends it to the process, and then to its group.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.raise_signal(signal.SIGINT)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _interrupt)
    _, name, *arguments = sys.argv
    sys.argv = [name, *arguments]
    runpy.run_module(f"bench.{name}", run_name="__main__", alter_sys=True)
