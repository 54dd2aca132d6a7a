"""The API server, or PostgreSQL, dies at each question of all that is done to a node.

A node is made, stopped, started, updated and deleted, or moved here and back; then
another one; and so on. In the first life what answers dies at the first question of
each of these, in the second one at the second, until none asks so much: before anything
came of the question, or before who asked has heard that. It comes back a moment later.
Each life is as one in which nothing dies: who asked was told the same, there were as
many lnds, one after the other, and none whose pod was forgotten while it ran. A node
that was moved is on one side, whole, and nothing of it is left on the other.
Where that would take too long, lives between are left out, others each time; with
EACH_LIFE=1 in the environment none is.
"""

import asyncio
import contextlib
import os
import random
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence, Sized
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

from leyden.app.migration import migrate
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.errors import DatabaseAway, NotAllowed, Stale
from leyden.nodes.rules.nodes import RuntimeName
from leyden.nodes.rules.relocations import RelocationStep
from leyden.nodes.runtimes.kubernetes import access, pods
from leyden.nodes.runtimes.kubernetes.api import connect
from leyden.nodes.runtimes.kubernetes.informer import Informer
from leyden.nodes.runtimes.kubernetes.kinds import COPIER_LABEL, Pod
from leyden.nodes.runtimes.local import census, layout
from leyden.nodes.wiring import node_moves
from leyden.values import replace
from tests.cluster import ensure_up
from tests.postgres import running_postgres
from tests.workshop.devcluster import cluster_installation as quays
from tests.workshop.devcluster.api_proxy import Moment, proxied
from tests.workshop.devcluster.clusters import DevCluster, lnd_image, lnds_of, until
from tests.workshop.devcluster.outages import (
    ApiOutage,
    DatabaseOutage,
    Outage,
    postmaster_of,
)
from tests.workshop.devcluster.served import Patient
from tests.workshop.devcluster.test_platform import (
    Shore,
    as_admin,
    customer_of,
    free,
    given,
    lnd_home,
    running,
    shore,
    with_companion,
)

__all__ = ["given", "shore"]

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.timeout(5400)]

OLD, NEW = "v0.20.1-beta", "v0.20.2-beta"
HERE, THERE = RuntimeName.LOCAL, RuntimeName.KUBERNETES
# What is done to a node, and whether it is struck.
Story = Mapping[str, bool]
LIFE: Story = dict.fromkeys(("create", "stop", "start", "update", "delete"), True)
MOVES: Story = {"create": False, "move here": True, "move there": True, "delete": False}
STORIES = pytest.mark.parametrize("story", [LIFE, MOVES], ids=["life", "moves"])
MOMENTS = pytest.mark.parametrize("moment", list(Moment), ids=lambda each: each.name)
LAST = 90
PATIENCE_S = 60
WAITS = "{'status': 'waiting_init'}"
MARK = "mark"  # a file that each node has from its beginning on
WITHIN_S = 400  # a start that was refused waits for minutes in the end


@dataclass
class Outcomes:
    """What became of one life."""

    webhooks: list[str] = field(default_factory=list)
    pods: list[str] = field(default_factory=list)  # that ran an lnd, in their order
    struck: dict[str, str] = field(default_factory=dict)  # by what was done
    took_s: dict[str, float] = field(default_factory=dict)
    given_up: list[RuntimeName] = field(default_factory=list)  # to where it did not go

    def as_seen(self) -> tuple[list[str], int]:
        """Return what is the same in each life.

        Where a move is given up the node is restarted where it was, and moves later.
        """
        webhooks = list(self.webhooks)
        for _ in self.given_up:
            webhooks.remove(WAITS)
        return webhooks, len(self.pods) - self.given_up.count(HERE)


@dataclass
class Pods:
    """All pods of a namespace, as the API server tells of them itself."""

    # The uids of those that ran an lnd, and its processes.
    ran: dict[str, set[int]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def tell(self, pod: Pod, gone: bool) -> None:  # noqa: FBT001  as informers tell
        if COPIER_LABEL in pod.metadata.labels:
            return
        processes = set(lnds_of(pod.metadata.name))
        if gone:
            # That it ended may have been told while nobody could hear it.
            if not pods.has_ended(pod) and processes & self.ran.get(pod.uid, set()):
                name = pod.metadata.name
                self.wrong.append(f"{name} was forgotten while its lnd ran")
        elif pods.is_running(pod):
            self.ran.setdefault(pod.uid, set()).update(processes)


@asynccontextmanager
async def watched(shore: Shore, namespace: str) -> AsyncIterator[Pods]:
    """Watch pods past whatever dies; one that really does is waited for."""
    found = Pods()
    async with connect(access.read(shore.cluster.places.kubeconfig, namespace)) as api:
        informer = Informer(api, api.path("pods"), Pod, found.tell)
        watching = asyncio.create_task(informer.run())
        await informer.listed.wait()
        yield found
        watching.cancel()


class Life:
    """A node from its creation to its deletion."""

    def __init__(
        self,
        platform: Platform,
        customer: Patient,
        outage: Outage,
        pods: Pods,
        taken: Sequence[Mapping[str, Any]],
        cluster: DevCluster,
    ) -> None:
        self.outcomes = Outcomes()
        self._cluster = cluster
        self._taken = taken
        self._platform = platform
        self._customer = customer
        self._outage = outage
        self._seen = pods
        self._node = ""

    async def live(
        self, story: Story, number: int, moment: Moment, *, url: str, webhooks: int
    ) -> None:
        """Live a story, and strike each step of it at its n-th question.

        Before each one wait for what the one before tells: a status that is still to
        be told gives way to a newer one, and a deletion ends all. Before the last one
        wait for so many webhooks.
        """
        steps: dict[str, Callable[[], Any]] = {
            "create": lambda: self._create(url),
            "stop": lambda: self._ask("POST", "/stop", "stopped"),
            "start": lambda: self._ask("POST", "/start", "waiting_init"),
            "update": self._update,
            "move here": lambda: self._move(HERE),
            "move there": lambda: self._move(THERE),
            "delete": self._delete,
        }
        before = len(self._seen.ran)
        for done, (name, is_struck) in enumerate(story.items()):
            step = steps[name]
            await self._told_of(done + len(self.outcomes.given_up), self._statuses)
            if name == "delete":
                least = webhooks + len(self.outcomes.given_up)
                await self._told_of(least, self._webhooks)
            self._outage.arm(number if is_struck else 0, moment)
            began = time.monotonic()
            try:
                async with asyncio.timeout(WITHIN_S):
                    await step()
            except BaseException as error:
                error.add_note(f"{name}, {moment}, {number}: {self._outage.struck}")
                raise
            if self._outage.struck:
                self.outcomes.struck[name] = self._outage.struck
            self.outcomes.took_s[name] = round(time.monotonic() - began, 1)
            assert await self._lnds() <= 1
        self._outage.arm(0, moment)
        self.outcomes.pods = list(self._seen.ran)[before:]
        self.outcomes.webhooks = list(self._webhooks().values())

    async def _told_of(self, number: int, answer: Callable[[], Sized]) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                while len(answer()) < number:
                    await asyncio.sleep(0.1)
        except TimeoutError as error:
            error.add_note(
                f"{number} were to come: {self._webhooks()}, {self.outcomes}"
            )
            raise

    def _statuses(self) -> list[str]:
        return [each for each in self._webhooks().values() if "'status'" in each]

    def _webhooks(self) -> dict[str, str]:
        return {each["id"]: str(each["details"]) for each in self._taken}

    async def _create(self, url: str) -> None:
        self._node = await self._customer.create(version=OLD, webhook=url)
        await self._customer.is_(self._node, "waiting_init")
        mark = await self._home(THERE) / MARK
        mark.write_text(self._node)
        mark.chmod(0o644)  # it is ours, and lnd's user reads it

    async def _ask(self, method: str, path: str, status: str) -> None:
        await self._customer.change(method, f"/{self._node}{path}")
        await self._customer.is_(self._node, status)

    async def _update(self) -> None:
        before = await self._process()
        body = {"version": NEW}
        await self._customer.change("POST", f"/{self._node}/update", body)
        while await self._process() in {"", before}:
            await asyncio.sleep(0.1)
        await self._customer.is_(self._node, "waiting_init")

    async def _move(self, to: RuntimeName) -> None:
        with contextlib.suppress(NotAllowed):  # it was asked for, and that is not known
            await self._until_answered(
                lambda: node_moves.begin(
                    self._platform, self._node, to, actor="operator"
                )
            )
        reader = self._platform.database.reader
        while True:
            found = await self._until_answered(
                lambda: reader.relocations.find(self._node)
            )
            if found is not None and (found.target, found.step) == (
                to,
                RelocationStep.DONE,
            ):
                break
            await asyncio.sleep(0.1)
        await self._customer.is_(self._node, "waiting_init")
        if found.failed:  # five times
            assert self._outage.is_long, found.why
            await self._is_only_at(found.origin)
            self.outcomes.given_up.append(to)
            await self._move(to)
        else:
            await self._is_only_at(to)

    async def _is_only_at(self, side: RuntimeName) -> None:
        """Assert that the node is on one side, with its files, and nowhere else."""
        settings = self._platform.settings
        assert (await self._home(side) / MARK).read_text() == self._node
        folders = sorted(
            each.name for each in layout.root(settings.home_path).glob(f"{self._node}*")
        )
        assert folders == ([self._node] if side is HERE else [])
        answers = self._cluster.answers
        await asyncio.to_thread(until, "the API server is back", answers)
        names = ("pvc", "--namespace", settings.kubernetes_namespace)
        found = (await asyncio.to_thread(self._cluster.get, *names))["items"]
        # What is being deleted stays so, until the cluster's controllers are back too.
        stored = [each for each in found if "deletionTimestamp" not in each["metadata"]]
        assert len(stored) == (side is THERE)

    async def _home(self, side: RuntimeName) -> Path:
        """Return the folder of the node's lnd."""
        if side is HERE:
            root = layout.root(self._platform.settings.home_path)
            return root / self._node / "lnd"
        reader = self._platform.database.reader.nodes
        return lnd_home(await self._until_answered(lambda: reader.get(self._node)))

    async def _delete(self) -> None:
        await self._customer.change("DELETE", f"/{self._node}")
        starts = self._platform.database.reader.node_starts
        while (await self._until_answered(lambda: starts.get(self._node))).number:
            await asyncio.sleep(0.1)

    async def _process(self) -> str:
        reader = self._platform.database.reader.nodes
        found = await self._until_answered(lambda: reader.get(self._node))
        return str(found.process)

    async def _until_answered(self, ask: Callable[[], Any]) -> Any:
        while True:
            try:
                return await ask()
            except (DatabaseAway, Stale):
                await asyncio.sleep(0.1)

    async def _lnds(self) -> int:
        root = layout.root(self._platform.settings.home_path)
        here = census.lnds(root)[self._node]
        pod = f"node-{self._node.lower()}"
        return here + len(await asyncio.to_thread(lnds_of, pod))


@pytest.fixture
def own(shore: Shore, given: Settings) -> Iterator[Settings]:
    """Settings of a platform in a namespace of its own."""
    namespace = f"outages-{secrets.token_hex(3)}"
    shore.cluster.kubectl("create", "namespace", namespace)
    given = as_admin(with_companion(given, shore.cluster), shore, namespace)
    yield replace(
        given,
        runtime="both",
        kubernetes_images=f"{OLD}={lnd_image()},{NEW}={lnd_image()}",
        webhooks_over_http=True,
        webhook_networks="127.0.0.1/32",
        webhook_ports="1024-65535",
        webhook_retries_s=",".join(["1"] * 60),
    )
    ensure_up(shore.cluster)
    free(shore.cluster, namespace)
    shore.cluster.kubectl("delete", "namespace", namespace, "--wait=false")


async def lives(
    shore: Shore,
    settings: Settings,
    outage: Outage,
    story: Story,
    *,
    every: int,
    moment: Moment,
) -> None:
    """Have lives until one is not struck, and compare each with an undisturbed one.

    A database is asked for as long as anything is waited for: so there is a last life.
    """
    migrate(settings)
    with quays.receiver("127.0.0.1") as (url, taken):
        async with (
            running(settings) as platform,
            watched(shore, settings.kubernetes_namespace) as found,
        ):
            customer = Patient(
                await customer_of(platform), lambda: "", within_s=WITHIN_S
            )
            as_it_should: Outcomes | None = None
            every = 1 if os.environ.get("EACH_LIFE") else every
            first = random.SystemRandom().randint(1, every)
            for number in (0, *range(first, LAST, every)):
                taken.clear()
                least = len(as_it_should.webhooks) if as_it_should else 0
                life = Life(platform, customer, outage, found, taken, shore.cluster)
                await life.live(story, number, moment, url=url, webhooks=least)
                print(number, life.outcomes, flush=True)  # noqa: T201  shown with -s
                as_it_should = as_it_should or life.outcomes
                assert life.outcomes.as_seen() == as_it_should.as_seen(), (
                    life.outcomes.struck
                )
                assert found.wrong == []
                if number and not life.outcomes.struck:
                    break


@STORIES
@MOMENTS
async def test_an_api_server_that_is_cut_off_at_any_call_changes_nothing(
    shore: Shore, own: Settings, tmp_path: Path, moment: Moment, story: Story
) -> None:
    async with proxied(shore.cluster, tmp_path) as proxy:
        outage = ApiOutage(proxy, None)
        settings = replace(own, kubeconfig=str(proxy.kubeconfig(tmp_path)))
        every = 1 if story is LIFE else 4
        await lives(shore, settings, outage, story, every=every, moment=moment)


@STORIES
@MOMENTS
async def test_an_api_server_that_is_killed_at_any_call_changes_nothing(
    shore: Shore, own: Settings, tmp_path: Path, moment: Moment, story: Story
) -> None:
    async with proxied(shore.cluster, tmp_path) as proxy:
        outage = ApiOutage(proxy, shore.cluster)
        settings = replace(own, kubeconfig=str(proxy.kubeconfig(tmp_path)))
        every = 5 if story is LIFE else 15
        await lives(shore, settings, outage, story, every=every, moment=moment)


@pytest.fixture
def own_postgres() -> Iterator[tuple[int, str]]:
    """A PostgreSQL of one's own: its first process, and its socket."""
    with running_postgres() as (folder, uri):
        with psycopg.connect(uri, autocommit=True) as connection:
            connection.execute("CREATE DATABASE mortal")
        host = uri.partition("host=")[2].partition("&")[0]
        yield postmaster_of(folder), f"{host}/.s.PGSQL.5432"


@STORIES
@MOMENTS
async def test_a_database_that_is_killed_at_any_question_changes_nothing(
    shore: Shore,
    own: Settings,
    own_postgres: tuple[int, str],
    moment: Moment,
    story: Story,
) -> None:
    outage = DatabaseOutage(*own_postgres)
    with outage.relayed() as port:
        url = f"postgresql://postgres@127.0.0.1:{port}/mortal"
        settings = replace(own, database_url=url)
        every = 11 if story is LIFE else 23
        await lives(shore, settings, outage, story, every=every, moment=moment)
