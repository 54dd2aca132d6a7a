"""All objects of a kind, kept up to date without polling: list, then watch.

    1. List the objects; report those that are new or gone since the last list.
    2. Watch for changes since the version of the list. Bookmarks advance the version
       while nothing changes, so that the next watch continues where this one ended.
    3. When a watch ends, start another one at the last version, after a pause that
       grows while watches end within a second. List everything again if the version is
       too old (410) or the server has an error. A busy server (429) says when to retry;
       then the version stays valid.

Every deletion is reported: by the watch, or by the next list.
"""

import asyncio
import logging
import math
from collections.abc import Callable
from contextlib import aclosing
from http import HTTPStatus
from typing import Final, Generic, Protocol, TypeVar

from leyden.errors import ClusterAway, ClusterRefused
from leyden.nodes.runtimes.kubernetes.api import (
    KubernetesApi,
    Marked,
    WatchEvent,
    decoded,
)
from leyden.nodes.runtimes.kubernetes.kinds import ApiRefusal, Metadata

log = logging.getLogger(__name__)

_FIRST_WAIT_S: Final = 0.1
_LONGEST_WAIT_S: Final = 5.0
_LASTING_S: Final = 1.0
# No response, or a busy server: the version stays valid.
_VERSION_VALID: Final = frozenset({0, HTTPStatus.TOO_MANY_REQUESTS})
_LONGEST_RETRY_AFTER_S: Final = 30  # of a busy server


class Object(Protocol):
    """Any object."""

    @property
    def metadata(self) -> Metadata:
        """The metadata that all objects have."""


T = TypeVar("T", bound=Object)


class Informer(Generic[T]):
    """The objects below a path, by name; calls `on_change` for each change.

    It is called with the object, and whether it is gone. If an object is replaced by
    another one of the same name, both are reported.
    """

    def __init__(
        self,
        api: KubernetesApi,
        path: str,
        kind: type[T],
        on_change: Callable[[T, bool], None],
    ) -> None:
        self.objects: dict[str, T] = {}
        self.listed = asyncio.Event()
        self.tried = asyncio.Event()  # the first list was tried, and may have failed
        self.lists = 0
        self._api = api
        self._path = path
        self._kind = kind
        self._on_change = on_change
        self._version = ""

    async def run(self) -> None:
        """List and watch until cancelled."""
        loop, wait_s = asyncio.get_running_loop(), _FIRST_WAIT_S
        while True:
            began = math.inf  # no watch was started yet
            after_s = 0
            try:
                if not self._version:
                    await self._list()
                began = loop.time()
                await self._watch()
            except (ClusterAway, ClusterRefused) as error:
                self.tried.set()
                if _is_too_old(error):
                    self._version = ""
                else:
                    log.warning(
                        "can't watch the cluster",
                        extra={"path": self._path, "why": str(error)},
                    )
                    after_s = min(error.retry_after_s or 0, _LONGEST_RETRY_AFTER_S)
                    # A restarted server may reject the version for minutes, but
                    # responds to a list.
                    if (
                        not isinstance(error, ClusterAway)
                        or error.code not in _VERSION_VALID
                    ):
                        self._version = ""
            except Exception:
                # Keep running: otherwise no change of any pod would be noticed.
                log.exception(
                    "could not process a change in the cluster",
                    extra={"path": self._path},
                )
                self._version = ""
            if loop.time() - began > _LASTING_S:
                wait_s = _FIRST_WAIT_S
            await asyncio.sleep(max(wait_s, after_s))
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    async def _list(self) -> None:
        found, version = await self._api.list_(self._path, self._kind)
        now = {each.metadata.name: each for each in found}
        for name, before in list(self.objects.items()):
            after = now.get(name)
            if after is None or after.metadata.uid != before.metadata.uid:
                self._remove(before)
        for each in found:
            self._put(each)
        self._version = version
        self.lists += 1
        self.listed.set()
        self.tried.set()

    async def _watch(self) -> None:
        async with aclosing(self._api.watch(self._path, self._version)) as changes:
            async for change in changes:
                self.take(change)

    def take(self, change: WatchEvent) -> None:
        """Apply one line of a watch."""
        if change.type == "ERROR":
            refusal = decoded(change.object, ApiRefusal)
            raise ClusterRefused(
                refusal.message, code=refusal.code, reason=refusal.reason
            )
        if change.type == "BOOKMARK":
            self._version = decoded(change.object, Marked).metadata.resource_version
            return
        found = decoded(change.object, self._kind)
        self._version = found.metadata.resource_version
        if change.type == "DELETED":
            self._remove(found)
        else:
            self._put(found)

    def _put(self, found: T) -> None:
        name = found.metadata.name
        before = self.objects.get(name)
        if before is not None and before.metadata.uid != found.metadata.uid:
            self._remove(before)
        self.objects[name] = found
        if before is None or (
            before.metadata.resource_version != found.metadata.resource_version
        ):
            self._on_change(found, False)  # noqa: FBT003  whether it is gone

    def _remove(self, gone: T) -> None:
        known = self.objects.get(gone.metadata.name)
        if known is not None and known.metadata.uid == gone.metadata.uid:
            del self.objects[gone.metadata.name]
        self._on_change(gone, True)  # noqa: FBT003  the same


def _is_too_old(error: ClusterAway | ClusterRefused) -> bool:
    return isinstance(error, ClusterRefused) and error.code == HTTPStatus.GONE
