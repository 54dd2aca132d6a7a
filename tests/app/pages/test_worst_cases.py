"""The worst that a stranger can send to the dashboard, and somebody who is signed in.

`./leyden test tests/app/pages/test_worst_cases.py -s` prints the table.
"""

import json
from collections.abc import Awaitable, Callable, Iterator
from types import SimpleNamespace
from typing import cast
from urllib.parse import urlencode

import pytest

from leyden.base.pages import qr_codes
from leyden.base.pages.cookies import Cookies
from leyden.base.pages.visits import Visit
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.channels.money import credit
from tests.base.pages.authenticator import Authenticator
from tests.base.pages.conftest import PASSWORD
from tests.base.pages.visitor import Visitor
from tests.channels.ledgers import credited
from tests.loop_work import HEADLINE, Cost, cost
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.histories import replaced_often
from tests.people.pages.test_passkeys import ACCOUNT, HERE, _challenge

_table: list[Cost] = []
DEEP = '{"response":' + "[" * 4_000
MARKS = "a" + "\u0316\u0300" * 1_200


@pytest.fixture
def settings() -> Settings:
    return Settings(requests_per_minute=10**6, sign_in_failures=10**6)


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[None]:
    yield
    print(f"\n{HEADLINE}", *_table, sep="\n")  # noqa: T201  with -s


async def holds(
    what: str,
    status: int,
    request: Callable[[], Awaitable[int]],
) -> None:
    found = await cost(what, request)
    _table.append(found)
    assert found.status == status
    assert found.is_short, f"{HEADLINE}\n{found}"


COOKIES = {
    "backslashes in quotes": 'a="' + "\\x" * 8_000 + '"',
    "quotes in quotes": 'a="' + '\\"' * 8_000 + '"',
    "many names": ";".join(f"{n}=1" for n in range(3_000)),
    "one long name": "a" * 16_000,
}


@pytest.mark.parametrize("what", COOKIES)
async def test_a_strangers_cookies_are_read_in_no_time(
    nobody: Visitor, what: str
) -> None:
    async def request() -> int:
        nobody.cookies = {}
        return (await nobody.get("/app/sign-in", cookie=COOKIES[what])).status

    await holds(f"cookies: {what}", 200, request)


def test_what_is_no_cookie_of_ours_counts_as_absent() -> None:
    sent = 'other="a b"; leyden-session-80=abc_-; leyden-guest-80="quoted"; x'
    found = Cookies.of({"cookie": sent, "host": "h"}, is_secure=False)
    assert (found.session, found.guest) == ("abc_-", "")


STRANGERS = {
    "an e-mail address of marks": (401, "/app/sign-in", {"email": MARKS}),
    "an e-mail address of points": (
        401,
        "/app/sign-in",
        {"email": "a@" + "a." * 120, "password": "p" * 10_000},
    ),
    "more than a stranger may send": (413, "/app/sign-in", {"email": "%" * 20_000}),
    "a deep passkey": (401, "/app/sign-in/passkey", {"credential": DEEP}),
    "a deep client": (
        401,
        "/app/sign-in/passkey",
        {"credential": json.dumps({"response": {"clientDataJSON": "W1tb" * 3_000}})},
    ),
    "a list of passkeys": (401, "/app/sign-in/passkey", {"credential": "[1]"}),
}


@pytest.mark.parametrize("what", STRANGERS)
async def test_a_strangers_form_is_read_in_no_time(nobody: Visitor, what: str) -> None:
    status, path, fields = STRANGERS[what]
    await nobody.get("/app/sign-in")

    async def request() -> int:
        return (await nobody.submit(path, dict(fields))).status

    await holds(f"stranger: {what}", status, request)


@pytest.mark.parametrize("what", ["deep", "long", "no bytes", "a deep attestation"])
async def test_what_is_no_passkey_is_refused(alice: Visitor, what: str) -> None:
    made = json.loads(Authenticator(HERE).make(_challenge(await alice.get(ACCOUNT))))
    if what == "deep":
        credential = DEEP
    elif what == "long":
        credential = json.dumps({**made, "padding": "x" * 17_000})
    elif what == "no bytes":
        credential = json.dumps({**made, "rawId": {}, "response": made["response"]})
    else:
        response = {**made["response"], "attestationObject": "gYGB" * 3_000}
        credential = json.dumps({**made, "response": response})
    fields = {"credential": credential, "name": "x", "present": PASSWORD}
    assert (await alice.submit(f"{ACCOUNT}/passkeys", fields)).status == 400


def unfolding(levels: int) -> bytes:
    """Lists of twice the next one, in CBOR: written out, each doubles what it has."""
    made = bytes.fromhex("820000")
    for level in range(levels, 0, -1):
        shared = bytes([level]) if level < 24 else bytes([24, level])
        made = bytes.fromhex("82d81c") + made + bytes.fromhex("d81d") + shared
    return bytes.fromhex("d81c") + made


async def test_a_new_passkey_that_unfolds_is_read_beside_the_loop(
    alice: Visitor,
) -> None:
    shown = await alice.get(ACCOUNT)
    made = Authenticator(HERE).make(_challenge(shown), more=unfolding(30))
    fields = {"credential": made, "name": "x", "present": PASSWORD}

    async def request() -> int:
        return (await alice.submit(f"{ACCOUNT}/passkeys", dict(fields))).status

    await holds("a new passkey that unfolds", 400, request)


async def test_a_passkey_that_unfolds_is_read_beside_the_loop(
    alice: Visitor, nobody: Visitor
) -> None:
    device = Authenticator(HERE)
    made = device.make(_challenge(await alice.get(ACCOUNT)))
    fields = {"credential": made, "name": "x", "present": PASSWORD}
    assert (await alice.submit(f"{ACCOUNT}/passkeys", fields)).status == 303
    challenge = _challenge(await nobody.get("/app/sign-in"))
    forged = Authenticator(HERE, id=device.id)
    shown = forged.show(challenge, more=unfolding(30))

    async def request() -> int:
        fields = {"credential": shown}
        return (await nobody.submit("/app/sign-in/passkey", fields)).status

    await holds("a passkey that unfolds", 401, request)


async def test_a_large_form_is_read_beside_the_loop(alice: Visitor) -> None:
    # Sent as it is: what costs is to undo a percent sign for every letter.
    body = urlencode({"token": alice.token, "name": ""}) + "%41" * 85_000

    async def request() -> int:
        path = f"{alice.root}/keys"
        return (await alice.ask("POST", path, body.encode())).status

    await holds("a form of 85,000 percent signs", 400, request)


async def test_nested_backups_are_refused(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    node = await fleet_harness.running(organization_id=alice.organization_id)
    path = f"{alice.root}/nodes/{node.id}/wallet/reseal"
    deep = '[{"kind":"seed","name":"","value":"","replaces":"","x":' + "[" * 60_000
    for anew in (deep, "[" * 60_000):
        shown = await alice.submit(path, {"anew": anew})
        assert shown.status in {400, 404}, shown.status
        assert shown.status == 400, path


async def test_a_page_with_a_picture_is_drawn_beside_the_loop(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    made = [
        await fleet_harness.running(
            organization_id=alice.organization_id, name=f"light {n}"
        )
        for n in range(6)
    ]
    nodes = iter(made)  # another picture each time: none of them is known yet

    async def request() -> int:
        return (await alice.get(f"{alice.root}/nodes/{next(nodes).id}")).status

    await holds("the page of a node, with its picture", 200, request)


@pytest.mark.parametrize("way", ["log?find=harbour", "log/download"])
async def test_a_long_log_is_shown_beside_the_loop(
    alice: Visitor, fleet_harness: FleetHarness, way: str
) -> None:
    node = await fleet_harness.running(organization_id=alice.organization_id)
    fleet_harness.node_files.logs[node.id] = ["É" * 400] * 20_000

    async def request() -> int:
        return (await alice.get(f"{alice.root}/nodes/{node.id}/{way}")).status

    await holds(f"the log of a node: {way}", 200, request)


async def test_a_long_history_of_backups_is_sent_in_turns(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    node = await fleet_harness.running(organization_id=alice.organization_id)
    await replaced_often(fleet_harness, node.id)
    path = f"{alice.root}/nodes/{node.id}/wallet/backups/replaced"
    assert len(json.loads((await alice.get(path)).text)["replaced"]) == 600
    alice.drops_bodies = True

    async def request() -> int:
        return (await alice.get(path)).status

    await holds("600 replaced backups", 200, request)


async def test_a_page_shows_a_hundred_coupons(
    alice: Visitor, platform: Platform
) -> None:
    db, own, now = platform.database, alice.organization_id, platform.clock()
    for count, note in ((1, "open"), (400, "used")):
        made = await credit.issue_coupons(
            db,
            sats=7,
            count=count,
            organization_id=own,
            expires=None,
            note=note,
            actor="test",
            now=now,
        )
    async with db.transaction() as tx:
        for each in made:
            await tx.coupons.claim(each.id, own, now=now)
    shown = (await alice.get(f"{alice.root}/credit")).text
    assert shown.count('data-of="Code"') == 100
    assert shown.count('aria-label="Redeem ') == 1

    async def request() -> int:
        return (await alice.get(f"{alice.root}/credit")).status

    await holds("401 coupons", 200, request)


async def test_a_long_ledger_is_exported_in_turns(
    alice: Visitor, platform: Platform
) -> None:
    await credited(platform.database, alice.organization_id, 5_000)

    async def request() -> int:
        return (await alice.get(f"{alice.root}/credit/ledger.csv")).status

    await holds("a ledger of 5,000 entries", 200, request)


async def test_what_is_too_long_for_a_picture_has_none() -> None:
    visit = SimpleNamespace(signed_in=None)
    assert await qr_codes.qr(cast("Visit", visit), "a" * 2_001) == ""
    assert "<svg" in await qr_codes.qr(cast("Visit", visit), "a" * 2_000)
