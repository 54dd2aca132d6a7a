"""Moving a node's volume from a cluster, or to it.

A pod that copies has the name of the node's own: while it is there, the API server
keeps everybody from making one with an lnd. It serves the volume over TLS with the
node's certificate, at the node's address, to whoever has a token that is made for it
alone. The companion's image has the program.
"""

import asyncio
import json
import secrets
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

import aiohttp

from leyden.domain.nodes import Node
from leyden.domain.starts import Start, next_number
from leyden.errors import CannotStart, ClusterAway, ClusterRefused, Conflict, NodeAway
from leyden.http import Connector
from leyden.lnd.trust import trusting_chain
from leyden.runtimes.base import LaunchSpec
from leyden.runtimes.copies import Content
from leyden.runtimes.kubernetes import manifests, pods
from leyden.runtimes.kubernetes.objects import Objects
from leyden.runtimes.kubernetes.runtime import KubernetesRuntime
from leyden.runtimes.kubernetes.template import Template
from leyden.values import Struct, hiding, replace

_LOOK_EVERY_S: Final = 0.2
_RUNS_WITHIN_S: Final = 60.0
_SILENT: Final = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=300)
_CHUNK: Final = 1 << 18
_GONE_WITHIN_S: Final = 60.0


class _Copier(Struct, frozen=True):
    """A pod that copies, as it is reached."""

    url: str
    name: str
    tls: ssl.SSLContext
    token: str

    __repr__ = hiding("token")


class KubernetesSide:
    """The volumes of nodes in a cluster."""

    def __init__(
        self,
        runtime: KubernetesRuntime,
        objects: Objects,
        template: Template,
        *,
        trusts: ssl.SSLContext,
    ) -> None:
        self._runtime = runtime
        self._objects = objects
        self._template = template
        self._trusts = trusts
        self._copiers: dict[str, _Copier] = {}

    async def seal(self, node: Node, launch_spec: LaunchSpec) -> None:
        """End the node's lnd, and put a pod that copies into its pod's place."""
        if await self._has_lnd(node):
            await self._runtime.stop(node)
        await self._copy_from_now_on(node, launch_spec)

    async def content(self, node: Node) -> Content:
        """Return the digest of the volume, as the pod in it reads it now."""
        return await self._digest(self._copiers[node.id])

    async def read(self, node: Node) -> AsyncGenerator[bytes, None]:
        """Yield what is in the volume."""
        async with _called(self._copiers[node.id], "GET", "/archive") as answer:
            async for part in answer.content.iter_chunked(_CHUNK):
                yield part

    async def write(
        self,
        node: Node,
        launch_spec: LaunchSpec,
        copy: str,
        archive: AsyncIterator[bytes],
    ) -> Content:
        """Write a copy into the node's volume, in place of whatever is there."""
        del copy
        await self._copy_from_now_on(node, launch_spec)
        copier = self._copiers[node.id]
        async with _called(copier, "PUT", "/archive", archive):
            pass
        return await self._digest(copier)

    async def settle(self, node: Node, copy: str, last_start: Start) -> Start:
        """Take the pod that copies away: the next one is to be lnd's."""
        del copy
        await self._end_copier(node)
        return Start(number=next_number(last_start, last_start), copy="")

    async def unseal(self, node: Node) -> None:
        """Take the pod that copies away."""
        await self._end_copier(node)

    @asynccontextmanager
    async def leftovers(
        self, node: Node
    ) -> AsyncGenerator[Callable[[], Awaitable[None]], None]:
        """Find the node's objects and its volume; none is deleted while an lnd has it.

        A later move has another volume claim.
        """
        claim_uid = await self._objects.claim_uid(node)
        copier = await self._objects.copier(node)

        async def delete() -> None:
            if await self._has_lnd(node):
                raise Conflict(f"node {node.id}: its lnd runs")
            await self._objects.remove(node, claim_uid=claim_uid)
            if copier is not None:
                await self._end_copier(node, uid=copier.uid)

        yield delete

    async def _has_lnd(self, node: Node) -> bool:
        copies = await self._objects.copier(node) is not None
        return not copies and await self._objects.pod(node) is not None

    async def _copy_from_now_on(self, node: Node, launch_spec: LaunchSpec) -> None:
        """Start the pod that copies, in place of one of an earlier try."""
        await self._end_copier(node)
        token = secrets.token_urlsafe(32)
        host = await self._objects.service(replace(node, host=""))
        await self._objects.prepare(
            replace(node, has_wallet=node.has_wallet and node.runtime == "kubernetes"),
            launch_spec,
            more={manifests.TOKEN: token.encode()},
        )
        if await self._objects.create_pod(node, self._template.copier(node)) is None:
            raise NodeAway(f"node {node.id}: somebody else made a pod of its name")
        await self._until_it_runs(node)
        self._copiers[node.id] = _Copier(
            url=f"https://{host}:{self._template.rest_port}",
            name=node.api_endpoint,
            tls=trusting_chain(self._trusts, launch_spec.tls.chain_pem),
            token=token,
        )
        await self._until_it_answers(self._copiers[node.id])

    async def _until_it_runs(self, node: Node) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _RUNS_WITHIN_S
        while True:
            pod = await self._objects.copier(node)
            if pod is None or pods.has_ended(pod):
                raise ClusterAway(f"node {node.id}: the pod that copies has ended")
            if pods.is_running(pod):
                return
            if loop.time() > deadline:
                hindrance = pods.hindrance(pod)
                await self._end_copier(node)
                raise CannotStart(
                    f"node {node.id}: the pod that copies does not start: "
                    f"{hindrance.why}",
                    reason=hindrance.reason,
                )
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _until_it_answers(self, copier: _Copier) -> None:
        """Wait until its address leads to it: services hear of pods a moment later."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _RUNS_WITHIN_S
        while True:
            try:
                async with _called(copier, "GET", "/"):
                    return
            except ClusterAway:
                if loop.time() > deadline:
                    raise
                await asyncio.sleep(_LOOK_EVERY_S)

    async def _end_copier(self, node: Node, *, uid: str = "") -> None:
        """End the pod that copies; with a uid, only if it is that one."""
        deadline = asyncio.get_running_loop().time() + _GONE_WITHIN_S
        while pod := await self._objects.copier(node):
            if uid not in {"", pod.uid}:
                return
            await self._objects.delete_copier(pod)
            if asyncio.get_running_loop().time() > deadline:
                raise ClusterAway(f"node {node.id}: the pod that copies does not end")
            await asyncio.sleep(_LOOK_EVERY_S)
        self._copiers.pop(node.id, None)

    async def _digest(self, copier: _Copier) -> Content:
        async with _called(copier, "GET", "/content") as answer:
            digest = json.loads(await answer.read())
        return Content(digest=str(digest["digest"]), size=int(digest["size"]))


@asynccontextmanager
async def _called(
    copier: _Copier,
    method: str,
    path: str,
    archive: AsyncIterator[bytes] | None = None,
) -> AsyncIterator[aiohttp.ClientResponse]:
    """Call a pod that copies; ClusterAway where it breaks off."""
    try:
        async with (
            aiohttp.ClientSession(connector=Connector(), timeout=_SILENT) as session,
            session.request(
                method,
                f"{copier.url}{path}",
                data=archive,
                ssl=copier.tls,
                server_hostname=copier.name,
                headers={"Authorization": f"Bearer {copier.token}"},
            ) as answer,
        ):
            if answer.status != HTTPStatus.OK:
                words = (await answer.text(errors="replace"))[:300].strip()
                raise ClusterRefused(
                    f"the pod that copies: {words}", code=answer.status
                )
            yield answer
    except (aiohttp.ClientError, TimeoutError) as error:
        raise ClusterAway(f"the pod that copies {copier.name}: {error}") from None
