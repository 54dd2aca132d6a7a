"""The files that an Envoy in a container of its own starts with.

The container's manager starts Envoy in this folder with `bootstrap.flags`, and restarts
it when it dies. The folder holds a token: put it in memory.
"""

import resource
from hashlib import sha256
from pathlib import Path
from typing import Final

from leyden.base.files import write_private
from leyden.nodes.gateway import hash_key, supervisor
from leyden.nodes.gateway.bootstrap import Bootstrap
from leyden.nodes.gateway.filters import LIMITS
from leyden.values import replace

BOOTSTRAP: Final = "bootstrap.json"


def prepare(folder: Path, bootstrap: Bootstrap, *, workers: int) -> None:
    """Write it; the second time replaces the first."""
    limits = hash_key.with_key(hash_key.new())
    # Nobody raises the limit of that container, so what it starts with is what it has.
    files_, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    _, connections = supervisor.file_limits(
        bootstrap.connections, workers, at_most=files_
    )
    written = replace(
        bootstrap, limits_digest=sha256(limits).hexdigest(), connections=connections
    )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(folder / LIMITS, limits, lasting=False)
    write_private(folder / BOOTSTRAP, written.render(), lasting=False)
