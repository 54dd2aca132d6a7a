"""Ten thousand nodes of one organization: no page is heavy, and nobody else waits.

`./leyden test tests/nodes/pages/test_ten_thousand_nodes.py -s` prints the table.
"""

from collections.abc import Iterator

import pytest

from leyden.app.endpoints import OPERATIONS
from leyden.app.serving.api import Api
from leyden.base.database.database import Database
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.nodes.rules.nodes import Node, NodeStatus
from leyden.people import api_keys
from leyden.values import replace
from tests.base.api.conftest import Caller
from tests.base.pages.visitor import Visitor
from tests.loop_work import HEADLINE, Cost, cost
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.test_nodes import made

MANY = 10_000
HEAVIEST = 150 * 1024
_table: list[Cost] = []


@pytest.fixture
def settings() -> Settings:
    return Settings(requests_per_minute=10**6)


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[None]:
    yield
    print(f"\n{HEADLINE}", *_table, sep="\n")  # noqa: T201  with -s


@pytest.fixture
async def nodes(alice: Visitor, fleet_harness: FleetHarness) -> list[Node]:
    """Make one node, and as many rows like it as there may be."""
    await made(alice, fleet_harness)
    (first,) = await fleet_harness.fleet.database.reader.nodes.all_()
    return [first, *await _copied(fleet_harness.fleet.database, first)]


async def _copied(db: Database, first: Node) -> list[Node]:
    copies = [
        replace(
            first,
            id=f"00000000-0000-4000-8000-{number:012}N",
            name=f"beacon {number:05}",
            api_endpoint=f"beacon-{number:05}.{first.api_endpoint}",
            slot=20_000 + number,
            status=(NodeStatus.RUNNING, NodeStatus.STOPPED, NodeStatus.WAITING_UNLOCK)[
                number % 3
            ],
            process="",
        )
        for number in range(1, MANY)
    ]
    async with db.transaction() as tx:
        for each in copies:
            await tx.nodes.add(each)
    return copies


async def holds(what: str, request: object) -> None:
    found = await cost(what, request)  # type: ignore[arg-type]
    _table.append(found)
    assert found.status == 200
    assert found.is_short, f"{HEADLINE}\n{found}"


async def test_every_list_of_many_nodes_is_light_and_keeps_nobody_waiting(
    alice: Visitor, nodes: list[Node], platform: Platform
) -> None:
    listed, one = f"{alice.root}/nodes", f"{alice.root}/nodes/{nodes[0].id}"
    db = platform.database

    async def changed() -> None:
        """Commit something: no answer is one that was kept."""
        async with db.transaction() as tx:
            await tx.tasks.put("a", "b", due=platform.clock())

    for page in (
        listed,
        f"{listed}?page=100",
        f"{listed}?status=stopped",
        f"{listed}?name=0999",
        f"{listed}/deleted",
        f"{alice.root}/usage",
        one,
    ):
        weights: list[int] = []

        async def look(page: str = page, weights: list[int] = weights) -> int:
            await changed()
            shown = await alice.get(page)
            weights.append(len(shown.text.encode()))
            return shown.status

        await holds(page.replace(alice.root, ""), look)
        assert weights[0] < HEAVIEST
    _, key = await api_keys.create(
        platform,
        alice.organization_id,
        name="all",
        scopes=["node"],
        expires=None,
        actor="test",
    )
    caller = Caller(Api(platform, OPERATIONS), key, alice.organization_id)

    path = f"/organizations/{alice.organization_id}/nodes"

    async def listing() -> int:
        await changed()
        return (await caller.get(path)).status

    await holds("GET nodes", listing)
    every = [each["node_id"] for each in (await caller.get(path)).json()["nodes"]]
    assert every == [each.id for each in sorted(nodes, key=lambda n: (n.created, n.id))]
