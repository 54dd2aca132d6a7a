"""Whether other processes of this home are alive."""

import logging
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from leyden.errors import SetupError
from leyden.storage.homes import Process
from leyden.storage.stores import Stores

# Who says nothing for so long has died.
SILENT: Final = timedelta(seconds=15)
INSTEAD: Final = (
    "Local nodes run in one home, on one machine: start `leyden serve` and `leyden "
    "worker` there. To move the home here, stop it and its nodes there, copy the "
    "whole folder, and run `leyden home adopt`. Nodes on several machines need the "
    "Kubernetes runtime (docs/cluster.md)"
)

log = logging.getLogger(__name__)


class LivenessCheck:
    """Waits until other processes are known dead; raises if one is alive."""

    def __init__(self) -> None:
        self._heard: dict[str, tuple[int, float]] = {}

    async def possibly_alive(
        self, tx: Stores, others: Sequence[Process]
    ) -> list[Process]:
        """Return processes that may be alive; unregister those that are dead."""
        found = []
        for each in others:
            if each.id not in self._heard:
                self._heard[each.id] = (each.beat, time.monotonic())
                log.warning(
                    "another process may use this home where we can't see it; waiting",
                    extra={
                        "host": each.host,
                        "pid": each.pid,
                        "longest_s": SILENT.total_seconds(),
                    },
                )
            beat, since = self._heard[each.id]
            if each.beat != beat:
                raise SetupError(
                    f"this home is in use by process {each.pid} on {each.host}, in "
                    "another container or on another machine, whose nodes this "
                    f"process can't see; stop it first. {INSTEAD}"
                )
            if time.monotonic() - since > SILENT.total_seconds():
                await tx.homes.delete_silent(each)
            else:
                found.append(each)
        return found
