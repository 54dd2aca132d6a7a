"""Programs on a machine whose clock is wrong: they start with a library before libc.

subprocess.run([*clocks.ahead(folder, seconds=3_600), *command])
"""

import os
import subprocess
import sys
from pathlib import Path

# What a program starts has the right time: Envoy waits until a time of the clock.
_SOURCE = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long ahead;

__attribute__((constructor)) static void begin(void) {
    const char *said = getenv("CLOCK_AHEAD_S");
    ahead = said ? atol(said) : 0;
    unsetenv("LD_PRELOAD");
}

int clock_gettime(clockid_t which, struct timespec *at) {
    int failed = syscall(SYS_clock_gettime, which, at);
    if (!failed && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE))
        at->tv_sec += ahead;
    return failed;
}

int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at)
        *at = now.tv_sec;
    return now.tv_sec;
}
"""


def ahead(folder: Path, *, seconds: int) -> list[str]:
    """Return the beginning of a command whose clock is ahead by so much."""
    library = folder / "clock.so"
    if not library.exists():
        source = folder / "clock.c"
        source.write_text(_SOURCE)
        caches = ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")
        subprocess.run(
            [
                *(sys.executable, "-m", "ziglang", "cc", "-shared", "-fPIC", "-O1"),
                *("-o", library, source),
            ],
            check=True,
            env={**os.environ, **dict.fromkeys(caches, str(folder / "zig"))},
        )
    return ["env", f"LD_PRELOAD={library}", f"CLOCK_AHEAD_S={seconds}"]
