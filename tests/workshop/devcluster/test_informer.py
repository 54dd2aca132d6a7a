"""An informer at a real API server: nothing is missed, whatever happens to it."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncGenerator, AsyncIterator
from typing import cast

import pytest
from msgspec import Raw

from leyden.nodes.runtimes.kubernetes import access
from leyden.nodes.runtimes.kubernetes.api import KubernetesApi, WatchEvent, connect
from leyden.nodes.runtimes.kubernetes.informer import Informer
from leyden.nodes.runtimes.kubernetes.kinds import ConfigMap
from tests.waiting import until
from tests.workshop.devcluster.clusters import DevCluster, kill

_TOO_OLD = (
    b'{"kind": "Status", "code": 410, "reason": "Expired",'
    b' "message": "too old resource version: 1 (7)"}'
)

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]


class Compacted:
    """A server whose first watch begins at a version that it has dropped.

    When a real one drops a version depends on how much has happened to it.
    """

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api
        self.list_ = api.list_
        self._is_first = True

    async def watch(self, path: str, version: str) -> AsyncGenerator[WatchEvent, None]:
        if self._is_first:
            self._is_first = False
            yield WatchEvent(type="ERROR", object=Raw(_TOO_OLD))
        async for change in self._api.watch(path, version):
            yield change


class WatchedConfigMaps:
    """ConfigMaps of one test, and what an informer told of them."""

    def __init__(self, api: KubernetesApi) -> None:
        self.api = api
        self.changes: list[tuple[str, bool]] = []
        self.prefix = f"tide-{secrets.token_hex(3)}"
        path = api.path("configmaps")
        self.informer = Informer(api, path, ConfigMap, self._hear)

    def _hear(self, found: ConfigMap, gone: bool) -> None:  # noqa: FBT001
        if found.metadata.name.startswith(self.prefix):
            self.changes.append((found.metadata.name.removeprefix(self.prefix), gone))

    async def create(self, name: str) -> None:
        manifest = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"{self.prefix}{name}"},
        }
        assert await self.api.create(self.api.path("configmaps"), manifest, ConfigMap)

    async def delete(self, name: str) -> None:
        path = self.api.path("configmaps", f"{self.prefix}{name}")
        assert await self.api.delete(path)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.informer.run())
        try:
            async with asyncio.timeout(30):
                await self.informer.listed.wait()
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])


@pytest.fixture
async def config_maps(up: DevCluster) -> AsyncIterator[WatchedConfigMaps]:
    async with connect(access.read(up.places.kubeconfig, "default")) as api:
        yield WatchedConfigMaps(api)


async def test_what_is_new_and_what_is_gone_is_told(
    config_maps: WatchedConfigMaps,
) -> None:
    await config_maps.create("-before")
    async with config_maps.running():
        assert config_maps.changes == [("-before", False)]
        await config_maps.create("-after")
        await until(lambda: config_maps.changes[-1] == ("-after", False))
        await config_maps.delete("-before")
        await until(lambda: config_maps.changes[-1] == ("-before", True))
        assert f"{config_maps.prefix}-before" not in config_maps.informer.objects


async def test_what_was_deleted_while_nobody_watched_is_told_by_the_next_list(
    config_maps: WatchedConfigMaps,
) -> None:
    await config_maps.create("-ebb")
    await config_maps.create("-flood")
    async with config_maps.running():
        pass
    await config_maps.delete("-ebb")
    config_maps.changes.clear()
    config_maps.informer._api = cast("KubernetesApi", Compacted(config_maps.api))
    async with config_maps.running():
        await until(lambda: ("-ebb", True) in config_maps.changes)
    assert config_maps.changes == [("-ebb", True)], (
        "of what is as it was nothing is told"
    )
    assert config_maps.informer.lists == 2


async def test_another_one_of_the_same_name_is_another_one(
    config_maps: WatchedConfigMaps,
) -> None:
    await config_maps.create("-ebb")
    async with config_maps.running():
        pass
    await config_maps.delete("-ebb")
    await config_maps.create("-ebb")
    config_maps.changes.clear()
    config_maps.informer._version = ""
    async with config_maps.running():
        await until(lambda: len(config_maps.changes) == 2)
    assert config_maps.changes == [("-ebb", True), ("-ebb", False)]


@pytest.mark.long
async def test_it_outlives_the_api_server(
    config_maps: WatchedConfigMaps, up: DevCluster
) -> None:
    await config_maps.create("-before")
    async with config_maps.running():
        kill(up, "kube-apiserver")
        await asyncio.to_thread(up.run, "up")
        await config_maps.delete("-before")
        await config_maps.create("-after")
        await until(lambda: ("-after", False) in config_maps.changes)
        await until(lambda: ("-before", True) in config_maps.changes)
