"""Set the niceness of programs: their priority when CPU time is short.

Linux may schedule by session first (autogroup): then the niceness of the session
counts, and that of a process only within its session. A spawned program leads a session
of its own, so both are set.
"""

import contextlib
import os
from pathlib import Path
from typing import Final

# Without privileges a raised niceness can't be lowered again.
_MOST_FOR_GOOD: Final = 10


def set_niceness(pid: int, niceness: int) -> bool:
    """Set the niceness of a session's leader, its threads and its session.

    Return False if the kernel says to try again later. Ignore what is not
    permitted (another user's process), or not supported.
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
