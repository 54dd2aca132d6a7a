"""Identify a caller by its token: the API server says which pod it was issued for.

A companion has a token for the audience `leyden` only, which the kubelet renews. It is
bound to the pod, and becomes invalid when the pod ends.
"""

import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import Final

from leyden.errors import Unauthorized
from leyden.nodes.rules.nodes import Node
from leyden.nodes.runtimes.kubernetes import manifests
from leyden.nodes.runtimes.kubernetes.api import KubernetesApi
from leyden.nodes.runtimes.kubernetes.companions import AUDIENCE
from leyden.values import Struct, field

_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
_POD_NAME: Final = "authentication.kubernetes.io/pod-name"
_POD_UID: Final = "authentication.kubernetes.io/pod-uid"
# A review takes the API server some milliseconds, so results are cached. The token of a
# pod that has ended is accepted for this long at most.
_CACHED_S: Final = 60.0
_MAX_CACHED: Final = 10_000
_LONGEST: Final = 8192


class _User(Struct, frozen=True, kw_only=True):
    username: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)


class _Status(Struct, frozen=True, kw_only=True):
    authenticated: bool = False
    audiences: Sequence[str] = ()
    user: _User = field(default_factory=_User)


class _TokenReview(Struct, frozen=True, kw_only=True):
    status: _Status = field(default_factory=_Status)


class PodCaller(Struct, frozen=True, kw_only=True):
    """The pod that a token was issued for."""

    name: str
    uid: str

    def speaks_for(self, node: Node) -> bool:
        """Return whether it is the node's current pod, not an earlier one."""
        return self.name == manifests.name(node) and node.process in {"", self.uid}


class Tokens:
    """Reviews tokens of pods in our namespace."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api
        self._account = f"system:serviceaccount:{api.namespace}:"
        self._known: dict[bytes, tuple[PodCaller, float]] = {}

    async def speaks_for(self, token: str, node: Node) -> bool:
        """Return whether a token is the node's; raise Unauthorized if no pod's."""
        return (await self._caller(token)).speaks_for(node)

    async def check(self, token: str) -> None:
        """Raise Unauthorized unless the token belongs to a pod of ours."""
        await self._caller(token)

    async def _caller(self, token: str) -> PodCaller:
        if not token or len(token) > _LONGEST:
            raise Unauthorized("the token does not belong to a node's pod")
        digest = hashlib.sha256(token.encode()).digest()
        now = time.monotonic()
        known = self._known.get(digest)
        if known is not None and now < known[1]:
            return known[0]
        self._known.pop(digest, None)
        caller = await self._reviewed(token)
        if len(self._known) >= _MAX_CACHED:
            del self._known[next(iter(self._known))]
        self._known[digest] = caller, now + _CACHED_S
        return caller

    async def _reviewed(self, token: str) -> PodCaller:
        review = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token, "audiences": [AUDIENCE]},
        }
        found = await self._api.create(_REVIEWS, review, _TokenReview)
        status = found.status if found else _Status()
        name = "".join(status.user.extra.get(_POD_NAME, ()))
        uid = "".join(status.user.extra.get(_POD_UID, ()))
        if (
            not status.authenticated
            or AUDIENCE not in status.audiences
            or not status.user.username.startswith(self._account)
            or not name
            or not uid
        ):
            raise Unauthorized("the token does not belong to a node's pod")
        return PodCaller(name=name, uid=uid)
