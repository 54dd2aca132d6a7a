"""A count of this machine's lnds by how they were started.

Claims keep a second lnd from being started in a folder. This checks that
there is none, without relying on claims.
"""

import os
from collections import Counter
from pathlib import Path


def lnds(root: Path) -> Counter[str]:
    """Count processes with a node's folder below `root`, by node id."""
    found: Counter[str] = Counter()
    beginning = f"--lnddir={root}/"
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended meanwhile
        for word in map(os.fsdecode, words):
            if word.startswith(beginning):
                found[word.removeprefix(beginning).partition("/")[0]] += 1
                break
    return found
