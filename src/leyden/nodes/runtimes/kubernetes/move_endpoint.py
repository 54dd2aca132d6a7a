"""Copy a node's volume from a cluster, or to it.

A copier pod has the name of the node's own pod: while it exists, the API server rejects
a pod with an lnd. It serves the volume over TLS with the node's certificate, at the
node's address, to a caller with a token that is created for this pod. The program is in
the companion's image.
"""

import asyncio
import json
import secrets
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

import aiohttp

from leyden.base.aiohttp_connector import Connector
from leyden.errors import CannotStart, ClusterAway, ClusterRefused, Conflict, NodeAway
from leyden.lnd.trust import trusting_chain
from leyden.nodes.rules.nodes import Node
from leyden.nodes.rules.starts import Start, next_number
from leyden.nodes.runtimes.base import LaunchSpec
from leyden.nodes.runtimes.copies import Content
from leyden.nodes.runtimes.kubernetes import manifests, pods
from leyden.nodes.runtimes.kubernetes.kinds import Pod
from leyden.nodes.runtimes.kubernetes.objects import NodeObjects
from leyden.nodes.runtimes.kubernetes.runtime import KubernetesRuntime
from leyden.nodes.runtimes.kubernetes.template import Template
from leyden.values import Struct, hiding, replace

_CHECK_EVERY_S: Final = 0.2
_RUNS_WITHIN_S: Final = 60.0
_SILENT: Final = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=300)
_CHUNK: Final = 1 << 18
_GONE_WITHIN_S: Final = 60.0


class _Copier(Struct, frozen=True):
    """A copier pod with its address and credentials."""

    pod: Pod
    url: str
    name: str
    tls: ssl.SSLContext
    token: str

    __repr__ = hiding("token")


class KubernetesMoveEndpoint:
    """The volumes of nodes in a cluster."""

    def __init__(
        self,
        runtime: KubernetesRuntime,
        objects: NodeObjects,
        template: Template,
        *,
        trusts: ssl.SSLContext,
    ) -> None:
        self._runtime = runtime
        self._objects = objects
        self._template = template
        self._trusts = trusts
        self._copiers: dict[str, _Copier] = {}  # of sealed nodes

    async def seal(self, node: Node, launch_spec: LaunchSpec) -> None:
        """Stop the node's lnd, and start a copier pod in its place."""
        if await self._has_lnd(node):
            await self._runtime.stop(node)
        self._copiers[node.id] = await self._start_copier(node, launch_spec)

    async def content(self, node: Node) -> Content:
        """Return the digest and size of the volume's content now."""
        return await self._digest(self._copiers[node.id])

    async def read(self, node: Node) -> AsyncGenerator[bytes, None]:
        """Yield the content of the volume, as an archive."""
        async with _called(self._copiers[node.id], "GET", "/archive") as response:
            async for part in response.content.iter_chunked(_CHUNK):
                yield part

    async def write(
        self,
        node: Node,
        launch_spec: LaunchSpec,
        archive: AsyncIterator[bytes],
        sealed: Content,
    ) -> str:
        """Fill the node's volume; once it is complete, no copy replaces its content.

        It may be complete already, if an earlier attempt could not save that.
        """
        copier = await self._start_copier(node, launch_spec)
        if await self._digest(copier) != sealed:
            async with _called(copier, "PUT", "/archive", archive):
                pass
            sealed.refuse_difference(await self._digest(copier))
        async with _called(copier, "POST", "/complete"):
            pass
        return copier.pod.uid

    async def settle(self, node: Node, copy: str, last_start: Start) -> Start:
        """Delete the copier pod: the next pod is lnd's."""
        del copy
        await self._end_copier(node)
        return Start(number=next_number(last_start, last_start), copy="")

    async def unseal(self, node: Node) -> None:
        """Delete the copier pod."""
        await self._end_copier(node)

    async def leftovers(self, node: Node) -> Sequence[str]:
        """Return the uid of the node's volume claim; "" if it has none."""
        return [await self._objects.claim_uid(node)]

    async def delete(self, node: Node, found: Sequence[str]) -> None:
        """Delete the node's objects and its volume; refuse while an lnd has it.

        A later move has another volume claim, and can't begin before this one is gone:
        the cluster's controllers may take a minute, and the node would be down.
        """
        (claim_uid,) = found
        if await self._has_lnd(node):
            raise Conflict(f"node {node.id}: its lnd runs")
        await self._objects.remove(node, claim_uid=claim_uid)
        await self._end_copier(node)
        await self._until_claim_is_gone(node, claim_uid)

    async def _has_lnd(self, node: Node) -> bool:
        copies = await self._objects.copier(node) is not None
        return not copies and await self._objects.pod(node) is not None

    async def _start_copier(self, node: Node, launch_spec: LaunchSpec) -> _Copier:
        """Start a copier pod; replace one of an earlier attempt."""
        await self._end_copier(node)
        token = secrets.token_urlsafe(32)
        host = await self._objects.service(replace(node, host=""))
        claim_uid = await self._objects.prepare(
            replace(node, has_wallet=node.has_wallet and node.runtime == "kubernetes"),
            launch_spec,
            more={manifests.TOKEN: token.encode()},
        )
        pod = await self._objects.create_pod(
            node, self._template.copier(node), claim_uid=claim_uid
        )
        if pod is None:
            raise NodeAway(f"node {node.id}: another process created its pod")
        await self._until_it_runs(node)
        copier = _Copier(
            pod=pod,
            url=f"https://{host}:{self._template.rest_port}",
            name=node.api_endpoint,
            tls=trusting_chain(self._trusts, launch_spec.tls.chain_pem),
            token=token,
        )
        await self._until_reachable(copier)
        return copier

    async def _until_it_runs(self, node: Node) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _RUNS_WITHIN_S
        while True:
            pod = await self._objects.copier(node)
            if pod is None or pods.has_ended(pod):
                raise ClusterAway(f"node {node.id}: the copier pod has ended")
            if pods.is_running(pod):
                return
            if loop.time() > deadline:
                hindrance = pods.hindrance(pod)
                await self._end_copier(node)
                raise CannotStart(
                    f"node {node.id}: the copier pod does not start: {hindrance.why}",
                    reason=hindrance.reason,
                )
            await asyncio.sleep(_CHECK_EVERY_S)

    async def _until_reachable(self, copier: _Copier) -> None:
        """Wait until the service forwards to the pod, a moment after the pod runs."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _RUNS_WITHIN_S
        while True:
            try:
                async with _called(copier, "GET", "/"):
                    return
            except ClusterAway:
                if loop.time() > deadline:
                    raise
                await asyncio.sleep(_CHECK_EVERY_S)

    async def _end_copier(self, node: Node) -> None:
        deadline = asyncio.get_running_loop().time() + _GONE_WITHIN_S
        while pod := await self._objects.copier(node):
            await self._objects.delete_copier(pod)
            if asyncio.get_running_loop().time() > deadline:
                raise ClusterAway(f"node {node.id}: the copier pod does not end")
            await asyncio.sleep(_CHECK_EVERY_S)
        self._copiers.pop(node.id, None)

    async def _until_claim_is_gone(self, node: Node, uid: str) -> None:
        deadline = asyncio.get_running_loop().time() + _GONE_WITHIN_S
        while uid and await self._objects.claim_uid(node) == uid:
            if asyncio.get_running_loop().time() > deadline:
                raise ClusterAway(
                    f"node {node.id}: the cluster has not deleted its volume claim yet"
                )
            await asyncio.sleep(_CHECK_EVERY_S)

    async def _digest(self, copier: _Copier) -> Content:
        async with _called(copier, "GET", "/content") as response:
            digest = json.loads(await response.read())
        return Content(digest=str(digest["digest"]), size=int(digest["size"]))


@asynccontextmanager
async def _called(
    copier: _Copier,
    method: str,
    path: str,
    archive: AsyncIterator[bytes] | None = None,
) -> AsyncIterator[aiohttp.ClientResponse]:
    """Call a copier pod; raise ClusterAway if the connection fails."""
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
            ) as response,
        ):
            if response.status != HTTPStatus.OK:
                message = (await response.text(errors="replace"))[:300].strip()
                raise ClusterRefused(f"the copier pod: {message}", code=response.status)
            yield response
    except (aiohttp.ClientError, TimeoutError) as error:
        raise ClusterAway(f"the copier pod of {copier.name}: {error}") from None
