"""What streams from a cluster, at a server that is too busy to say goodbye."""

from contextlib import aclosing
from pathlib import Path

import pytest

from leyden.errors import ClusterRefused
from leyden.nodes.runtimes.kubernetes.access import ApiServerAccess
from leyden.nodes.runtimes.kubernetes.api import connect
from leyden.nodes.runtimes.kubernetes.informer import Informer
from leyden.nodes.runtimes.kubernetes.kinds import Machine, Pod
from leyden.nodes.runtimes.kubernetes.move_endpoint import _called, _Copier
from tests.authority import Authority
from tests.busy_server import HOST, BusyServer

MACHINES = "/api/v1/nodes"
BOOKMARK = b'{"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "7"}}}\n'
TOO_OLD = (
    b'{"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too '
    b'old resource version"}}\n'
)


AUTHORITY = Authority("a busy server")


@pytest.fixture
def busy(tmp_path: Path) -> BusyServer:
    return BusyServer(tmp_path, HOST, AUTHORITY)


def access(busy: BusyServer) -> ApiServerAccess:
    return ApiServerAccess(
        server=f"https://{HOST}:{busy.port}",
        namespace="lnds",
        authority_pem=AUTHORITY.pem,
    )


async def test_a_watch_that_is_left_leaves_no_connection(busy: BusyServer) -> None:
    async with busy.serving(BOOKMARK), connect(access(busy)) as api:
        async with aclosing(api.watch(MACHINES, "1")) as watch:
            assert (await anext(watch)).type == "BOOKMARK"
        await busy.all_left()


async def test_an_informer_leaves_a_watch_that_is_too_old(busy: BusyServer) -> None:
    async with busy.serving(TOO_OLD), connect(access(busy)) as api:
        informer = Informer(api, MACHINES, Machine, lambda _, __: None)
        with pytest.raises(ClusterRefused, match="too old") as raised:
            await informer._watch()
        await busy.all_left()
        assert raised.value.code == 410


async def test_an_archive_that_is_left_leaves_no_connection(busy: BusyServer) -> None:
    async with busy.serving(b"half of a file"):
        copier = _Copier(
            pod=Pod(),
            url=f"https://{HOST}:{busy.port}",
            name=HOST,
            tls=access(busy).context(),
            token="secret",
        )
        async with _called(copier, "GET", "/archive") as answer:
            assert await answer.content.readany() == b"half of a file"
        await busy.all_left()
