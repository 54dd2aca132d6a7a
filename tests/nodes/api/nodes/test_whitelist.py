from typing import Any

import pytest

from leyden.nodes.gateway.routes import Listener
from tests.base.api.conftest import Caller
from tests.nodes.api.nodes.conftest import refusal
from tests.nodes.fleet_harness import FleetHarness


async def test_it_answers_the_resulting_list_in_canonical_form(
    alice: Caller, path: str, node: dict[str, Any]
) -> None:
    given = ["::ffff:198.51.100.7", "2001:DB8:0::1", "10.0.0.0/8", "198.51.100.7"]
    answer = await alice.post(f"{path}/whitelist", {"whitelist": given})
    assert answer.json() == {
        "node_id": node["node_id"],
        "whitelist": ["198.51.100.7", "2001:db8::1", "10.0.0.0/8"],
    }
    shown = (await alice.get(path)).json()
    assert shown["settings"]["whitelist"] == answer.json()["whitelist"]
    assert shown["status"] == "waiting_init", "lnd goes on"


async def test_empty_is_nobody_and_everyone_is_spelled_out(
    alice: Caller, path: str, fleet_harness: FleetHarness
) -> None:
    name = (await alice.get(path)).json()["api_endpoint"]
    for whitelist in ([], ["0.0.0.0/0", "::/0"]):
        await alice.post(f"{path}/whitelist", {"whitelist": whitelist})
        await fleet_harness.work()
        assert (fleet_harness.gateway.resolve(name, Listener.REST) is None) == (
            whitelist == []
        )


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "localhost",
        "10.0.0.7/8",
        "fe80::1%eth0",
        "10.0.0.0/255.0.0.0",
        "1",
        "0x7f.1",
    ],
)
async def test_what_is_no_address_is_refused_and_nothing_changes(
    alice: Caller, path: str, entry: str
) -> None:
    answer = await alice.post(
        f"{path}/whitelist", {"whitelist": ["198.51.100.7", entry]}
    )
    status, message = refusal(answer)
    assert status == 400
    assert message.startswith("whitelist[1]: ")
    settings = (await alice.get(path)).json()["settings"]
    assert settings["whitelist"] == ["198.51.100.7"]


@pytest.mark.parametrize("whitelist", [None, True, 7, "::/0", {}, [["::/0"]], [True]])
async def test_what_is_no_list_of_strings_is_refused(
    alice: Caller, path: str, whitelist: Any
) -> None:
    answer = await alice.post(f"{path}/whitelist", {"whitelist": whitelist})
    assert answer.status == 400


async def test_five_hundred_are_the_most(alice: Caller, path: str) -> None:
    many = [f"10.{number // 256}.{number % 256}.1" for number in range(501)]
    fits = await alice.post(f"{path}/whitelist", {"whitelist": many[:500]})
    assert len(fits.json()["whitelist"]) == 500
    assert (await alice.post(f"{path}/whitelist", {"whitelist": many})).status == 400
