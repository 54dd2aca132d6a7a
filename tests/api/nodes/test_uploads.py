"""Uploads of one organization: how many there may be, and who else feels them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from leyden.api.public import Public
from leyden.ciphertext.recognition import MACAROON_LIMIT
from leyden.services.shared.uploads import Uploads
from leyden.settings import Settings
from leyden.values import replace
from tests.api.conftest import Caller
from tests.api.nodes.conftest import CIPHERTEXT, NEW_NODE, refusal, sha256_of
from tests.ciphertext.test_recognition import COSTLY
from tests.loop_work import Longest
from tests.services.fleet_harness import FleetHarness

WORST = COSTLY["base85 in base85 in base85"][:MACAROON_LIMIT]


@pytest.fixture
def uploads_per_minute() -> int:
    return 3


@pytest.fixture
def fleet_harness(fleet_harness: FleetHarness, uploads_per_minute: int) -> FleetHarness:
    """One whose customers may upload so many things a minute."""
    uploads = Uploads(uploads_per_minute, now_s=lambda: 0.0)
    fleet_harness.fleet = replace(fleet_harness.fleet, uploads=uploads)
    return fleet_harness


async def test_uploads_have_a_rate_of_their_own(alice: Caller, path: str) -> None:
    answers = [
        await alice.post(f"{path}/macaroon", {"macaroon": "x", "name": "a"}),
        await alice.post(f"{path}/tls", {"certificate": "x", "key": "x"}),
        await alice.post(f"{path}/seed", {"seed": CIPHERTEXT}),
        await alice.post(f"{path}/seed", {"seed": CIPHERTEXT}),
        await alice.post(f"{path}/macaroon", {"macaroon": CIPHERTEXT, "name": "a"}),
        await alice.post(f"{path}/tls", {"certificate": "x", "key": "x"}),
        await alice.post(f"{path}/reseal", anew()),
    ]
    assert [each.status for each in answers] == [400, 400, 200, 429, 429, 429, 429]
    assert {each.headers.get("retry-after") for each in answers[3:]} == {"20"}
    assert "wait 20 s" in refusal(answers[-1])[1]
    # What lnd itself backs up is no upload, and neither is anything else.
    assert (await alice.post(f"{path}/tls", {})).status == 200
    assert (await alice.get(path)).status == 200


async def test_others_upload_all_the_same(
    alice: Caller, charlie: Caller, path: str
) -> None:
    for _ in range(4):
        await alice.post(f"{path}/macaroon", {"macaroon": "x", "name": "a"})
    theirs = f"/organizations/{charlie.organization_id}/nodes"
    made = (await charlie.post(theirs, NEW_NODE)).json()
    body = {"macaroon": CIPHERTEXT, "name": "a"}
    kept = await charlie.post(f"{theirs}/{made['node_id']}/macaroon", body)
    assert kept.status == 200


@pytest.mark.parametrize("uploads_per_minute", [Settings().uploads_per_minute])
async def test_macaroons_are_stored_when_two_nodes_send_all_of_theirs(
    alice: Caller, path: str
) -> None:
    """As scripts do: one after the other, or all at once."""
    theirs, _, _ = path.rpartition("/")
    made = await alice.post(theirs, NEW_NODE | {"name": "pier"})
    other = made.json()["node_id"]

    async def store(path: str, number: int) -> int:
        body = {"macaroon": CIPHERTEXT, "name": f"harbour {number}"}
        return (await alice.post(f"{path}/macaroon", body)).status

    one_by_one = [await store(path, number) for number in range(50)]
    at_once = await asyncio.gather(
        *(store(f"{theirs}/{other}", number) for number in range(50))
    )
    assert {*one_by_one, *at_once} == {200}


def anew() -> dict[str, Any]:
    return {"seed": {"seed": CIPHERTEXT, "replaces": sha256_of(CIPHERTEXT)}}


@pytest.mark.parametrize("uploads_per_minute", [10**6])
async def test_eight_who_upload_the_worst_hold_up_nobody(
    alice: Caller, path: str
) -> None:
    """The loop has no long turn with them, so /health/live is answered beside it."""
    public = Public(alice.api._platform, alice.api, version="0")

    async def live() -> None:
        answered = []

        async def send(message: Any) -> None:
            answered.append(message)

        scope = {"type": "http", "path": "/health/live", "method": "GET"}
        await public({**scope, "headers": []}, None, send)  # type: ignore[arg-type]
        assert answered[0]["status"] == 200

    with Longest() as longest:
        async with eight(alice, path):
            for _ in range(60):
                await live()
                await asyncio.sleep(0.002)
    assert longest.is_short, (longest.calls, longest.seconds)


@asynccontextmanager
async def eight(alice: Caller, path: str) -> AsyncIterator[None]:
    async def upload() -> None:
        while True:
            body = {"macaroon": WORST, "name": "a"}
            answer = await alice.post(f"{path}/macaroon", body)
            assert answer.status == 400, answer

    tasks = [asyncio.create_task(upload()) for _ in range(8)]
    await asyncio.sleep(0.01)
    yield
    assert not any(task.done() for task in tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
