"""Delete plaintext macaroons from a node's folder.

A macaroon on disk is a plaintext key to a wallet. A wallet that is created
and unlocked statelessly leaves none. A single unlock without
`stateless_init` writes admin.macaroon and seven more, and the platform can't
see inside the TLS connection of the unlock. So the files are searched for
and deleted, and the owner is notified. lnd only writes them, and never reads
them.
"""

import contextlib
import os
from pathlib import Path

_SUFFIX = ".macaroon"


def sweep(home: Path) -> tuple[str, ...]:
    """Delete the macaroons under a node's folder; list their paths relative to it.

    Links are deleted, never followed: a node's process may have created them as a
    trap for a platform that runs as root. A second call finds nothing.
    """
    found: list[str] = []
    if not home.is_dir():
        return ()
    for folder, _, files, descriptor in os.fwalk(home):
        for name in files:
            if not name.lower().endswith(_SUFFIX):
                continue
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=descriptor)
            found.append(os.path.relpath(Path(folder, name), home))
    return tuple(sorted(found))
