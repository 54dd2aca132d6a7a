"""Uses a share of a processor, and nothing else: the least that an attack costs.

    python -m bench.burner SHARE SECONDS

In pieces as small as those of a program that waits for many connections.
"""

import os
import sys
import time

from leyden.base.processes import set_niceness

_PIECE_S = 0.001


def burn(share: float, seconds: float) -> None:
    """Compute for that share of the time, as far as there is a processor for it."""
    began = time.monotonic()
    while (passed := time.monotonic() - began) < seconds:
        if time.process_time() < share * passed:
            until = time.process_time() + _PIECE_S
            while time.process_time() < until:
                pass
        else:
            time.sleep(_PIECE_S)


if __name__ == "__main__":
    set_niceness(os.getpid(), 19)  # as attackers have
    burn(float(sys.argv[1]), float(sys.argv[2]))
