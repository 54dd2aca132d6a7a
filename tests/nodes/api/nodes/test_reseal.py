"""Backups under a new password, put where those under the old one were."""

import base64
import os
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from leyden.base.database.database import Database
from leyden.base.platform import Platform
from leyden.errors import Stale
from tests.base.api.conftest import Caller
from tests.nodes.api.nodes.conftest import CIPHERTEXT, refusal, sha256_of
from tests.nodes.histories import history

WORDS = "abandon " * 23 + "art"


def ciphertext() -> str:
    return base64.b64encode(b"Salted__" + os.urandom(88)).decode()


def in_place_of(old: str, new: str) -> dict[str, str]:
    return {"seed": new, "replaces": sha256_of(old)}


def named(name: str, old: str, new: str) -> dict[str, str]:
    return {"name": name, "macaroon": new, "replaces": sha256_of(old)}


@pytest.fixture
async def stored_backups(alice: Caller, path: str) -> None:
    """A seed and two macaroons, all the same so far."""
    await alice.post(f"{path}/seed", {"seed": CIPHERTEXT})
    for name in ("admin", "read"):
        body = {"macaroon": CIPHERTEXT, "name": name}
        assert (await alice.post(f"{path}/macaroon", body)).status == 200


async def values(caller: Caller, path: str) -> tuple[str, str, str]:
    """Return the seed and the macaroons that are kept."""
    return (
        (await caller.get(f"{path}/seed")).json()["seed"],
        (await caller.get(f"{path}/macaroon/admin")).json()["macaroon"],
        (await caller.get(f"{path}/macaroon/read")).json()["macaroon"],
    )


@pytest.mark.usefixtures("stored_backups")
async def test_all_of_them_take_their_places(
    alice: Caller, path: str, node: dict[str, Any], db: Database
) -> None:
    seed, admin, read = ciphertext(), ciphertext(), ciphertext()
    answer = await alice.post(
        f"{path}/reseal",
        {
            "seed": in_place_of(CIPHERTEXT, seed),
            "macaroons": [
                named("admin", CIPHERTEXT, admin),
                named("read", CIPHERTEXT, read),
            ],
        },
    )
    assert answer.json() == {"node_id": node["node_id"], "resealed": 3}
    assert await values(alice, path) == (seed, admin, read)
    (line,) = (
        each
        for each in await db.reader.audit.latest()
        if each.action == "backups resealed"
    )
    assert (line.subject, line.detail) == (node["node_id"], {"number": 3})


@pytest.mark.usefixtures("stored_backups")
async def test_all_or_none(alice: Caller, path: str) -> None:
    status, message = refusal(
        await alice.post(
            f"{path}/reseal",
            {
                "seed": in_place_of(CIPHERTEXT, ciphertext()),
                "macaroons": [named("read", "not what is kept", ciphertext())],
            },
        )
    )
    assert (status, message) == (
        409,
        "macaroon: has changed since you read it; read it again, and retry",
    )
    assert await values(alice, path) == (CIPHERTEXT,) * 3


@pytest.mark.usefixtures("stored_backups")
async def test_what_was_replaced_is_given_back_as_it_was_sent(
    alice: Caller, path: str, node: dict[str, Any]
) -> None:
    empty = (await alice.get(f"{path}/replaced")).json()
    assert empty == {"node_id": node["node_id"], "replaced": []}
    body = {
        "seed": in_place_of(CIPHERTEXT, ciphertext()),
        "macaroons": [named("read", CIPHERTEXT, ciphertext())],
    }
    assert (await alice.post(f"{path}/reseal", body)).status == 200
    found = (await alice.get(f"{path}/replaced")).json()["replaced"]
    assert sorted(each["name"] for each in found) == ["", "read"]
    assert {each["value"] for each in found} == {CIPHERTEXT}
    assert all(each["until"].endswith("Z") for each in found)


@pytest.mark.usefixtures("stored_backups")
async def test_the_second_of_two_windows_undoes_nothing(
    alice: Caller, path: str
) -> None:
    first, second = ciphertext(), ciphertext()
    body = {"seed": in_place_of(CIPHERTEXT, first)}
    assert (await alice.post(f"{path}/reseal", body)).status == 200
    body = {"seed": in_place_of(CIPHERTEXT, second)}
    status, message = refusal(await alice.post(f"{path}/reseal", body))
    assert (status, message) == (
        409,
        "seed: has changed since you read it; read it again, and retry",
    )
    assert (await values(alice, path))[0] == first


@pytest.mark.usefixtures("stored_backups")
async def test_who_lost_the_answer_sends_it_again(alice: Caller, path: str) -> None:
    seed, admin, read = ciphertext(), ciphertext(), ciphertext()
    body = {
        "seed": in_place_of(CIPHERTEXT, seed),
        "macaroons": [named("admin", CIPHERTEXT, admin)],
    }
    first = await alice.post(f"{path}/reseal", body)
    again = await alice.post(f"{path}/reseal", body)
    assert (first.status, again.status, again.body) == (200, 200, first.body)
    body["macaroons"] = [*body["macaroons"], named("read", CIPHERTEXT, read)]
    more = await alice.post(f"{path}/reseal", body)
    assert (more.status, more.json()["resealed"]) == (200, 3)
    assert await values(alice, path) == (seed, admin, read)
    found = (await alice.get(f"{path}/replaced")).json()["replaced"]
    assert sorted(each["name"] for each in found) == ["", "admin", "read"]
    assert {each["value"] for each in found} == {CIPHERTEXT}


@pytest.mark.usefixtures("stored_backups")
@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "backups: must have 1 to 100 entries"),
        (
            {"macaroons": [named("read", CIPHERTEXT, CIPHERTEXT)] * 2},
            "backups: has a duplicate entry",
        ),
        ({"seed": in_place_of(CIPHERTEXT, WORDS)}, "seed: must be encrypted"),
        ({"seed": {"seed": CIPHERTEXT, "replaces": "7"}}, "replaces"),
        ({"seed": {"seed": CIPHERTEXT}}, "replaces"),
    ],
    ids=["nothing", "twice", "in clear", "no digest", "no replaces"],
)
async def test_what_makes_no_sense_changes_nothing(
    alice: Caller, path: str, body: dict[str, Any], says: str
) -> None:
    status, message = refusal(await alice.post(f"{path}/reseal", body))
    assert status == 400
    assert says in message
    assert "abandon" not in message
    assert await values(alice, path) == (CIPHERTEXT,) * 3


async def test_where_nothing_is_kept_nothing_can_be_replaced(
    alice: Caller, path: str
) -> None:
    for body in (
        {"seed": in_place_of(CIPHERTEXT, ciphertext())},
        {"macaroons": [named("admin", CIPHERTEXT, ciphertext())]},
    ):
        status, message = refusal(await alice.post(f"{path}/reseal", body))
        assert status == 409
        assert "no backup with this name is stored" in message
    assert (await alice.get(f"{path}/seed")).status == 404


@pytest.mark.usefixtures("stored_backups")
async def test_who_is_overtaken_between_reading_and_writing_starts_over(
    db: Database, node: dict[str, Any]
) -> None:
    async with db.transaction() as tx:
        with pytest.raises(Stale):
            await tx.backups.replace_seed(node["node_id"], b"was", b"is")
        with pytest.raises(Stale):
            await tx.backups.replace_macaroon(node["node_id"], "read", b"was", b"is")


@pytest.mark.usefixtures("stored_backups")
async def test_what_was_replaced_is_told_newest_first(
    alice: Caller, path: str, node: dict[str, Any]
) -> None:
    none = {"node_id": node["node_id"], "replaced": []}
    assert (await alice.get(f"{path}/replaced")).json() == none
    values = [CIPHERTEXT, *(ciphertext() for _ in range(20))]
    for name in ("admin", "read"):
        for before, after in pairwise(values):
            body = {"macaroons": [named(name, before, after)]}
            assert (await alice.post(f"{path}/reseal", body)).status == 200
    answer = await alice.get(f"{path}/replaced")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    found = [(each["name"], each["value"]) for each in answer.json()["replaced"]]
    assert found == [
        (name, value) for name in ("read", "admin") for value in values[-2::-1]
    ]


@pytest.mark.usefixtures("stored_backups")
async def test_what_was_replaced_is_kept_for_thirty_days(
    alice: Caller, path: str, platform: Platform
) -> None:
    assert platform.fleet is not None
    node_id = path.rpartition("/")[2]
    before, whose = CIPHERTEXT, (alice.organization_id, node_id)
    for number in range(23):
        anew = ciphertext()
        body = {"seed": in_place_of(before, anew)}
        assert (await alice.post(f"{path}/reseal", body)).status == 200, number
        before, last = anew, before
    now = platform.clock()
    stored_backups = await history(platform.fleet, *whose, now=now)
    assert (len(stored_backups), stored_backups[0].value, stored_backups[0].name) == (
        21,
        last,
        "",
    )
    later = now + timedelta(days=30)
    assert await history(platform.fleet, *whose, now=later) == []
    async with platform.database.transaction() as tx:
        await tx.replaced_backups.delete_old(until=now)
        assert len(await tx.replaced_backups.page(node_id, limit=50)) == 21
        await tx.replaced_backups.delete_old(until=later)
        assert await tx.replaced_backups.page(node_id, limit=50) == []
