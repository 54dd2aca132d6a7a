"""An installation to measure: real database, key and endpoints, no other systems.

    python -m bench.installation FOLDER PORT

serves one that `prepare` made. Nodes and payments are the fakes that the contract
suites hold to the real ones, so that what is measured is the API and the database.
"""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import uvloop
from bench.contenders import Contender, wait_for

from leyden.app.endpoints import OPERATIONS
from leyden.app.front import Front, dashboard
from leyden.app.migration import migrate
from leyden.app.serving.api import Api
from leyden.base.http.proxies import Proxies
from leyden.base.http.server import bind, serving
from leyden.base.opening import opened
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Role
from leyden.base.rules.times import utc_now
from leyden.base.rules.units import Sats
from leyden.base.settings import Settings
from leyden.channels import orders
from leyden.channels import services as channel_rules
from leyden.channels.rules.pricing import Channel
from leyden.channels.services import ChannelServices
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.channels.wiring.channels import SOURCES
from leyden.nodes import creation
from leyden.nodes import fleet as fleet_rules
from leyden.nodes.certificates.authority import open_or_create
from leyden.nodes.fleet import Fleet
from leyden.nodes.rules.nodes import Network, NodeType
from leyden.nodes.start_limits import StartLimit
from leyden.people import accounts, api_keys, sign_in
from leyden.people.quotas import limits
from leyden.values import replace
from tests.fakes.gateway import FakeGateway
from tests.fakes.node_files import FakeNodeFiles
from tests.fakes.payments import FakePayments
from tests.fakes.runtime import FakeRuntime

_URL = "database_url"
_CHANNEL = Channel(capacity=Sats(1_000_000))
_NODE: dict[str, object] = {
    "autopilot": False,
    "grpc": True,
    "rest": True,
    "keysend": True,
    "whitelist": ["198.51.100.7"],
    "alias": "harbour light",
    "color": "#ff9900",
}


@dataclass(frozen=True, kw_only=True)
class Customer:
    """The customer whose requests are measured."""

    organization_id: str
    key: str
    node_id: str
    order_id: str
    session: str  # the word in the cookie of somebody who is signed in

    def cookie(self, url: str) -> str:
        """Return the cookie that a browser would send there."""
        return f"leyden-session-{urlsplit(url).port}={self.session}"

    @property
    def nodes(self) -> str:
        """The path of this customer's nodes."""
        return f"/organizations/{self.organization_id}/nodes"


def prepare(
    folder: Path, *, nodes: int = 10, own_orders: int = 0, url: str = ""
) -> Customer:
    """Create an installation with one customer, on SQLite or at a URL."""
    if url:
        (folder / _URL).write_text(url)
    return asyncio.run(_prepare(folder, nodes, own_orders))


def database_url(folder: Path) -> str:
    """Return where the installation's database is."""
    return _settings(folder).database


@contextmanager
def served(folder: Path) -> Iterator[Contender]:
    """Serve it from a process of its own until the end of the block."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.installation", str(folder), str(port)]
    )
    try:
        url = f"http://127.0.0.1:{port}"
        wait_for(url, process)
        yield Contender(url, process.pid)
    finally:
        process.terminate()
        process.wait(20)


async def _prepare(folder: Path, nodes: int, own_orders: int) -> Customer:
    migrate(_settings(folder))
    async with _opened(folder) as platform:
        organization = await accounts.create_organization(
            platform, "Harbour Light", actor="bench"
        )
        of = organization.id
        _, key = await api_keys.create(
            platform,
            of,
            name="bench",
            scopes=["node", "flow"],
            expires=None,
            actor="bench",
        )
        assert platform.fleet is not None
        assert platform.channels is not None
        node_id = order_id = ""
        for number in range(nodes):
            made = await creation.create(
                platform.fleet,
                of,
                creation.NodeParameters(
                    name=f"harbour light {number}",
                    network=Network.TESTNET,
                    type=NodeType.STANDARD,
                    version=None,
                    settings=_NODE,
                ),
                key=uuid.uuid4(),
                actor="bench",
                now=utc_now(),
            )
            node_id = made.id
        for _ in range(max(1, own_orders)):
            order = await orders.create(
                platform.channels,
                of,
                f"{uuid.uuid4()}FO",
                _CHANNEL,
                actor="test",
                now=utc_now(),
            )
            order_id = order.id
        session = await _signed_in(platform, of)
    customer = Customer(
        organization_id=of,
        key=key,
        node_id=node_id,
        order_id=order_id,
        session=session,
    )
    (folder / "customer.json").write_text(json.dumps(customer.__dict__))
    return customer


async def _signed_in(platform: Platform, organization_id: str) -> str:
    owner = await accounts.create_user(
        platform,
        "owner@example.org",
        password=None,
        organization_id=organization_id,
        role=Role.OWNER,
        actor="bench",
    )
    async with platform.database.transaction() as tx:
        _, word = await sign_in.begin(
            platform,
            tx,
            owner,
            is_complete=True,
            address="127.0.0.1",
            browser="bench",
            now=utc_now(),
        )
    return word


@asynccontextmanager
async def _opened(folder: Path) -> AsyncIterator[Platform]:
    async with opened(_settings(folder)) as platform:
        fleet = Fleet(
            database=platform.database,
            sealer=platform.sealer,
            runtime=FakeRuntime(),
            node_files=FakeNodeFiles(),
            gateway=FakeGateway(),
            authority=open_or_create(folder / "authority", now=utc_now()),
            clock=utc_now,
            starts=StartLimit(1),
            rules=fleet_rules.FleetSettings(quotas=limits(platform.settings)),
        )
        channels = ChannelServices(
            database=platform.database,
            sealer=platform.sealer,
            payments=FakePayments(),
            sources=SOURCES,
            market=SimulatedMarket(),
            clock=utc_now,
            rules=channel_rules.ChannelSettings(quotas=limits(platform.settings)),
        )
        yield replace(platform, fleet=fleet, channels=channels)


def _settings(folder: Path) -> Settings:
    return Settings(
        home=str(folder),
        database_url=stored.read_text() if (stored := folder / _URL).exists() else "",
        requests_per_minute=10**9,
        nodes_per_organization=10**9,
        unpaid_orders_per_organization=10**9,
        idempotency_keys_per_organization=10**9,
    )


async def _serve(folder: Path, port: int) -> None:
    event = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, event.set)
    async with _opened(folder) as platform:
        site = dashboard(platform, version="bench")
        api = Api(platform, OPERATIONS)
        front = Front(pages=site, manual=api, api=api, proxies=Proxies())
        async with serving(front, bind("127.0.0.1", port)):
            await event.wait()


if __name__ == "__main__":
    uvloop.run(_serve(Path(sys.argv[1]), int(sys.argv[2])))
