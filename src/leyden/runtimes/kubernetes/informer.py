"""All objects of a kind, kept up to date without polling: list, then watch.

    1. List them; report what is new, and what is gone since the last list.
    2. Watch from the version of the list on. Bookmarks move that version along while
       nothing happens, so that the next watch goes on where this one ended.
    3. A watch that ends is begun again from the last version, after a pause that
       grows while watches end within a second. Where the version is too old (410), or
       the server is in trouble, everything is listed again. One that is busy (429) says
       when it can be asked again, and for no more than before.

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
from leyden.runtimes.kubernetes.api import Api, Change, Marked, decoded
from leyden.runtimes.kubernetes.kinds import Metadata, Refusal

log = logging.getLogger(__name__)

_FIRST_WAIT_S: Final = 0.1
_LONGEST_WAIT_S: Final = 5.0
_LASTING_S: Final = 1.0
# Without an answer, or asked to come again: nothing is wrong with the version.
_WAITED: Final = frozenset({0, HTTPStatus.TOO_MANY_REQUESTS})
_MOST_ASKED_S: Final = 30  # by a server that is busy


class Object(Protocol):
    """Any object."""

    @property
    def metadata(self) -> Metadata:
        """Return what all objects have."""


T = TypeVar("T", bound=Object)


class Informer(Generic[T]):
    """The objects below a path, by name; `on_change` gets each one that changes.

    It is called with the object and whether that is gone. Where another object of the
    same name takes the place of one, both are reported.
    """

    def __init__(
        self, api: Api, path: str, kind: type[T], on_change: Callable[[T, bool], None]
    ) -> None:
        self.there: dict[str, T] = {}
        self.listed = asyncio.Event()
        self.tried = asyncio.Event()  # to list them: it may have failed
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
            began = math.inf  # which is never long ago
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
                    after_s = min(error.retry_after_s or 0, _MOST_ASKED_S)
                    # A server that was started anew may not know the version yet, and
                    # say so for minutes; a list it answers.
                    if not isinstance(error, ClusterAway) or error.code not in _WAITED:
                        self._version = ""
            except Exception:
                # It must not end this: nobody would hear of any pod from then on.
                log.exception(
                    "a change of a cluster could not be told of",
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
            refusal = decoded(change.object, Refusal)
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
        before = self.there.get(name)
        if before is not None and before.metadata.uid != found.metadata.uid:
            self._remove(before)
        self.there[name] = found
        if before is None or (
            before.metadata.resource_version != found.metadata.resource_version
        ):
            self._on_change(found, False)  # noqa: FBT003  whether it is gone

    def _remove(self, gone: T) -> None:
        kept = self.there.get(gone.metadata.name)
        if kept is not None and kept.metadata.uid == gone.metadata.uid:
            del self.there[gone.metadata.name]
        self._on_change(gone, True)  # noqa: FBT003  the same


def _is_too_old(error: ClusterAway | ClusterRefused) -> bool:
    return isinstance(error, ClusterRefused) and error.code == HTTPStatus.GONE
