"""A helper: runs the calls that it receives, until the connection is closed."""

import contextlib
import pickle
import resource
import signal
import socket
import sys
import time
import traceback
from typing import Any

from leyden.helpers import frames

_MOST_BYTES = 512 * 1024 * 1024  # of addresses; 60 MiB are taken by itself


def main(most_cpu_s: float) -> None:
    """Serve calls; one that takes more CPU time than allowed ends this process."""
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Its default is to end the process, even in the middle of a C function.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    connection = socket.socket(fileno=0)
    with contextlib.suppress(EOFError, OSError):  # nobody is there any more
        while True:
            work = pickle.loads(frames.receive(connection))  # noqa: S301  ours
            signal.setitimer(signal.ITIMER_PROF, most_cpu_s)
            answer = _answer(work)
            signal.setitimer(signal.ITIMER_PROF, 0)
            frames.send(connection, answer)


def _answer(work: Any) -> bytes:
    """Return the result or the exception, and the CPU time it took."""
    began_s = time.process_time()
    value = error = None
    try:
        value = work()
    except BaseException as raised:  # noqa: BLE001  it is raised at the caller
        # A traceback is not sent; its lines, which hold no values, are.
        raised.add_note("".join(traceback.format_tb(raised.__traceback__)))
        error = raised
    taken_s = time.process_time() - began_s
    try:
        return pickle.dumps((value, error, taken_s))
    except Exception as unsent:  # noqa: BLE001  of any kind, says pickle
        return pickle.dumps((None, TypeError(str(unsent)), taken_s))


if __name__ == "__main__":
    main(float(sys.argv[1]))
