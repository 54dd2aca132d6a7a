"""The port of companions: what is taken of whom, and what is refused."""

import base64
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.http.server import bind, serving
from leyden.errors import NotFound
from leyden.nodes import home_reports
from leyden.nodes.api.companions import LIMITS, Companions
from leyden.nodes.backup_watch import BackupWatch
from leyden.nodes.certificates.authority import Authority, open_or_create
from leyden.nodes.housekeeping import found_in_clear
from leyden.nodes.rules.log_positions import LogPosition
from leyden.nodes.rules.nodes import Action, Node
from leyden.nodes.rules.observations import LndState
from leyden.nodes.runtimes.base import Usage
from leyden.nodes.runtimes.kubernetes import manifests
from leyden.nodes.runtimes.kubernetes.node_files import KubernetesNodeFiles
from leyden.nodes.runtimes.kubernetes.tokens import Tokens
from leyden.values import replace
from tests.conftest import NOW
from tests.events.stored_events import stored_types
from tests.nodes.fleet_harness import HARBOUR, FleetHarness
from tests.nodes.runtimes.stand_in_cluster import NAMESPACE, StandInCluster

BLOCKS = (
    "2026-03-01 12:00:00.000 [ERR] GRPH: out of order block: expecting height=9, "
    "got height=7"
)
RUN = "0123456789abcdef"
EMPTY = {"run": RUN, "macaroons_removed": 0, "disk": 0, "height": 0}
OF_THE_POD = "of the pod"
TOO_LONG = base64.b64encode(bytes(home_reports.MAX_TAIL + 1)).decode()
START: dict[str, Any] = {"inode": 7, "offset": 0, "head": ""}


class Port:
    """The port, and a companion that calls it."""

    def __init__(
        self, fleet_harness: FleetHarness, cluster: StandInCluster, url: str
    ) -> None:
        self.fleet_harness = fleet_harness
        self.cluster = cluster
        self.reader = fleet_harness.fleet.database.reader
        self._url = url

    def admit(self, token: str, node: Node, **changes: Any) -> str:
        """Have the cluster know a token as that of a node's pod."""
        account = changes.get("account", f"system:serviceaccount:{NAMESPACE}:default")
        extra = {
            "authentication.kubernetes.io/pod-name": [manifests.name(node)],
            "authentication.kubernetes.io/pod-uid": [changes.get("uid", node.process)],
        }
        self.cluster.tokens[token] = {
            "authenticated": True,
            "audiences": changes.get("audiences", ["leyden"]),
            "user": {"username": account, "extra": changes.get("extra", extra)},
        }
        return token

    async def post(
        self,
        node: Node | str,
        body: object,
        *,
        token: str | None = OF_THE_POD,
        method: str = "POST",
        path: str = "",
    ) -> tuple[int, Any]:
        node_id = node if isinstance(node, str) else node.id
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        async with (
            aiohttp.ClientSession() as session,
            session.request(
                method,
                f"{self._url}{path or f'/nodes/{node_id}/report'}",
                data=io.BytesIO(content),
                headers={"Content-Type": "application/json", **headers},
            ) as answer,
        ):
            return answer.status, await answer.json()

    async def nothing_is_stored(self, node: Node) -> bool:
        with pytest.raises(NotFound):
            await self.reader.backups.latest_channels(node.id)
        return (
            await self.reader.node_reports.find(node.id) is None
            and await self.reader.log_positions.find(node.id) is None
            and await found_in_clear(self.fleet_harness.fleet, HARBOUR, node.id) == []
        )


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return open_or_create(tmp_path_factory.mktemp("authority"), now=NOW)


@asynccontextmanager
async def opened(db: Database, sealer: Sealer, authority: Authority) -> Any:
    fleet_harness = FleetHarness(db, sealer, authority)
    await fleet_harness.found()
    cluster = StandInCluster()
    [listening] = bind("127.0.0.1", 0)
    async with cluster.api() as api:
        app = Companions(fleet_harness.fleet, Tokens(api), failures_per_minute=1000)
        async with serving(app, [listening], limits=LIMITS, grace_s=1):
            yield Port(
                fleet_harness, cluster, f"http://127.0.0.1:{listening.getsockname()[1]}"
            )
    await fleet_harness.watching.close()
    listening.close()


@pytest.fixture
async def port(
    sqlite_db: Database, sealer: Sealer, authority: Authority
) -> AsyncIterator[Port]:
    async with opened(sqlite_db, sealer, authority) as port:
        yield port


@pytest.fixture
async def node(port: Port) -> Node:
    node = await port.fleet_harness.running()
    assert node.process
    port.admit(OF_THE_POD, node)
    return node


def with_backup(content: bytes) -> dict[str, Any]:
    return {**EMPTY, "channel_backup": base64.b64encode(content).decode()}


def with_lines(since: object, offset: int, *lines: str) -> dict[str, Any]:
    until = {**START, "offset": offset}
    return {**EMPTY, "log": {"since": since, "until": until, "lines": list(lines)}}


async def test_what_a_companion_reports_is_kept(port: Port, node: Node) -> None:
    report = {**with_backup(b"two channels"), "disk": 812, "height": 9}
    assert await port.post(node, report) == (200, {"log": None})
    assert (await port.reader.backups.latest_channels(node.id)).content == (
        b"two channels"
    )
    reported = home_reports.Reported(port.reader)
    assert await reported.log_tail(node.id) == b""
    tail = {"log_tail": base64.b64encode(b"the last words\n").decode()}
    assert (await port.post(node, {**report, **tail}))[0] == 200
    assert (await port.post(node, report))[0] == 200
    assert await reported.log_tail(node.id) == b"the last words\n"
    answer = await reported.usage(node.id)
    assert answer == Usage(disk=812, height=9)


async def test_the_nodes_public_key_is_kept_as_it_was_last_reported(
    port: Port, node: Node
) -> None:
    keys = port.reader.node_keys
    for public_key, stored in (
        ("", ""),
        ("02" + "ab" * 32, "02" + "ab" * 32),
        ("", "02" + "ab" * 32),  # a companion that began anew has not read it yet
        ("03" + "cd" * 32, "03" + "cd" * 32),  # a wallet from another seed
    ):
        assert (await port.post(node, {**EMPTY, "public_key": public_key}))[0] == 200
        assert await keys.find(node.id) == stored


@pytest.mark.parametrize("public_key", ["02" + "AB" * 32, "04" + "ab" * 32, "02ab"])
async def test_what_is_no_public_key_is_refused(
    port: Port, node: Node, public_key: str
) -> None:
    status, problem = await port.post(node, {**EMPTY, "public_key": public_key})
    assert (status, "public_key" in problem["message"]) == (400, True)
    assert await port.nothing_is_stored(node)


@pytest.mark.parametrize("reported", [True, False])
async def test_a_backup_of_channels_is_missed_only_where_none_was_reported(
    port: Port, node: Node, *, reported: bool
) -> None:
    fleet_harness = port.fleet_harness
    fleet_harness.runtime.say(node.id, LndState.SERVER_ACTIVE)
    await fleet_harness.settled()
    node = await port.reader.nodes.get(node.id)
    if reported:
        assert (await port.post(node, with_backup(b"two channels")))[0] == 200
    async with port.cluster.api() as api:
        homes = KubernetesNodeFiles(api, home_reports.Reported(port.reader))
        watch = BackupWatch(replace(fleet_harness.fleet, node_files=homes))
        await watch.check(node)
        fleet_harness.now += timedelta(hours=1)
        await watch.check(node)
    types = await stored_types(fleet_harness.fleet.database, HARBOUR)
    missed = [kind for kind in types if kind.startswith("backup.")]
    assert missed == ([] if reported else ["backup.missing"])


async def test_a_companion_of_a_version_to_come_is_understood(
    port: Port, node: Node
) -> None:
    """It may be upgraded before its platform: what it says beside is ignored."""
    position = {**START, "offset": 90, "generation": 3}
    report = with_backup(b"two channels")
    report |= {"log": {"since": None, "until": position, "lines": [], "level": "debug"}}
    report |= {"temperature": {"celsius": 21.5}, "features": ["watchtower"]}
    answer = {"log": {**START, "offset": 90}}
    assert await port.post(node, report) == (200, answer)
    assert (await port.reader.backups.latest_channels(node.id)).content == (
        b"two channels"
    )


async def test_a_backup_of_four_mebibytes_is_kept_and_no_larger_one(
    port: Port, node: Node
) -> None:
    status, problem = await port.post(node, with_backup(b"x" * ((4 << 20) + 1)))
    assert status == 400
    assert problem["message"] == "channel_backup: must have at most 4 MiB"
    assert (await port.post(node, b"x" * (7 << 20)))[0] == 413
    assert await port.nothing_is_stored(node)
    assert (await port.post(node, with_backup(b"x" * (4 << 20))))[0] == 200


async def test_macaroons_are_counted_once_however_often_they_are_reported(
    port: Port, node: Node
) -> None:
    for number, run in ((1, RUN), (1, RUN), (3, RUN), (2, "f" * 16), (2, "f" * 16)):
        report = {**EMPTY, "run": run, "macaroons_removed": number}
        assert (await port.post(node, report))[0] == 200
    found = await found_in_clear(port.fleet_harness.fleet, HARBOUR, node.id)
    assert sorted(each.number for each in found) == [1, 2, 2]


async def test_lines_of_the_log_are_announced_once(port: Port, node: Node) -> None:
    first = with_lines(None, 90, BLOCKS)
    for _ in range(2):  # the answer to the first was lost, say
        answer = {"log": {**START, "offset": 90}}
        assert await port.post(node, first) == (200, answer)
    types = await stored_types(port.fleet_harness.fleet.database, HARBOUR)
    assert types.count("node.out_of_order_block") == 1
    log_place = await port.reader.log_positions.find(node.id)
    assert log_place is not None
    assert log_place.position == LogPosition(7, 90, b"", 0)
    # It goes on from there, and from nowhere else.
    elsewhere = with_lines({**START, "offset": 11}, 120, BLOCKS)
    assert await port.post(node, elsewhere) == (200, answer)
    on = with_lines(answer["log"], 120)
    assert (await port.post(node, on))[1]["log"]["offset"] == 120
    types = await stored_types(port.fleet_harness.fleet.database, HARBOUR)
    assert types.count("node.out_of_order_block") == 1


async def test_the_last_report_of_a_pod_that_ends_is_taken(
    port: Port, node: Node
) -> None:
    await port.fleet_harness.ask(node, Action.STOP)
    await port.fleet_harness.work()
    assert not (await port.fleet_harness.node(node.id)).process
    other = await port.fleet_harness.running(name="other light")
    theirs = port.admit("of another node", other)
    assert (await port.post(node, with_backup(b"x"), token=theirs))[0] == 403
    assert await port.nothing_is_stored(node)
    assert (await port.post(node, with_backup(b"the last")))[0] == 200


async def test_a_deleted_node_takes_no_reports(port: Port, node: Node) -> None:
    await port.fleet_harness.ask(node, Action.DELETE)
    await port.fleet_harness.work()
    port.fleet_harness.now += timedelta(days=30)
    await port.fleet_harness.work()
    assert (await port.post(node, with_backup(b"x")))[0] == 403
    assert await port.reader.node_reports.find(node.id) is None
    with pytest.raises(NotFound):
        await port.reader.backups.latest_channels(node.id)


async def test_a_pod_speaks_for_its_own_node_alone(port: Port, node: Node) -> None:
    other = await port.fleet_harness.running(name="other light")
    body = with_backup(b"x")
    refusals = [
        (None, 401),
        ("", 401),
        ("of nobody", 401),
        ("x" * 9000, 401),
        (port.admit("of another audience", node, audiences=["vault"]), 401),
        (port.admit("of a person", node, account="kubernetes-admin"), 401),
        (
            port.admit(
                "of another namespace",
                node,
                account="system:serviceaccount:default:default",
            ),
            401,
        ),
        (port.admit("of no pod", node, extra={}), 401),
        (port.admit("of an earlier pod", node, uid="one before"), 403),
        (port.admit("of another node", other), 403),
    ]
    for token, status in refusals:
        assert (await port.post(node, body, token=token))[0] == status, token
    missing = await port.post("no-such-node", body)
    assert missing == await port.post(other, body), "who is there is not said"
    assert missing[0] == 403
    assert await port.nothing_is_stored(node)
    assert await port.nothing_is_stored(other)


async def test_there_is_one_operation(port: Port, node: Node) -> None:
    for path in ("/", "/nodes", f"/nodes/{node.id}", f"/nodes/{node.id}/report/more"):
        assert (await port.post(node, EMPTY, path=path))[0] == 404
    assert (await port.post(node, EMPTY, method="PUT"))[0] == 405
    path = "/organizations/harbour/nodes"
    assert (await port.post(node, EMPTY, path=path))[0] == 404


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"run": "0123"}, "run"),
        ({"run": None}, "run"),
        ({"disk": -1}, "disk"),
        ({"disk": 1 << 64}, "disk"),
        ({"height": "9"}, "height"),
        ({"macaroons_removed": 1.5}, "macaroons_removed"),
        ({"channel_backup": "§§"}, "channel_backup"),
        ({"log": []}, "log"),
        ({"log": {"since": None, "until": START, "lines": ["x"] * 11}}, "log.lines"),
        ({"log": {"since": None, "until": START, "lines": ["pay me"]}}, "log.lines[0]"),
        ({"log": {"since": START, "until": None, "lines": []}}, "log.until"),
        ({"log_tail": TOO_LONG}, "log_tail"),
    ],
)
async def test_a_malformed_report_is_told_its_field(
    port: Port, node: Node, change: dict[str, Any], field: str
) -> None:
    status, problem = await port.post(node, {**EMPTY, **change})
    assert status == 400
    assert field in problem["message"]
    assert await port.nothing_is_stored(node)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda some: (
        st.lists(some, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [*EMPTY, "log", "channel_backup", "since", "until", "lines"]
            ),
            some,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(body=st.binary(max_size=300) | _JSON.map(lambda body: json.dumps(body).encode()))
async def test_whatever_comes_is_refused_in_json(
    port: Port, node: Node, body: bytes
) -> None:
    status, problem = await port.post(node, body)
    assert status in {400, 429}
    assert problem["message"]


async def test_a_token_is_reviewed_now_and_then_alone(port: Port, node: Node) -> None:
    for _ in range(5):
        await port.post(node, EMPTY)
    assert port.cluster.calls.count("POST tokenreviews") == 1


async def test_a_flood_of_reports_is_refused(port: Port, node: Node) -> None:
    answers = [(await port.post(node, EMPTY))[0] for _ in range(70)]
    assert answers[:60] == [200] * 60
    assert 429 in answers


async def test_without_the_cluster_a_report_is_for_later(
    port: Port, node: Node
) -> None:
    port.cluster.is_away = True
    assert (await port.post(node, with_backup(b"x")))[0] == 503
    port.cluster.is_away = False
    assert (await port.post(node, with_backup(b"x")))[0] == 200
