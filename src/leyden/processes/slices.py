"""How soon a thread is let in where others use the processors.

Since Linux 6.12 a thread may ask for a slice of its own. One that asks for a short one
is let in as soon as it has something to do; else it waits until whoever computes has
come to the end of a usual slice, 3 ms, however nice that one is.
"""

import ctypes
import os
from ctypes import c_int32, c_uint32, c_uint64
from typing import Final

_SHORT_NS: Final = 100_000  # the shortest that Linux takes
_RESET_ON_FORK: Final = 1
_SYSCALLS: Final = {"x86_64": 314, "aarch64": 274}  # of sched_setattr


class _Attributes(ctypes.Structure):
    """struct sched_attr, as sched_setattr(2) has it."""

    _fields_ = (
        ("size", c_uint32),
        ("policy", c_uint32),
        ("flags", c_uint64),
        ("nice", c_int32),
        ("priority", c_uint32),
        ("runtime", c_uint64),
        ("deadline", c_uint64),
        ("period", c_uint64),
    )


def ask_for_short_slices() -> bool:
    """Ask for short slices for this thread; return whether the kernel took it.

    Programs and threads that it starts have usual ones. Older kernels take it, and go
    on as before.
    """
    number = _SYSCALLS.get(os.uname().machine)
    if number is None:
        return False
    wanted = _Attributes(
        size=ctypes.sizeof(_Attributes),
        policy=os.SCHED_OTHER,
        flags=_RESET_ON_FORK,
        nice=os.getpriority(os.PRIO_PROCESS, 0),
        runtime=_SHORT_NS,
    )
    libc = ctypes.CDLL(None)
    code: int = libc.syscall(number, 0, ctypes.byref(wanted), 0)
    return code == 0
