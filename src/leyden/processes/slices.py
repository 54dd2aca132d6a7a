"""Request short scheduler slices, so that a thread runs soon on busy processors.

Since Linux 6.12 a thread can request the length of its time slices. With short ones it
runs as soon as it has something to do. Otherwise it waits until the running thread's
slice ends: usually 3 ms, whatever that thread's niceness.
"""

import ctypes
import os
from ctypes import c_int32, c_uint32, c_uint64
from typing import Final

_SHORT_NS: Final = 100_000  # the shortest that Linux accepts
_RESET_ON_FORK: Final = 1
_SYSCALLS: Final = {"x86_64": 314, "aarch64": 274}  # of sched_setattr


class _Attributes(ctypes.Structure):
    """struct sched_attr of sched_setattr(2)."""

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
    """Request short slices for this thread; return whether the kernel accepted that.

    Programs and threads that it starts have the usual ones. Older kernels accept the
    request and ignore it.
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
