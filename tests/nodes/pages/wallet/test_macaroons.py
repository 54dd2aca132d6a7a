"""Macaroons are read and narrowed in the browser, as the formats' authors meant it."""

import base64
import hashlib
from typing import Any

import pytest

from tests.bakery import READER, baked
from tests.nodes.pages.wallet.conftest import Modular

pytestmark = pytest.mark.asyncio(loop_scope="session")

CAVEAT = "time-before 2026-03-01T12:00:00Z"


@pytest.mark.parametrize(
    "caveats",
    [
        [CAVEAT],
        [CAVEAT, "ipaddr 192.0.2.7"],
        ["x" * 127],
        ["x" * 128, CAVEAT],
        ["é" * 300],
    ],
    ids=["one", "two", "127", "128", "long"],
)
async def test_a_caveat_is_added_as_the_holder_may(
    js: Modular, caveats: list[str]
) -> None:
    found = baked(READER).hex()
    for caveat in caveats:
        found = await js.call("macaroon", "narrowed", found, caveat)
    assert found == baked(READER, *caveats).hex()


async def test_it_says_what_it_may_and_whose_root_key_it_has(js: Modular) -> None:
    described = await js.call("macaroon", "describe", baked(READER, CAVEAT).hex())
    assert described == {
        "rootKeyId": "7",
        "permissions": [
            {"entity": "info", "action": "read"},
            {"entity": "offchain", "action": "read"},
        ],
        "caveats": [CAVEAT],
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "harbour light",
        "0201",
        baked(READER).hex()[:-2],
        baked(READER).hex() + "00",
        baked(READER).hex()[:40],
        b"\x02\x00\x00\x06\x20".hex() + "00" * 32,
        hashlib.sha256(b"").hexdigest(),
        base64.b64encode(b"\x01" + baked(READER)).decode(),
        "0202ffffffff7f",
    ],
)
async def test_what_is_no_macaroon_is_said_to_be_none(js: Modular, text: str) -> None:
    for function in ("describe", "parse"):
        refused = await js.call("macaroon", function, text)
        assert refused["trouble"] == "form"


@pytest.mark.parametrize("preset", ["admin", "read-only", "invoices", "payments"])
async def test_presets_hold_no_more_than_they_say(js: Modular, preset: str) -> None:
    found = await js.call("grants", "permissions", preset)
    may: set[Any] = {(each["entity"], each["action"]) for each in found}
    assert len(may) == len(found) > 0
    spends = {("offchain", "write"), ("onchain", "write")} & may
    bakes = ("macaroon", "generate") in may
    assert bakes == (preset == "admin")
    assert bool(spends) == (preset in {"admin", "payments"})
    if preset == "read-only":
        assert {action for _, action in may} == {"read"}
    if preset == "payments":
        assert ("onchain", "write") not in may
    if preset == "invoices":
        assert ("invoices", "write") in may


async def test_a_choice_of_ones_own(js: Modular) -> None:
    chosen = ["info:read", "message:write", "harbour:light"]
    assert await js.call("grants", "permissions", "custom", chosen) == [
        {"entity": "info", "action": "read"},
        {"entity": "message", "action": "write"},
    ]
    refused = await js.call("grants", "permissions", "custom", ["harbour:light"])
    assert refused["trouble"] == "form"


async def test_times_and_addresses_become_lnds_caveats(js: Modular) -> None:
    made = """async (modules, address, hours) => {
        const grants = await modules("grants");
        const now = new Date("2026-03-01T11:00:00.123Z");
        const until = hours && new Date(now.getTime() + hours * 3_600_000);
        try {
            return grants.caveats({address, until: until || undefined, now});
        } catch (error) {
            return error.kind;
        }
    }"""
    assert await js.run(made, "", 0) == []
    assert await js.run(made, "", 1) == [CAVEAT]
    assert await js.run(made, "192.0.2.7", 0) == ["ipaddr 192.0.2.7"]
    assert await js.run(made, "2001:db8::/32", 1) == [
        CAVEAT,
        "iprange 2001:db8::/32",
    ]
    assert await js.run(made, "", -1) == "form"
    assert await js.run(made, "harbour.example", 0) == "form"
    assert await js.run(made, "192.0.2.7 ipaddr ::", 0) == "form"


async def test_each_macaroon_gets_a_root_key_of_its_own(js: Modular) -> None:
    assert await js.call("grants", "nextRootKey", ["0"]) == "1"
    assert await js.call("grants", "nextRootKey", ["0", "9", "10"]) == "11"
    high = "9007199254740993"  # no number of JavaScript's
    assert await js.call("grants", "nextRootKey", ["0", high]) == "9007199254740994"


async def test_three_words_are_asked_for_and_any_may_be(js: Modular) -> None:
    printed = await js.run(
        """async (modules) => {
            const { askFor } = await modules("seed");
            return Array.from({ length: 400 }, () => askFor());
        }"""
    )
    assert {position for positions in printed for position in positions} == set(
        range(24)
    )
    for positions in printed:
        assert len(set(positions)) == 3
        assert positions == sorted(positions)


@pytest.mark.parametrize(
    "text",
    [
        "Harbour  light\npier",
        "1. harbour 2. light 3. pier",
        "harbour, light, pier",
        "\u00a0harbour\tlight;pier ",
    ],
)
async def test_words_are_found_however_they_are_set_apart(
    js: Modular, text: str
) -> None:
    assert await js.call("seed", "parse", text) == ["harbour", "light", "pier"]
