"""A fleet behind the API: its lnds and its gateway are fakes, its work done by hand."""

import hashlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.nodes.certificates.authority import Authority, open_or_create
from tests.base.api.conftest import Answer, Caller
from tests.conftest import NOW
from tests.nodes.fleet_harness import SETTINGS, FleetHarness

# base64 of "Salted__", a salt and ciphertext, as clients of such services write it.
CIPHERTEXT = (
    "U2FsdGVkX18fXfCSAuXDMxzUcLBjk7YhIfqVKZHFDYBbzfMo5lPkOVWD3mYbXGrN"
    "hXJqgL0cR4w1bfqF2uB1mC0v3n9KqXyHcQ7yJXz8m4A="
)
FOREIGN = "1c6d4e2f-8b55-4d4a-8b1f-1d2a3c8e0f66N"
ITEM_FIELDS = {
    "node_name": str,
    "status": str,
    "node_id": str,
    "expires": str,
    "created": str,
    "type": str,
    "purchased_type": str,
    "purchase_status": str,
    "api_endpoint": str,
    "network": str,
    "lnd_version": str,
    "service_version": str,
    "update_available": bool,
    "peer_address": str,  # beyond the contract
    "onion_address": str,  # the same
}
NEW_NODE: dict[str, Any] = {
    "name": "harbour light",
    "network": "testnet",
    "type": "standard",
    "settings": SETTINGS,
}


@pytest.fixture
def db(sqlite_db: Database) -> Database:
    """One database is enough here: what the services promise is shown on both."""
    return sqlite_db


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return open_or_create(tmp_path_factory.mktemp("authority"), now=NOW)


@pytest.fixture
async def fleet_harness(
    db: Database, sealer: Sealer, authority: Authority
) -> AsyncIterator[FleetHarness]:
    fleet_harness = FleetHarness(db, sealer, authority)
    yield fleet_harness
    await fleet_harness.watching.close()


@pytest.fixture
def platform(
    db: Database, sealer: Sealer, settings: Settings, fleet_harness: FleetHarness
) -> Platform:
    return Platform(
        settings=settings,
        database=db,
        sealer=sealer,
        clock=lambda: fleet_harness.now,
        fleet=fleet_harness.fleet,
    )


@pytest.fixture
def nodes(alice: Caller) -> str:
    """The path of Alice's nodes."""
    return f"/organizations/{alice.organization_id}/nodes"


@pytest.fixture
async def node(
    alice: Caller, nodes: str, fleet_harness: FleetHarness
) -> dict[str, Any]:
    """A node of Alice's that waits for its wallet."""
    made: dict[str, Any] = (await alice.post(nodes, NEW_NODE)).json()
    await fleet_harness.work()
    return made


@pytest.fixture
def path(nodes: str, node: dict[str, Any]) -> str:
    """The path of that node."""
    return f"{nodes}/{node['node_id']}"


def refusal(answer: Answer) -> tuple[int, str]:
    """Return the status and the message of a refusal."""
    content = answer.json()
    if answer.status == 404:
        assert list(content) == ["message"]
    else:
        assert set(content) - {"field"} == {"message", "code", "doc_url"}
        assert content["code"] == answer.headers["error-code"]
    return answer.status, content["message"]


def sha256_of(ciphertext: str) -> str:
    """Name a ciphertext as those name it who replace it."""
    return hashlib.sha256(ciphertext.encode()).hexdigest()
