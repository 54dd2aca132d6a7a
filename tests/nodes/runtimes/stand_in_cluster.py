"""An API server in memory, with as much of one as the runtime of pods asks for.

What kubelets and schedulers do, a test does: `set` changes an object, and whoever
watches is told.
"""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer

from leyden.nodes.runtimes.kubernetes.access import ApiServerAccess
from leyden.nodes.runtimes.kubernetes.api import KubernetesApi

NAMESPACE: Final = "lnds"
_DROPPED: Final = "$deleteFromPrimitiveList/finalizers"

Object = dict[str, Any]


class StandInCluster:
    """Objects by kind and name, with versions and finalizers."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Object] = {}
        self.calls: list[str] = []
        self.watched_at: list[float] = []
        self.is_silent = False  # watches say nothing
        self.ends_watches = False  # at once
        self.is_busy = False  # and watches are to be asked for again, a second later
        self.log: bytes | None = b""  # None: it is gone, with its container
        self.log_refusal = 0  # the status with which a log is refused
        self.tokens: dict[str, Object] = {}  # the status of each one's review
        self.is_away = False  # for who asks about one object, or a token
        # What pods use, as metrics-server has it; a status is a refusal.
        self.metrics: list[Object] | int = 404
        self._told: list[tuple[str, Object]] = []  # each change, by its version
        self._turn = asyncio.Event()
        self._uids = itertools.count(1)
        self.create("nodes", {"metadata": {"name": "machine-1"}, "status": ready()})

    def create(self, plural: str, made: Object) -> Object:
        metadata = made["metadata"]
        metadata["uid"] = f"uid-{next(self._uids)}"
        self.objects[plural, metadata["name"]] = made
        if plural == "services":
            made["spec"]["clusterIP"] = "127.0.0.2"
        self._tell("ADDED", plural, made)
        return made

    def pod(self) -> Object | None:
        """Return the only pod, if there is one."""
        return next(
            (o for (kind, _), o in self.objects.items() if kind == "pods"), None
        )

    def set(
        self,
        found: Object,
        *,
        machine: str = "machine-1",
        reason: str = "",
        **state: Any,
    ) -> None:
        """Put a pod on a machine, and its lnd into a state, with a kubelet's reason."""
        found["spec"]["nodeName"] = machine
        found["status"] = {"containerStatuses": [{"name": "lnd", "state": state}]}
        if reason:
            found["status"] |= {"phase": "Failed", "reason": reason}
        self._tell("MODIFIED", "pods", found)

    def set_ready(self, status: str) -> None:
        """Let the only machine be ready ("True"), or not answer ("Unknown")."""
        machine = self.objects["nodes", "machine-1"]
        machine["status"] = ready(status)
        self._tell("MODIFIED", "nodes", machine)

    def drop_finalizers(self, plural: str, found: Object, gone: list[str]) -> None:
        metadata = found["metadata"]
        answer = [each for each in metadata.get("finalizers", ()) if each not in gone]
        metadata["finalizers"] = answer
        if answer or "deletionTimestamp" not in metadata:
            self._tell("MODIFIED", plural, found)
        else:
            del self.objects[plural, metadata["name"]]
            self._tell("DELETED", plural, found)

    def delete(self, plural: str, found: Object) -> None:
        found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        self.drop_finalizers(plural, found, [])

    @asynccontextmanager
    async def api(self) -> AsyncIterator[KubernetesApi]:
        """Serve, and connect to it."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        async with TestServer(app) as server, aiohttp.ClientSession() as session:
            access = ApiServerAccess(
                server=str(server.make_url("")).rstrip("/"),
                namespace=NAMESPACE,
                authority_pem="",
            )
            try:
                yield KubernetesApi(session, access)
            finally:
                self.ends_watches = True
                self._turn.set()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        match request.path:
            case "/apis/authentication.k8s.io/v1/tokenreviews":
                return await self._reviewed(request)
            case "/apis/metrics.k8s.io/v1beta1/namespaces/lnds/pods":
                return self._measured()
            case _:
                return await self._asked(request)

    async def _asked(self, request: web.Request) -> web.StreamResponse:
        parts = request.path.removeprefix("/api/v1/").split("/")
        plural, name, of = [*parts[2 * (parts[0] == "namespaces") :], "", ""][:3]
        if "watch" in request.query:
            return await self._watch(request, plural)
        self.calls.append(f"{request.method} {plural}")
        if of == "log":
            return self._logged()
        if request.method == "POST":
            return self._created(plural, await request.json())
        if not name:
            return web.json_response(self._list(plural))
        return await self._one(request, plural, name)

    def _logged(self) -> web.Response:
        if self.log_refusal:
            return refusal(self.log_refusal, "InternalError")
        if self.log is None:
            return refusal(400, "BadRequest")
        return web.Response(body=self.log)

    async def _one(self, request: web.Request, plural: str, name: str) -> web.Response:
        if self.is_away:
            return refusal(503, "ServiceUnavailable")
        found = self.objects.get((plural, name))
        if found is None:
            return refusal(404, "NotFound")
        match request.method:
            case "DELETE":
                wanted = (await request.json()).get("preconditions", {}).get("uid")
                if wanted not in {None, found["metadata"]["uid"]}:
                    return refusal(409, "Conflict")
                self.delete(plural, found)
            case "PATCH":
                metadata = json.loads(await request.read())["metadata"]
                self.drop_finalizers(plural, found, metadata[_DROPPED])
        return web.json_response(found)

    def _created(self, plural: str, made: Object) -> web.Response:
        if (plural, made["metadata"]["name"]) in self.objects:
            return refusal(409, "AlreadyExists")
        return web.json_response(self.create(plural, made))

    async def _reviewed(self, request: web.Request) -> web.Response:
        self.calls.append("POST tokenreviews")
        if self.is_away:
            return refusal(503, "ServiceUnavailable")
        spec = (await request.json())["spec"]
        assert spec["audiences"] == ["leyden"]
        status = self.tokens.get(spec["token"], {"authenticated": False})
        return web.json_response({"status": status})

    def _measured(self) -> web.Response:
        self.calls.append("GET metrics")
        if isinstance(self.metrics, int):
            return refusal(self.metrics, {403: "Forbidden"}.get(self.metrics, ""))
        return web.json_response(
            {
                "kind": "PodMetricsList",
                "apiVersion": "metrics.k8s.io/v1beta1",
                "metadata": {},
                "items": self.metrics,
            }
        )

    def _list(self, plural: str) -> Object:
        items = [each for (kind, _), each in self.objects.items() if kind == plural]
        return {"metadata": {"resourceVersion": str(len(self._told))}, "items": items}

    async def _watch(self, request: web.Request, plural: str) -> web.StreamResponse:
        self.watched_at.append(asyncio.get_running_loop().time())
        if self.is_busy:
            refused = refusal(429, "TooManyRequests")
            refused.headers["Retry-After"] = "1"
            return refused
        answer = web.StreamResponse()
        await answer.prepare(request)
        reported = int(request.query["resourceVersion"])
        while not self.ends_watches:
            turn = self._turn
            if not self.is_silent:
                for kind, change in self._told[reported:]:
                    if kind == plural:
                        await answer.write(json.dumps(change).encode() + b"\n")
                reported = len(self._told)
            if turn is self._turn:
                await turn.wait()
        return answer

    def _tell(self, how: str, plural: str, found: Object) -> None:
        found["metadata"]["resourceVersion"] = str(len(self._told) + 1)
        copy = json.loads(json.dumps(found))
        self._told.append((plural, {"type": how, "object": copy}))
        turn, self._turn = self._turn, asyncio.Event()
        turn.set()


def ready(status: str = "True") -> Object:
    return {"conditions": [{"type": "Ready", "status": status}]}


def refusal(code: int, reason: str) -> web.Response:
    return web.json_response({"code": code, "reason": reason}, status=code)
