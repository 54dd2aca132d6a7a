from typing import Any

import pytest

from tests.base.api.conftest import Caller
from tests.nodes.api.nodes.conftest import CIPHERTEXT, refusal

BARE = "0201036c6e6402f801030a10" + "5a" * 40


async def test_it_is_kept_under_its_name_and_comes_back(
    alice: Caller, path: str, node: dict[str, Any]
) -> None:
    stored_backups = await alice.post(
        f"{path}/macaroon", {"macaroon": CIPHERTEXT, "name": "read only"}
    )
    about = {
        "node_id": node["node_id"],
        "name": "read only",
        "created": "2026-03-01T12:00:00.000Z",
    }
    assert stored_backups.json() == about
    assert (await alice.get(f"{path}/macaroons")).json() == {
        "macaroons": [about],
        "found_in_clear": [],
    }
    found = await alice.call("GET", f"{path}/macaroon/read only")
    assert found.json() == {**about, "macaroon": CIPHERTEXT}


async def test_fifty_are_stored_in_a_row_and_nobody_has_to_wait(
    alice: Caller, path: str
) -> None:
    for number in range(50):
        body = {"macaroon": CIPHERTEXT, "name": f"macaroon {number}"}
        assert (await alice.post(f"{path}/macaroon", body)).status == 200


async def test_a_name_is_used_once(alice: Caller, path: str) -> None:
    body = {"macaroon": CIPHERTEXT, "name": "admin"}
    await alice.post(f"{path}/macaroon", body)
    assert refusal(await alice.post(f"{path}/macaroon", body))[0] == 409
    assert (await alice.post(f"{path}/macaroon", {**body, "name": "b"})).status == 200


@pytest.mark.parametrize("name", ["", "x" * 51, "a/b", "..\n", "é"])
async def test_a_name_is_plain(alice: Caller, path: str, name: str) -> None:
    answer = await alice.post(
        f"{path}/macaroon", {"macaroon": CIPHERTEXT, "name": name}
    )
    status, message = refusal(answer)
    assert status == 400
    assert message.startswith("name: ")


@pytest.mark.parametrize(
    "macaroon", [BARE, BARE.upper(), "lndconnect://h:1?macaroon=AgEDbG5k", "x", ""]
)
async def test_what_is_not_encrypted_is_refused_and_not_repeated(
    alice: Caller, path: str, macaroon: str
) -> None:
    answer = await alice.post(f"{path}/macaroon", {"macaroon": macaroon, "name": "a"})
    status, message = refusal(answer)
    assert status == 400
    assert message.startswith("macaroon: ")
    assert not macaroon or macaroon not in message or macaroon == "x"
    assert (await alice.get(f"{path}/macaroons")).json()["macaroons"] == []


async def test_one_that_is_not_kept_is_not_found(alice: Caller, path: str) -> None:
    assert (await alice.get(f"{path}/macaroon/admin")).status == 404
