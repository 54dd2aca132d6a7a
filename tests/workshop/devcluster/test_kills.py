"""A platform whose nodes are pods, of which something is killed at each of its calls.

It makes a node, stops, starts and deletes it. Each call to the cluster that changes
something is struck once: after it was done, and before that is known; by default some
of them are. In the end everything is as without, and the owner was told the same.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from leyden.app.migration import migrate
from leyden.base.settings import Settings
from leyden.values import replace
from tests.cluster import ensure_up
from tests.workshop.devcluster import cluster_installation as quays
from tests.workshop.devcluster.api_proxy import ApiProxy, Moment, proxied
from tests.workshop.devcluster.clusters import DevCluster, lnds_of
from tests.workshop.devcluster.served import Served
from tests.workshop.devcluster.test_platform import Shore, free, given, shore

__all__ = ["given", "shore"]

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

LIFE = {
    *("POST services", "POST persistentvolumeclaims", "POST secrets", "POST pods"),
    *("PUT secrets", "DELETE pods", "PATCH pods", "PATCH persistentvolumes"),
    *("DELETE persistentvolumeclaims", "DELETE secrets", "DELETE services"),
}
SOME = {"POST pods", "DELETE pods", "DELETE persistentvolumeclaims"}


@pytest.fixture
async def proxy(shore: Shore, tmp_path: Path) -> AsyncIterator[ApiProxy]:
    async with proxied(shore.cluster, tmp_path) as proxy:
        yield proxy


@pytest.fixture
def settings(
    shore: Shore, given: Settings, proxy: ApiProxy, tmp_path: Path
) -> Iterator[Settings]:
    """Those of a platform that comes by the proxy, in a namespace of its own."""
    namespace = f"kills-{secrets.token_hex(3)}"
    shore.cluster.kubectl("create", "namespace", namespace)
    yield replace(
        given,
        kubeconfig=str(proxy.kubeconfig(tmp_path)),
        kubernetes_namespace=namespace,
        webhooks_over_http=True,
        webhook_networks="127.0.0.1/32",
        webhook_ports="1024-65535",
        webhook_retries_s=",".join(["1"] * 20),
    )
    ensure_up(shore.cluster)
    free(shore.cluster, namespace)
    shore.cluster.kubectl("delete", "namespace", namespace, "--wait=false")


class Blows:
    """Strikes each of some calls once, and looks that there is one lnd at most."""

    def __init__(
        self, calls: set[str], moment: Moment, kill: Callable[[], Awaitable[bool]]
    ) -> None:
        self.calls = calls
        self.seen: set[str] = set()
        self.struck: set[str] = set()
        self.pod = ""
        self._moment = moment
        self._kill = kill

    async def strike(self, call: str, moment: Moment) -> bool:
        if moment is not self._moment or call[:3] == "GET":
            return True
        self.seen.add(call)
        if call not in self.calls - self.struck:
            return True
        self.struck.add(call)
        goes_on = await self._kill()
        assert len(await asyncio.to_thread(lnds_of, self.pod)) <= 1
        return goes_on


async def lives(
    served: Served, proxy: ApiProxy, blows: Blows, cluster: DevCluster
) -> None:
    """Make a node, stop, start and delete it, while calls are struck."""
    customer = served.customer()
    namespace = served.given.kubernetes_namespace

    def is_reached(kind: str) -> list[Any]:
        return list(cluster.get(kind, "--namespace", namespace)["items"])

    with quays.receiver("127.0.0.1") as (url, taken):
        node = await customer.create(webhook=url)
        blows.pod = f"node-{node.lower()}"
        proxy.strike = blows.strike
        await customer.is_(node, "waiting_init")
        [claim] = [each["metadata"]["uid"] for each in is_reached("pvc")]
        for verb, status in (("stop", "stopped"), ("start", "waiting_init")):
            await customer.call("POST", f"/{node}/{verb}")
            await customer.is_(node, status)
            assert len(lnds_of(blows.pod)) == (verb == "start")
        assert [each["metadata"]["uid"] for each in is_reached("pvc")] == [claim]
        assert await customer.state(node) == {"state": "NON_EXISTING"}
        await customer.call("DELETE", f"/{node}")
        async with asyncio.timeout(240):
            # The last blow is struck a moment after the last object is gone.
            while any(map(is_reached, ("pods", "pvc", "secrets", "services"))) or (
                blows.struck,
                blows.seen,
            ) != (blows.calls, LIFE):
                await asyncio.sleep(0.2)
        expected = {each["id"]: each["details"]["status"] for each in taken}
    assert list(expected.values()) == ["waiting_init", "stopped", "waiting_init"]
    assert "Traceback" not in served.said()


@pytest.mark.parametrize(
    "calls", [SOME, pytest.param(LIFE, marks=pytest.mark.long)], ids=["some", "all"]
)
async def test_a_platform_that_is_killed_at_any_call_goes_on(
    shore: Shore, settings: Settings, proxy: ApiProxy, calls: set[str]
) -> None:
    with Served(settings) as served:

        async def kill() -> bool:
            served.kill("serve")
            served.begin("serve")
            return False

        migrate(settings)
        served.begin("serve")
        await lives(served, proxy, Blows(calls, Moment.AFTER, kill), shore.cluster)
