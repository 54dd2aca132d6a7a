"""Whatever is sent, the answer is one that the OpenAPI document announces.

Schemathesis makes requests from the document itself, good and bad ones, and sends them
over real sockets to the whole API: real database, fakes for lnd, chain and auction.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from leyden.app.endpoints import OPERATIONS, OPERATOR_OPERATIONS
from leyden.app.serving.api import Api
from leyden.app.serving.public import Public
from leyden.base.database.database import Database, open_database
from leyden.base.database.secrets import Sealer
from leyden.base.http.operations import Table
from leyden.base.http.server import bind, serving
from leyden.base.platform import Platform
from leyden.base.rules.times import utc_now
from leyden.base.rules.units import Sats
from leyden.base.settings import Settings
from leyden.channels import orders
from leyden.channels.rules.pricing import Channel
from leyden.channels.services import ChannelServices
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.channels.wiring.channels import SOURCES
from leyden.events.dispatchers import Dispatcher
from leyden.events.tails import Tails
from leyden.manual.openapi import document
from leyden.nodes.certificates.authority import open_or_create
from leyden.people import accounts, api_keys
from tests.fakes.payments import FakePayments
from tests.fakes.sender import FakeSender
from tests.nodes.api.nodes.conftest import CIPHERTEXT, NEW_NODE
from tests.nodes.fleet_harness import FleetHarness

ALL = (*OPERATIONS, *OPERATOR_OPERATIONS)
ORDER = "5b0c3d1e-7a44-4c39-9a0e-0c1f2b7d9e55FO"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    ignored_auth,
    unsupported_method,
]

# What would take luck to find: bodies that are right in every field.
GOOD: dict[str, dict[str, Any]] = {
    "nodes_create": {**NEW_NODE, "name": "spring light"},
    "nodes_change_settings": {"alias": "other light"},
    "nodes_replace_whitelist": {"whitelist": ["198.51.100.0/24", "2001:db8::/32"]},
    "backups_keep_macaroon": {"macaroon": CIPHERTEXT, "name": "admin"},
    "backups_keep_seed": {"seed": CIPHERTEXT},
    "backups_reseal": {"seed": {"seed": CIPHERTEXT, "replaces": "0" * 64}},
    "flow_quote": {"capacity": 1_000_000},
    "flow_create": {"capacity": 1_000_000},
    "flow_status": {"order_id": ORDER},
    "flow_cancel": {"order_id": ORDER},
}


def announced() -> dict[str, Any]:
    """The document, with a good body for each endpoint that takes one."""
    described = document(Table(ALL), version="0")
    for methods in described["paths"].values():
        for operation in methods.values():
            if body := GOOD.get(operation["operationId"]):
                content = operation["requestBody"]["content"]
                content["application/json"]["example"] = body
    return described


# Health, LSPS1 and wrapped invoices are no operations of the API that answers here.
schema = schemathesis.openapi.from_dict(announced()).exclude(
    path_regex="^/(health|lsps1|api/v1)/"
)
# Schemathesis does not know that too much may be told from wrong.
schema.config.checks.negative_data_rejection.expected_statuses = [
    "400",
    "401",
    "403",
    "404",
    "405",
    "409",
    "413",
    "415",
]


@dataclass(frozen=True)
class World:
    """A platform that is served, and the ways in of one customer and its operator."""

    url: str
    operator_key: str
    key: str
    organization_id: str
    node_id: str
    doomed_node_id: str


@asynccontextmanager
async def platform_of(
    database: Database, sealer: Sealer, fleet_harness: FleetHarness
) -> Any:
    """Return everything that endpoints need, with fakes for what is outside."""
    channels = ChannelServices(
        database=database,
        sealer=sealer,
        payments=FakePayments(),
        sources=SOURCES,
        market=SimulatedMarket(),
        clock=utc_now,
    )
    dispatcher = Dispatcher(
        database=database, sealer=sealer, sender=FakeSender(), clock=utc_now
    )
    yield Platform(
        settings=Settings(requests_per_minute=10**9, failures_per_minute=10**9),
        database=database,
        sealer=sealer,
        clock=utc_now,
        tails=Tails(database),
        fleet=fleet_harness.fleet,
        channels=channels,
        dispatcher=dispatcher,
    )


async def furnish(
    platform: Platform, fleet_harness: FleetHarness
) -> tuple[str, str, str, str]:
    """Make a customer, with two nodes and an order."""
    made = await accounts.create_organization(platform, "Harbour", actor="test")
    _, key = await api_keys.create(
        platform,
        made.id,
        name="test",
        scopes=["node", "flow"],
        expires=None,
        actor="test",
    )
    node = await fleet_harness.running(organization_id=made.id)
    doomed = await fleet_harness.running(organization_id=made.id, name="doomed light")
    assert platform.channels is not None
    await orders.create(
        platform.channels,
        made.id,
        ORDER,
        Channel(capacity=Sats(1_000_000)),
        actor="test",
        now=utc_now(),
    )
    return key, made.id, node.id, doomed.id


@pytest.fixture(scope="module")
def world(
    sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory, sealer: Sealer
) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    path = folder / "leyden.db"
    path.write_bytes(sqlite_template.read_bytes())
    ready = threading.Event()
    found: list[World] = []
    stops: list[Callable[[], object]] = []

    async def serve() -> None:
        stop = asyncio.Event()
        stops.append(partial(asyncio.get_running_loop().call_soon_threadsafe, stop.set))
        database = await open_database(f"sqlite:///{path}")
        fleet_harness = FleetHarness(
            database, sealer, open_or_create(folder / "ca", now=utc_now())
        )
        async with platform_of(database, sealer, fleet_harness) as platform:
            _, operator_key = await api_keys.create_operator_key(
                platform, name="test", expires=None, actor="test"
            )
            answer = await furnish(platform, fleet_harness)
            listeners = bind("127.0.0.1", 0)
            url = f"http://127.0.0.1:{listeners[0].getsockname()[1]}"
            public = Public(platform, Api(platform, ALL), version="0")
            async with serving(public, listeners, grace_s=1):
                found.append(World(url, operator_key, *answer))
                ready.set()
                await stop.wait()
        await fleet_harness.watching.close()
        await database.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(30)
    yield found[0]
    stops[0]()
    thread.join(20)


def test_an_answer_promises_all_its_fields() -> None:
    schemas = document(Table(ALL), version="0")["components"]["schemas"]
    shown, sent = schemas["SettingsAnswer"], schemas["SettingsChange"]
    assert shown["required"] == list(shown["properties"])
    assert not any("default" in each for each in shown["properties"].values())
    assert sent["required"] == []


@schema.parametrize()
@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,  # the same requests each time: a failure can be seen again
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_announced(case: Any, world: World) -> None:
    deletes = case.method == "DELETE"
    known = {
        "organization_id": world.organization_id,
        "node_id": world.doomed_node_id if deletes else world.node_id,
    }
    if case.query:
        case.query.pop("wait", None)  # for a minute, where nothing happens
    for name in case.path_parameters or {}:
        if name in known:
            case.path_parameters[name] = known[name]
    is_operators = case.path.startswith("/operator/")
    case.call_and_validate(
        base_url=world.url,
        headers={"X-SERVICE-AUTH": world.operator_key if is_operators else world.key},
        checks=[*CHECKS, negative_data_rejection] if is_wrong_inside(case) else CHECKS,
    )


def is_wrong_inside(case: Any) -> bool:
    """Return whether the body breaks its schema; paths and keys are set right above."""
    parts = case.meta.components if case.meta else {}
    return any(
        position == ParameterLocation.BODY and part.mode.is_negative
        for position, part in parts.items()
    )


def test_every_schema_has_a_name_of_its_own() -> None:
    """Two of one name are told apart by their modules, which no client tool takes."""
    described = document(Table(ALL), version="0.1.0")
    names = described["components"]["schemas"]
    assert [name for name in names if not name.isalnum()] == []
    assert names["Event"]["oneOf"]
