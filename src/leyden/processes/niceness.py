"""How far a program yields to others where processors are short.

Linux may schedule sessions before processes (autogroup): then what counts is the
niceness of a session, and that of a process only within its own. A program that was
spawned leads a session of its own, so that both are set.
"""

import contextlib
import os
from pathlib import Path
from typing import Final

# Without privilege nobody takes a higher niceness of a process back.
_MOST_FOR_GOOD: Final = 10


def set_niceness(pid: int, niceness: int) -> bool:
    """Set the niceness of a session's leader, its threads and its session.

    Return False if the kernel asks to try again in a moment. What it does not
    allow (another's process), or does not know, stays as it is.
    """
    own = niceness if os.geteuid() == 0 else min(niceness, _MOST_FOR_GOOD)
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PGRP, pid, own)  # of all threads, unlike PRIO_PROCESS
    try:
        Path(f"/proc/{pid}/autogroup").write_text(str(niceness))
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True
