"""All objects of a kind, kept up to date without polling: list, then watch.

    1. List them; tell of what is new, and of what is gone since the last list.
    2. Watch from the version of the list on. Bookmarks move that version along while
       nothing happens, so that the next watch goes on where this one ended.
    3. A watch that ends is begun again from the last version, after a pause that
       grows while watches end within a second. Where the version is too old (410), or
       the server is in trouble, everything is listed again.

What is gone is told of always: by the watch, or by the next list.
"""

import asyncio
import logging
import math
from collections.abc import Callable
from contextlib import aclosing
from http import HTTPStatus
from typing import Final, Generic, Protocol, TypeVar

from leyden.errors import ClusterAway, ClusterRefused
from leyden.runtimes.kubernetes.api import Api, Change, Marked, decoded
from leyden.runtimes.kubernetes.kinds import Metadata, Refusal

log = logging.getLogger(__name__)

_FIRST_WAIT_S: Final = 0.1
_LONGEST_WAIT_S: Final = 5.0
_LASTING_S: Final = 1.0


class Object(Protocol):
    """Any object."""

    @property
    def metadata(self) -> Metadata:
        """Return what all objects have."""


T = TypeVar("T", bound=Object)


class Informer(Generic[T]):
    """The objects below a path, by name; `tell` hears each one that changes.

    It is called with the object and whether that is gone. Where another object of the
    same name takes the place of one, both are told of.
    """

    def __init__(
        self, api: Api, path: str, kind: type[T], tell: Callable[[T, bool], None]
    ) -> None:
        self.there: dict[str, T] = {}
        self.listed = asyncio.Event()
        self.tried = asyncio.Event()  # to list them: it may have failed
        self.lists = 0
        self._api = api
        self._path = path
        self._kind = kind
        self._tell = tell
        self._version = ""

    async def run(self) -> None:
        """List and watch until cancelled."""
        loop, wait_s = asyncio.get_running_loop(), _FIRST_WAIT_S
        while True:
            began = math.inf  # which is never long ago
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
                    # A server that was started anew may not know the version yet, and
                    # say so for minutes; a list it answers.
                    if not isinstance(error, ClusterAway) or error.code:
                        self._version = ""
            if loop.time() - began > _LASTING_S:
                wait_s = _FIRST_WAIT_S
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    async def _list(self) -> None:
        found, version = await self._api.list_(self._path, self._kind)
        now = {each.metadata.name: each for each in found}
        for name, before in list(self.there.items()):
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

    def take(self, change: Change) -> None:
        """Apply one line of a watch."""
        if change.type == "ERROR":
            told = decoded(change.object, Refusal)
            raise ClusterRefused(told.message, code=told.code, reason=told.reason)
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
        before = self.there.get(name)
        if before is not None and before.metadata.uid != found.metadata.uid:
            self._remove(before)
        self.there[name] = found
        if before is None or (
            before.metadata.resource_version != found.metadata.resource_version
        ):
            self._tell(found, False)  # noqa: FBT003  whether it is gone

    def _remove(self, gone: T) -> None:
        kept = self.there.get(gone.metadata.name)
        if kept is not None and kept.metadata.uid == gone.metadata.uid:
            del self.there[gone.metadata.name]
        self._tell(gone, True)  # noqa: FBT003  the same


def _is_too_old(error: ClusterAway | ClusterRefused) -> bool:
    return isinstance(error, ClusterRefused) and error.code == HTTPStatus.GONE
