"""A whole platform whose names a real ACME authority vouches for."""

import asyncio
import socket
import ssl
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from cryptography import x509

from leyden.app import installation
from leyden.app.migration import migrate
from leyden.base import processes
from leyden.base.platform import Platform
from leyden.base.rules.times import utc_now
from leyden.base.settings import Settings, load
from leyden.errors import SetupError
from leyden.nodes import commands, creation, views
from leyden.nodes.creation import NodeParameters
from leyden.nodes.fleet import Fleet
from leyden.nodes.gateway.local import LocalGateway
from leyden.nodes.rules.nodes import Action, Network, Node, NodeStatus, NodeType
from leyden.nodes.runtimes.local.local import LocalRuntime
from leyden.people import accounts
from tests import pebble
from tests.ports import free_port, free_ports
from tests.programs import built

API = "api.harbour.test"
WISH = {
    "autopilot": False,
    "grpc": True,
    "rest": True,
    "keysend": True,
    "whitelist": ["127.0.0.1"],
    "alias": "harbour light",
    "color": "#ff9900",
}

pytestmark = pytest.mark.real


@pytest.fixture(autouse=True)
def _lnd() -> None:
    built("lnd")


@pytest.mark.parametrize("bound", [False, True])
async def test_the_api_and_a_node_are_vouched_for_by_an_authority_of_others(
    tmp_path: Path, *, bound: bool
) -> None:
    program = await pebble.program()
    with pebble.running(program, tmp_path / "pebble", bound=bound) as authority:
        given = settings(tmp_path / "home", authority, bound=bound)
        migrate(given)
        async with running(given) as (platform, node):
            # The API's name shows the new certificate as soon as it is there.
            await until(lambda: is_theirs(given.api_port, API))
            await trusting(given.api_port, API, authority.authorities.read_text())

            # The node's lnd reads its own at its next start, and at no other time.
            door, name = given.gateway_rest_port, node.api_endpoint
            await until(lambda: is_issued(platform, name))
            assert not await is_theirs(door, name)
            await restart(platform, node)
            await until(lambda: is_theirs(door, name))
            saved = await views.certificate(
                fleet_of(platform), node.organization_id, node.id
            )
            await trusting(door, name, saved.decode())
    database = (tmp_path / "home" / "leyden.db").read_bytes()
    assert b"BEGIN CERTIFICATE" in database
    assert b"PRIVATE KEY" not in database


def settings(home: Path, authority: pebble.Pebble, *, bound: bool) -> Settings:
    rest, grpc, api = free_ports(3)
    return Settings(
        home=str(home),
        api_port=api,
        metrics_port=0,
        nodes_domain="nodes.test",
        gateway_rest_port=rest,
        gateway_grpc_port=grpc,
        nodes_addresses="127.93.0.0/16",
        nodes_fence="off",
        testnet_chain="simnet",
        testnet_backend="neutrino",
        acme_directory=authority.directory,
        acme_authorities=str(authority.authorities),
        acme_port=authority.answers_port,
        acme_email="keeper@harbour.example",
        acme_binding_id=pebble.BINDING_ID if bound else "",
        acme_binding_secret=pebble.BINDING_SECRET if bound else "",
        acme_api_name=API,
    )


@asynccontextmanager
async def running(given: Settings) -> AsyncIterator[tuple[Platform, Node]]:
    """Run the platform and a node of it."""
    ending = AsyncExitStack()
    async with ending, installation.running(given) as platform:
        fleet = fleet_of(platform)
        assert isinstance(fleet.gateway, LocalGateway)
        assert isinstance(fleet.runtime, LocalRuntime)
        # Both outlive the platform, which would start them again before its own end.
        ending.push_async_callback(fleet.gateway.stop)
        node = await made(platform)
        ending.push_async_callback(_end, fleet.runtime.layout.claim(node))
        yield platform, node


async def _end(claim: Path) -> None:
    if (lnd := processes.holder(claim)) is not None:
        await processes.stop(lnd, grace_s=20)


async def made(platform: Platform) -> Node:
    """Make a node, and let it come up."""
    team = await accounts.create_organization(platform, "Harbour", actor="alice")
    wish = NodeParameters(
        name="harbour light",
        network=Network.TESTNET,
        type=NodeType.STANDARD,
        version=None,
        settings=WISH,
    )
    node = await creation.create(
        fleet_of(platform),
        team.id,
        wish,
        key=uuid.uuid4(),
        actor="key:7",
        now=utc_now(),
    )
    await until(lambda: has_status(platform, node, NodeStatus.WAITING_INIT))
    return node


async def restart(platform: Platform, node: Node) -> None:
    await commands.command(
        fleet_of(platform),
        node.organization_id,
        node.id,
        Action.RESTART,
        actor="key:7",
        now=utc_now(),
    )


async def has_status(platform: Platform, node: Node, status: NodeStatus) -> bool:
    return (await platform.database.reader.nodes.get(node.id)).status is status


async def is_issued(platform: Platform, name: str) -> bool:
    row = await platform.database.reader.issued.find(name)
    return row is not None and row.chain is not None


async def is_theirs(port: int, name: str) -> bool:
    """Return who vouches for a name at a port, if somebody answers there."""
    anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    try:
        der = await asyncio.to_thread(shown, port, name, anybody)
    except OSError:
        return False
    issuer = x509.load_der_x509_certificate(der).issuer.rfc4514_string()
    return "Pebble" in issuer


async def trusting(port: int, name: str, authorities: str) -> None:
    """Connect as a client that trusts these and nobody else."""
    them = ssl.create_default_context(cadata=authorities)
    assert await asyncio.to_thread(shown, port, name, them)


def shown(port: int, name: str, context: ssl.SSLContext) -> bytes:
    with (
        socket.create_connection(("127.0.0.1", port), timeout=5) as plain,
        context.wrap_socket(plain, server_hostname=name) as connection,
    ):
        return connection.getpeercert(binary_form=True) or b""


def fleet_of(platform: Platform) -> Fleet:
    assert platform.fleet is not None
    return platform.fleet


async def until(reached: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await reached():
            await asyncio.sleep(0.1)


async def test_a_port_for_answers_that_is_taken_is_told_at_the_start(
    tmp_path: Path,
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        given = Settings(
            home=str(tmp_path),
            metrics_port=0,
            api_port=free_port(),
            acme_directory="https://127.0.0.1:1/dir",
            acme_port=taken.getsockname()[1],
        )
        migrate(given)
        with pytest.raises(SetupError, match="LEYDEN_ACME_PORT"):
            await installation.running(given).__aenter__()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"ACME_DIRECTORY": "http://a.example"}, "acme_directory: must be an https"),
        ({"ACME_API_NAME": "a.example"}, "acme_api_name: needs acme_directory"),
        (
            {"ACME_DIRECTORY": "https://a.example", "ACME_BINDING_ID": "harbour"},
            "acme_binding_id, acme_binding_secret: set both or neither",
        ),
        (
            {
                "ACME_DIRECTORY": "https://a.example",
                "ACME_API_NAME": "a.example",
                "API_TLS_CERTIFICATE": "a",
                "API_TLS_KEY": "b",
            },
            "acme_api_name, api_tls_certificate: set one of them",
        ),
    ],
)
def test_settings_that_do_not_go_together_are_refused(
    given: dict[str, str], why: str, tmp_path: Path
) -> None:
    environment = {f"LEYDEN_{name}": value for name, value in given.items()}
    with pytest.raises(SetupError, match=why):
        load({"LEYDEN_HOME": str(tmp_path), **environment})
