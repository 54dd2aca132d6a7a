"""An informer at a real API server: nothing is missed, whatever happens to it."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncGenerator, AsyncIterator
from typing import cast

import pytest
from msgspec import Raw

from leyden.nodes.runtimes.kubernetes import access
from leyden.nodes.runtimes.kubernetes.api import Api, Change, connect
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

    def __init__(self, api: Api) -> None:
        self._api = api
        self.list_ = api.list_
        self._is_first = True

    async def watch(self, path: str, version: str) -> AsyncGenerator[Change, None]:
        if self._is_first:
            self._is_first = False
            yield Change(type="ERROR", object=Raw(_TOO_OLD))
        async for change in self._api.watch(path, version):
            yield change


class Tide:
    """ConfigMaps of one test, and what an informer told of them."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.told: list[tuple[str, bool]] = []
        self.prefix = f"tide-{secrets.token_hex(3)}"
        path = api.path("configmaps")
        self.informer = Informer(api, path, ConfigMap, self._hear)

    def _hear(self, found: ConfigMap, gone: bool) -> None:  # noqa: FBT001
        if found.metadata.name.startswith(self.prefix):
            self.told.append((found.metadata.name.removeprefix(self.prefix), gone))

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
async def tide(up: DevCluster) -> AsyncIterator[Tide]:
    async with connect(access.read(up.places.kubeconfig, "default")) as api:
        yield Tide(api)


async def test_what_is_new_and_what_is_gone_is_told(tide: Tide) -> None:
    await tide.create("-before")
    async with tide.running():
        assert tide.told == [("-before", False)]
        await tide.create("-after")
        await until(lambda: tide.told[-1] == ("-after", False))
        await tide.delete("-before")
        await until(lambda: tide.told[-1] == ("-before", True))
        assert f"{tide.prefix}-before" not in tide.informer.there


async def test_what_was_deleted_while_nobody_watched_is_told_by_the_next_list(
    tide: Tide,
) -> None:
    await tide.create("-ebb")
    await tide.create("-flood")
    async with tide.running():
        pass
    await tide.delete("-ebb")
    tide.told.clear()
    tide.informer._api = cast("Api", Compacted(tide.api))
    async with tide.running():
        await until(lambda: ("-ebb", True) in tide.told)
    assert tide.told == [("-ebb", True)], "of what is as it was nothing is told"
    assert tide.informer.lists == 2


async def test_another_one_of_the_same_name_is_another_one(tide: Tide) -> None:
    await tide.create("-ebb")
    async with tide.running():
        pass
    await tide.delete("-ebb")
    await tide.create("-ebb")
    tide.told.clear()
    tide.informer._version = ""
    async with tide.running():
        await until(lambda: len(tide.told) == 2)
    assert tide.told == [("-ebb", True), ("-ebb", False)]


@pytest.mark.long
async def test_it_outlives_the_api_server(tide: Tide, up: DevCluster) -> None:
    await tide.create("-before")
    async with tide.running():
        kill(up, "kube-apiserver")
        await asyncio.to_thread(up.run, "up")
        await tide.delete("-before")
        await tide.create("-after")
        await until(lambda: ("-after", False) in tide.told)
        await until(lambda: ("-before", True) in tide.told)
