from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leyden.errors import SetupError
from leyden.nodes.gateway.bootstrap import Bootstrap
from leyden.nodes.gateway.discovery import DiscoveryGateway
from leyden.nodes.gateway.listener_options import ListenerOptions
from leyden.nodes.gateway.local import LocalGateway
from leyden.nodes.gateway.routes import Listener
from leyden.nodes.gateway.supervisor import program
from tests.nodes.gateway.apis import TOKEN, Api
from tests.nodes.gateway.calls import Callers, EchoNode, echo_node
from tests.ports import free_port


@pytest.fixture(scope="session")
def envoy() -> Path:
    try:
        return program()
    except SetupError as error:
        pytest.skip(str(error))


@pytest.fixture
def listening() -> ListenerOptions:
    return ListenerOptions(
        ports={listener: free_port() for listener in Listener},
        connections_per_source=20,
        connections_per_node=30,
        hello_timeout_s=2,
    )


@pytest.fixture
async def gateway(
    tmp_path: Path, listening: ListenerOptions, envoy: Path
) -> AsyncIterator[LocalGateway]:
    made = LocalGateway(tmp_path / "gateway", listening, Bootstrap(), envoy=envoy)
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
def port(listening: ListenerOptions) -> int:
    return listening.ports[Listener.REST]


@pytest.fixture
async def first_node(tmp_path: Path) -> AsyncIterator[EchoNode]:
    async with echo_node("harbour.nodes.test", tmp_path, datetime.now(UTC)) as node:
        yield node


@pytest.fixture
async def second_node(tmp_path: Path) -> AsyncIterator[EchoNode]:
    async with echo_node("lighthouse.nodes.test", tmp_path, datetime.now(UTC)) as node:
        yield node


@pytest.fixture
async def callers(
    port: int,
    first_node: EchoNode,  # noqa: ARG001  so that we hang up before the nodes go
    second_node: EchoNode,  # noqa: ARG001
) -> AsyncIterator[Callers]:
    made = Callers(port)
    yield made
    await made.hang_up()


@pytest.fixture
async def api(listening: ListenerOptions) -> AsyncIterator[Api]:
    made = Api(DiscoveryGateway(listening, token=TOKEN))
    await made.up()
    yield made
    await made.down()
