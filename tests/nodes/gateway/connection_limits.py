"""The compiler of the filter: `python -m tests.nodes.gateway.connection_limits`.

The compiler is pinned, so that the same source makes the same bytes everywhere.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

GATEWAY: Final = Path(__file__).parents[3] / "src" / "leyden" / "nodes" / "gateway"
SOURCE: Final = GATEWAY / "connection_limits.c"
FILTER: Final = GATEWAY / "connection_limits.wasm"
_FLAGS: Final = (
    *("-target", "wasm32-freestanding", "-mcpu=mvp", "-O2", "-nostdlib"),
    *("-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"),
    # No more than what a callback and what it calls put on it.
    *("-Wl,--no-entry", "-Wl,--strip-all", "-Wl,-z,stack-size=4096"),
)


def compiled() -> bytes:
    """Return what the pinned compiler makes of the source."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "connection_limits.wasm"
        caches = dict.fromkeys(("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), folder)
        subprocess.run(
            # By its name alone: where it lies must not be in what comes out.
            [sys.executable, "-m", "ziglang", "cc", *_FLAGS, "-o", made, SOURCE.name],
            check=True,
            cwd=GATEWAY,
            env={**os.environ, **caches},
        )
        return made.read_bytes()


if __name__ == "__main__":
    FILTER.write_bytes(compiled())
