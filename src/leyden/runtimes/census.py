"""Counting the lnds of this machine by how they were started, and by nothing else.

Claims keep a second lnd from being started in a folder. This looks whether there is one
all the same, and asks no claim.
"""

import os
from collections import Counter
from pathlib import Path


def lnds(root: Path) -> Counter[str]:
    """Count the processes that have a node's folder below `root`, by the node's id."""
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
