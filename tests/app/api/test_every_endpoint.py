"""What holds for every endpoint, shown on two of the plainest kind."""

import asyncio
import json
import time
from datetime import timedelta
from typing import Annotated

import msgspec
import pytest

from leyden.app.serving.api import Api
from leyden.base.http.operations import Operation, Request
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Scope
from leyden.base.settings import Settings
from leyden.errors import Stale
from leyden.people import api_keys
from leyden.people.rules.keys import write_key
from tests.base.api.conftest import Answer, Caller, caller
from tests.conftest import NOW


class Lamp(msgspec.Struct, forbid_unknown_fields=True):
    """A body with one field of each kind."""

    watts: Annotated[int, msgspec.Meta(ge=1, le=1000)]
    colour: str = "white"
    lit: bool = False


class Page(msgspec.Struct, forbid_unknown_fields=True):
    """A query."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=100)] = 20


class Lit(msgspec.Struct):
    """An answer."""

    watts: int
    key: str


async def read(request: Request, query: Page) -> Lit:
    """Read the lamp."""
    return Lit(query.limit, str(request.key))


_stale: list[Request] = []


async def light(request: Request, body: Lamp) -> Lit:
    """Light the lamp."""
    if body.colour == "stale" and len(_stale) < 3:
        _stale.append(request)
        raise Stale
    if body.colour == "broken":
        raise ZeroDivisionError
    if body.colour == "slow":
        await asyncio.sleep(0.2)
    async with request.platform.database.transaction() as tx:
        await tx.audit.add(at=NOW, actor="test", action="lit", subject=str(request.key))
    return Lit(body.watts, str(request.key))


LAMPS = "/organizations/{organization_id}/lamps"


@pytest.fixture
def operations() -> tuple[Operation, ...]:
    return (
        Operation("GET", LAMPS, read, Scope.NODE),
        Operation("POST", LAMPS, light, Scope.NODE, repeatable=True),
        Operation("POST", "/flow/light", light, Scope.FLOW),
    )


@pytest.fixture
def lamps(alice: Caller) -> str:
    return LAMPS.format(organization_id=alice.organization_id)


async def test_it_works(alice: Caller, lamps: str) -> None:
    answer = await alice.post(lamps, {"watts": 40})
    assert answer.status == 200
    assert answer.json()["watts"] == 40
    assert answer.headers["content-type"] == "application/json"


async def test_bob_may_and_charlie_gets_the_same_as_for_what_does_not_exist(
    bob: Caller, charlie: Caller, lamps: str
) -> None:
    assert (await bob.get(lamps)).status == 200
    foreign = await charlie.get(lamps)
    absent = await charlie.get("/organizations/no-such/lamps")
    nowhere = await charlie.get("/nowhere")
    assert (foreign.status, foreign.body) == (404, b'{"message":"not found"}')
    assert foreign.headers["error-code"] == "not_found"
    for other in (absent, nowhere):
        assert (foreign.status, foreign.body) == (other.status, other.body)
        differ = {n for n in other.headers if other.headers[n] != foreign.headers[n]}
        assert differ <= {"ratelimit-remaining", "ratelimit-reset"}  # of Charlie's own


@pytest.mark.parametrize("path", ["%2e%2e", "a%2fb", "%00", "..", "", "a/b"])
async def test_a_path_in_disguise_is_not_found(alice: Caller, path: str) -> None:
    answer = await alice.get(f"/organizations/{path}/lamps")
    assert (answer.status, answer.json()) == (404, {"message": "not found"})


async def test_without_a_live_key_nothing_is_told(
    nobody: Caller, alice: Caller, platform: Platform, lamps: str
) -> None:
    unauthorized = (401, "Unauthorized", "Bearer")

    def told(answer: Answer) -> tuple[int, str, str]:
        how = answer.headers["www-authenticate"]
        return answer.status, answer.json()["message"], how

    for path in (lamps, "/nowhere", "/flow/light"):
        assert told(await nobody.get(path)) == unauthorized
    for key in ("", "leyden_", "x" * 5000, f"{alice.key}x", (alice.key or "").lower()):
        alice_with = Caller(alice.api, key, alice.organization_id)
        answer = await alice_with.get(lamps)
        assert told(answer) == unauthorized
    twice = await alice.get(lamps, x_service_auth=alice.key or "")
    assert told(twice) == unauthorized
    [stored] = await platform.database.reader.keys.list_(alice.organization_id)
    await api_keys.revoke(platform, alice.organization_id, stored.id, actor="test")
    answer = await alice.get(lamps)
    assert told(answer) == unauthorized


async def test_a_key_may_be_a_bearer_token(alice: Caller, lamps: str) -> None:
    bearing = Caller(alice.api, None, alice.organization_id)
    assert (await bearing.get(lamps, authorization=f"Bearer {alice.key}")).status == 200
    assert (await bearing.get(lamps, authorization=f"Basic {alice.key}")).status == 401
    # Both headers say the same, or one of them can't be meant.
    assert (await alice.get(lamps, authorization=f"bearer {alice.key} ")).status == 200
    assert (await alice.get(lamps, authorization="Bearer other")).status == 401
    assert (await alice.get(lamps, authorization="Basic other")).status == 200


async def test_a_response_says_what_is_left_of_the_limit(
    alice: Caller, lamps: str
) -> None:
    began = time.monotonic()
    first, second = await alice.get(lamps), await alice.get(f"{lamps}?limit=0")
    back = int((time.monotonic() - began) * 10_000 / 60)  # one each 6 ms
    for answer in (first, second):
        assert answer.headers["ratelimit-limit"] == "10000"
        assert int(answer.headers["ratelimit-reset"]) <= 1
    left = [int(each.headers["ratelimit-remaining"]) for each in (first, second)]
    assert left[0] == 9999
    assert 9998 <= left[1] <= min(9999, 9998 + back)


async def test_spaces_around_a_key_are_none_of_it(alice: Caller, lamps: str) -> None:
    spaced = Caller(alice.api, f" {alice.key}\t ", alice.organization_id)
    assert (await spaced.get(lamps)).status == 200


async def test_an_expired_key_opens_nothing(
    alice: Caller, platform: Platform, lamps: str
) -> None:
    _, text = await api_keys.create(
        platform,
        alice.organization_id,
        name="short",
        scopes=["node"],
        expires=NOW + timedelta(seconds=1),
        actor="test",
    )
    short = Caller(alice.api, text, alice.organization_id)
    assert (await short.get(lamps)).status == 200
    later = Platform(
        settings=platform.settings,
        database=platform.database,
        sealer=platform.sealer,
        clock=lambda: NOW + timedelta(seconds=1),
    )
    short.api = type(alice.api)(later, alice.api.table.operations)
    assert (await short.get(lamps)).status == 401


async def test_a_key_does_only_what_its_scope_says(
    alice: Caller, platform: Platform, lamps: str
) -> None:
    _, text = await api_keys.create(
        platform,
        alice.organization_id,
        name="flow only",
        scopes=["flow"],
        expires=None,
        actor="test",
    )
    flow = Caller(alice.api, text, alice.organization_id)
    refused = await flow.get(lamps)
    assert refused.status == 403
    assert refused.json()["message"] == "this key lacks the scope node"
    assert refused.headers["error-code"] == refused.json()["code"] == "missing_scope"
    assert (await flow.post("/flow/light", {"watts": 1})).status == 200


async def test_methods_are_told(alice: Caller, lamps: str) -> None:
    wrong = await alice.delete(lamps)
    assert (wrong.status, wrong.headers["allow"]) == (405, "GET, HEAD, OPTIONS, POST")
    answer = await alice.call("OPTIONS", lamps)
    assert (answer.status, answer.headers["allow"]) == (204, "GET, HEAD, OPTIONS, POST")
    head = await alice.call("HEAD", lamps)
    assert (head.status, head.body) == (200, b"")
    assert int(head.headers["content-length"]) > 0


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the body is not valid JSON: line 1, column 1"),
        (b"{", "the body is not valid JSON: line 1, column 2"),
        (b"[]", "the body must be an object, not an array"),
        (b"null", "the body must be an object, not null"),
        (b"\xef\xbb\xbf{}", "the body is not valid JSON: line 1, column 1"),
        (b'{"watts": "\xff"}', "the body is not valid UTF-8"),
        (b'{"watts": 1, "watts": 2}', "the body has an object with duplicate keys"),
        (
            b'{"watts": 1.0}',
            "watts: must be a whole number, without a decimal point or an exponent",
        ),
        (
            b'{"watts": 1e2}',
            "watts: must be a whole number, without a decimal point or an exponent",
        ),
        (b'{"watts": 1, "colour": 1.5}', "colour: must be a string, not a number"),
        (b'{"watts": 1, "price": 1.5}', "price: is not a known field"),
        (b"1.5", "the body must be an object, not a number"),
        (b'{"watts": NaN}', "the body is not valid JSON: NaN and Infinity are not"),
        (b'{"watts": ' + b"9" * 5000 + b"}", "watts: is too large"),
        (b'{"watts": true}', "watts: must be an integer, not a boolean"),
        (b'{"watts": "1"}', "watts: must be an integer, not a string"),
        (b'{"watts": null}', "watts: must be an integer, not null"),
        (b'{"watts": 0}', "watts: must be at least 1"),
        (b'{"watts": 1001}', "watts: must be at most 1,000"),
        (b"{}", "watts: is required"),
        (b'{"watts": 1, "price": 1}', "price: is not a known field"),
        (b'{"watts": 1, "<b>": 1}', "the body has an unknown field"),
        (b'{"watts": 1, "lit": 1}', "lit: must be a boolean, not an integer"),
        (
            b'{"watts": 1, "colour": "a\\u0000"}',
            "colour: text must not contain NUL",
        ),
        (b'{"watts": 1, "\\u0000": "a"}', "text must not contain NUL characters"),
        (
            b'{"watts": 1, "colour": "\\ud800"}',
            "colour: text must not contain an unpaired",
        ),
        (b"[" * 100_000, "the body is nested too deeply"),
        (b'{"a":' * 50_000, "the body is nested too deeply"),
    ],
)
async def test_a_wrong_body_is_told_what_is_wrong(
    alice: Caller, platform: Platform, lamps: str, body: bytes, message: str
) -> None:
    answer = await alice.call("POST", lamps, body, content_type="application/json")
    if not body:
        assert answer.status == 415
        return
    assert answer.status == 400
    assert message in answer.json()["message"]
    field, colon, _ = message.partition(": ")
    is_named = bool(colon) and " " not in field
    assert answer.json().get("field") == (field if is_named else None)
    lines = await platform.database.reader.audit.latest()
    assert "lit" not in {line.action for line in lines}


async def test_what_was_sent_is_never_repeated(alice: Caller, lamps: str) -> None:
    secret = "correct horse battery staple"
    for body in ({"watts": secret}, {secret: 1}, {"watts": 1, "lit": secret}):
        answer = await alice.post(lamps, body)
        assert answer.status == 400
        assert secret.encode() not in answer.body


@pytest.mark.parametrize(
    "content_type",
    [
        "application/x-www-form-urlencoded",
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/json; charset=latin-1",
        "application/jsonp",
    ],
)
async def test_only_json_is_read(alice: Caller, lamps: str, content_type: str) -> None:
    answer = await alice.call("POST", lamps, b'{"watts": 1}', content_type=content_type)
    assert answer.status == 415


async def test_a_compressed_body_is_not_read(alice: Caller, lamps: str) -> None:
    answer = await alice.post(lamps, {"watts": 1}, content_encoding="gzip")
    assert answer.status == 415


async def test_a_large_body_is_refused(alice: Caller, lamps: str) -> None:
    answer = await alice.post(lamps, {"watts": 1, "colour": "w" * 300_000})
    assert answer.status == 413


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=x", "limit=1&limit=2", "litmi=1", "limit=%ff", "limit"]
)
async def test_a_wrong_query_is_refused(alice: Caller, lamps: str, query: str) -> None:
    answer = await alice.get(f"{lamps}?{query}")
    assert answer.status == 400


async def test_a_query_is_read(alice: Caller, lamps: str) -> None:
    assert (await alice.get(f"{lamps}?limit=7")).json()["watts"] == 7


async def test_an_endpoint_without_a_query_takes_none(alice: Caller) -> None:
    assert (await alice.post("/flow/light?watts=1", {"watts": 1})).status == 400


async def test_one_key_gets_one_answer(
    alice: Caller, platform: Platform, lamps: str
) -> None:
    first = await alice.post(lamps, {"watts": 40}, idempotency_key="lamp-1")
    again = await alice.post(lamps, {"watts": 40}, idempotency_key="lamp-1")
    assert first.body == again.body
    other = await alice.post(lamps, {"watts": 40}, idempotency_key="lamp-2")
    assert other.json()["key"] != first.json()["key"]
    lines = await platform.database.reader.audit.latest()
    assert sum(line.action == "lit" for line in lines) == 2


async def test_one_key_is_for_one_request(alice: Caller, lamps: str) -> None:
    await alice.post(lamps, {"watts": 40}, idempotency_key="lamp-1")
    answer = await alice.post(lamps, {"watts": 60}, idempotency_key="lamp-1")
    assert answer.status == 400
    assert "a different request" in answer.json()["message"]


async def test_the_same_key_of_another_team_is_another_key(
    alice: Caller, charlie: Caller, lamps: str
) -> None:
    mine = await alice.post(lamps, {"watts": 40}, idempotency_key="lamp-1")
    theirs = await charlie.post(
        LAMPS.format(organization_id=charlie.organization_id),
        {"watts": 60},
        idempotency_key="lamp-1",
    )
    assert (mine.status, theirs.status) == (200, 200)


async def test_a_second_request_while_the_first_is_under_way_is_told(
    alice: Caller, lamps: str
) -> None:
    body = {"watts": 40, "colour": "slow"}
    answers = await asyncio.gather(
        *(alice.post(lamps, body, idempotency_key="lamp-1") for _ in range(5))
    )
    assert sorted(answer.status for answer in answers) == [200, 409, 409, 409, 409]


async def test_a_refused_request_does_not_use_its_key_up(
    alice: Caller, lamps: str
) -> None:
    refused = await alice.post(lamps, {"watts": 0}, idempotency_key="lamp-1")
    assert refused.status == 400
    mended = await alice.post(lamps, {"watts": 1}, idempotency_key="lamp-1")
    assert mended.status == 200


@pytest.mark.parametrize("key", ["", "with space", "x" * 256, "caf\xe9"])
async def test_a_wrong_key_for_repeating_is_refused(
    alice: Caller, lamps: str, key: str
) -> None:
    answer = await alice.post(lamps, {"watts": 1}, idempotency_key=key)
    assert answer.status == 400


async def test_what_someone_else_moved_is_tried_again(
    alice: Caller, lamps: str
) -> None:
    _stale.clear()
    answer = await alice.post(lamps, {"watts": 1, "colour": "stale"})
    assert answer.status == 200
    assert len(_stale) == 3


async def test_a_bug_shows_nothing_of_itself(alice: Caller, lamps: str) -> None:
    answer = await alice.post(lamps, {"watts": 1, "colour": "broken"})
    assert answer.status == 500
    assert {"message", "code", "doc_url"} <= set(answer.json())
    assert "Zero" not in answer.body.decode()


class TestLimits:
    @pytest.fixture
    def settings(self) -> Settings:
        return Settings(requests_per_minute=3, failures_per_minute=2)

    async def test_a_key_that_asks_too_often_has_to_wait(
        self, alice: Caller, charlie: Caller, lamps: str
    ) -> None:
        statuses = [(await alice.get(lamps)).status for _ in range(4)]
        assert statuses == [200, 200, 200, 429]
        waited = await alice.get(lamps)
        assert 1 <= int(waited.headers["retry-after"]) <= 20
        assert waited.headers["ratelimit-limit"] == "3"
        assert waited.headers["ratelimit-remaining"] == "0"
        assert waited.headers["ratelimit-reset"] == waited.headers["retry-after"]
        assert (await charlie.get("/nowhere")).status == 404

    async def test_all_keys_of_an_organization_get_what_five_may_ask(
        self, platform: Platform, api: Api, alice: Caller, charlie: Caller, lamps: str
    ) -> None:
        statuses: list[int] = []
        refused: list[str] = []
        for _ in range(10):
            key = await caller(api, platform, alice.organization_id)
            answers = [await key.get(lamps) for _ in range(3)]
            statuses += [each.status for each in answers]
            refused += [each.body.decode() for each in answers if each.status == 429]
        assert 15 <= statuses.count(200) < 30  # a token comes back every 4 s
        assert refused
        assert all("organization sends too many requests" in each for each in refused)
        assert (await charlie.get("/nowhere")).status == 404

    async def test_who_asks_on_is_refused_late(
        self, alice: Caller, charlie: Caller, lamps: str
    ) -> None:
        while (await alice.get(lamps)).status == 200:
            pass
        refused = [asyncio.create_task(alice.get(lamps)) for _ in range(100)]
        began = time.monotonic()
        at_once, late = await asyncio.wait(refused, return_when=asyncio.FIRST_COMPLETED)
        assert at_once
        assert time.monotonic() - began < 1  # none that is late comes so soon
        assert late
        assert (await charlie.get("/nowhere")).status == 404
        assert {(await each).status for each in refused} == {429}

    async def test_an_address_that_guesses_keys_has_to_wait(
        self, nobody: Caller
    ) -> None:
        statuses = [(await nobody.get("/nowhere")).status for _ in range(3)]
        assert statuses == [401, 401, 429]

    async def test_a_household_counts_as_one_address(self, nobody: Caller) -> None:
        statuses = []
        for number in range(3):
            nobody.address = f"2001:db8:1:2::{number}"
            statuses.append((await nobody.get("/nowhere")).status)
        assert statuses == [401, 401, 429]
        nobody.address = "2001:db8:1:3::1"
        assert (await nobody.get("/nowhere")).status == 401

    async def test_a_good_key_is_let_through_whatever_its_neighbours_fail_at(
        self, alice: Caller, nobody: Caller, lamps: str
    ) -> None:
        assert nobody.address == alice.address
        while (await nobody.get("/nowhere")).status == 401:
            pass
        assert (await alice.get(lamps)).status == 200
        assert (await nobody.get("/nowhere")).status == 429

    async def test_refused_keys_count_by_how_they_begin(self, nobody: Caller) -> None:
        statuses = []
        for first in (1, 1, 1, 2, 2, 2):
            nobody.key = write_key(bytes([first]) * 32)
            statuses.append((await nobody.get("/nowhere")).status)
        assert statuses == [401, 401, 429] * 2

    async def test_guesses_that_begin_otherwise_each_time_have_to_wait(
        self, nobody: Caller, charlie: Caller
    ) -> None:
        statuses: list[int] = []
        while 429 not in statuses:
            nobody.key = write_key(bytes([len(statuses)]) * 32)
            refused = await nobody.get("/nowhere")
            statuses.append(refused.status)
        assert statuses[:20] == [401] * 20  # ten times what one key may fail
        assert 1 <= int(refused.headers["retry-after"]) <= 3
        assert (await charlie.get("/nowhere")).status == 404


def test_the_table_is_json(operations: tuple[Operation, ...]) -> None:
    from leyden.base.http.operations import Table  # noqa: PLC0415  only here
    from leyden.manual import unkeyed  # noqa: PLC0415  only here
    from leyden.manual.openapi import document  # noqa: PLC0415  only here

    described = document(Table(operations), version="0")
    assert json.loads(json.dumps(described)) == described
    assert set(described["paths"]) - set(unkeyed.paths()) == {LAMPS, "/flow/light"}
