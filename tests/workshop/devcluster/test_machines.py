"""A machine that nobody reaches for a while, and comes back: as a node's owner sees it.

Its link is cut: its kubelet and its lnds go on, and the control plane, the platform and
the gateway hear nothing of them.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from leyden.app.migration import migrate
from leyden.base.settings import Settings
from leyden.values import replace
from leyden_workshop.devcluster import namespaces
from tests.metrics import unknown_nodes
from tests.workshop.devcluster import cluster_installation as quays
from tests.workshop.devcluster.clusters import DevCluster, lnds_of
from tests.workshop.devcluster.test_platform import (
    Shore,
    as_admin,
    customer_of,
    free,
    given,
    pods_in,
    running,
    shore,
)

__all__ = ["given", "shore"]

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(1200),
    pytest.mark.usefixtures("no_unknown_nodes"),
]

# Back from a long time away, the kubelet and kube-proxy of a machine call the API
# server again after pauses of up to a minute, each after its own: the one has to hear
# of a pod, and the other of its address, by which this host reaches services.
PATIENCE_S = 120


@asynccontextmanager
async def cut_off(
    cluster: DevCluster, machine: str, seconds: float
) -> AsyncIterator[None]:
    """Cut a machine's link; what the control plane says in 50 s is said at once."""
    running = namespaces.running(cluster.places.control_plane)
    assert running is not None

    async def link(state: str) -> None:
        words = ("ip", "link", "set", machine, state)
        done = await asyncio.create_subprocess_exec(
            *namespaces.enter(running.pid), *words
        )
        assert await done.wait() == 0

    await link("down")
    condition = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    change = {"status": {"conditions": [condition]}}
    await asyncio.to_thread(
        cluster.kubectl,
        *("patch", "node", machine, "--subresource=status", "--type=strategic"),
        *("-p", json.dumps(change)),
    )
    try:
        yield
        await asyncio.sleep(seconds)
    finally:
        await link("up")


@pytest.mark.parametrize("seconds", [3, pytest.param(600, marks=pytest.mark.long)])
async def test_while_a_machine_is_away_its_nodes_are_as_they_were(
    shore: Shore, given: Settings, seconds: float
) -> None:
    namespace = f"away-{secrets.token_hex(3)}"
    shore.cluster.kubectl("create", "namespace", namespace)
    given = replace(
        as_admin(given, shore, namespace),
        webhooks_over_http=True,
        webhook_networks="127.0.0.1/32",
        webhook_ports="1024-65535",
    )
    migrate(given)
    with quays.receiver("127.0.0.1") as (url, taken):
        async with running(given) as platform:
            customer = await customer_of(platform)
            node = await customer.create(webhook=url)
            await customer.is_(node, "waiting_init")
            [pod] = pods_in(shore, namespace)
            name, machine = pod["metadata"]["name"], pod["spec"]["nodeName"]
            async with cut_off(shore.cluster, machine, seconds):
                async with asyncio.timeout(30):
                    while not unknown_nodes():
                        await asyncio.sleep(0.1)
                assert (await customer.item(node))["status"] == "waiting_init"
                # What is asked of it meanwhile waits, and is started nowhere else.
                await customer.call("POST", f"/{node}/restart")
            assert len(lnds_of(name)) == 1
            [same] = pods_in(shore, namespace)
            assert same["metadata"]["uid"] == pod["metadata"]["uid"]
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    found = pods_in(shore, namespace)
                    uids = [each["metadata"]["uid"] for each in found]
                    if uids and pod["metadata"]["uid"] not in uids:
                        break
                    assert len(lnds_of(name)) <= 1
                    await asyncio.sleep(0.5)
            await customer.is_(node, "waiting_init", within_s=PATIENCE_S)
            assert not unknown_nodes()
            assert len(lnds_of(name)) == 1
            expected = {each["id"]: each["details"]["status"] for each in taken}
    assert set(expected.values()) == {"waiting_init"}
    free(shore.cluster, namespace)
    shore.cluster.kubectl("delete", "namespace", namespace, "--wait=false")
