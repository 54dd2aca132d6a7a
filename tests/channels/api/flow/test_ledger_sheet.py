"""The ledger as CSV: whole, for nobody else, and harmless in a spreadsheet."""

import csv
import io

import pytest

from leyden.base.rules.spreadsheets import escape_formula
from leyden.channels.money import corrections, credit
from leyden.channels.money.corrections import Correction
from leyden.errors import DatabaseAway
from tests.base.api.conftest import Answer, Caller
from tests.channels.api.flow.conftest import World
from tests.channels.ledgers import credited
from tests.loop_work import HEADLINE, cost

PATH = "/flow/ledger?format=csv"


def lines(answer: Answer) -> list[dict[str, str]]:
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"].startswith("text/csv; charset=utf-8")
    assert "content-length" not in answer.headers
    return list(csv.DictReader(io.StringIO(answer.body.decode(), newline="")))


async def correct(world: World, caller: Caller, sats: int, reason: str) -> None:
    await corrections.correct(
        world.channels.database,
        caller.organization_id,
        Correction.CREDIT,
        sats=sats,
        reason=reason,
        actor="operator:alice",
        key=f"{sats}",
        now=world.now[0],
    )


async def test_it_says_what_the_json_says(
    alice: Caller, bob: Caller, charlie: Caller, nobody: Caller, world: World
) -> None:
    for amount in (700, 21_000):
        await world.give_credit(alice, amount)
    await world.give_credit(charlie, 5)
    entries = (await alice.get("/flow/ledger")).json()["entries"]
    expected = [{name: str(value) for name, value in each.items()} for each in entries]
    assert lines(await alice.get(PATH)) == expected
    assert lines(await bob.get(PATH)) == expected
    assert [each["amount"] for each in lines(await charlie.get(PATH))] == ["5"]
    assert (await nobody.get(PATH)).status == 401


async def test_nothing_yet_is_a_headline(alice: Caller) -> None:
    answer = await alice.get(PATH)
    assert answer.body == b"id,time,what,source,target,amount,order_id,note\r\n"
    assert answer.headers["content-disposition"] == 'attachment; filename="ledger.csv"'
    assert answer.headers["cache-control"] == "no-store"


async def test_it_holds_more_than_a_page(alice: Caller, world: World) -> None:
    await credited(world.channels.database, alice.organization_id, 1_002)
    found = [int(each["amount"]) for each in lines(await alice.get(PATH))]
    assert found == list(range(1_002, 0, -1))


async def test_it_is_read_in_turns(alice: Caller, world: World) -> None:
    await credited(world.channels.database, alice.organization_id, 5_000)

    async def request() -> int:
        return (await alice.get(PATH)).status

    found = await cost("a ledger of 5,000 entries", request)
    assert found.status == 200
    assert found.is_short, f"{HEADLINE}\n{found}"


async def test_part_of_it_can_be_had(alice: Caller, world: World) -> None:
    for amount in range(1, 6):
        await world.give_credit(alice, amount)
    first = lines(await alice.get(f"{PATH}&limit=2"))
    assert [each["amount"] for each in first] == ["5", "4"]
    rest = lines(await alice.get(f"{PATH}&cursor={first[-1]['id']}"))
    assert [each["amount"] for each in rest] == ["3", "2", "1"]


@pytest.mark.parametrize(
    ("path", "accept", "is_sheet"),
    [
        ("/flow/ledger", "text/csv", True),
        ("/flow/ledger", "TEXT/CSV; header=present", True),
        ("/flow/ledger", "text/csv, */*;q=0.1", True),
        ("/flow/ledger", "text/csv, application/json", False),
        ("/flow/ledger", "*/*", False),
        ("/flow/ledger?format=json", "text/csv", False),
        ("/flow/ledger?format=csv", "application/json", True),
    ],
)
async def test_the_caller_says_what_it_wants(
    alice: Caller,
    path: str,
    accept: str,
    is_sheet: bool,  # noqa: FBT001
) -> None:
    answer = await alice.get(path, accept=accept)
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/csv") is is_sheet


async def test_elsewhere_there_is_no_csv(alice: Caller) -> None:
    answer = await alice.get("/flow/balance", accept="text/csv")
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "query", ["format=xml", "format=", "format=CSV", "format=csv&limit=501"]
)
async def test_a_wrong_query_is_refused(alice: Caller, query: str) -> None:
    answer = await alice.get(f"/flow/ledger?{query}")
    assert answer.status == 400
    assert {"message", "code", "doc_url"} <= set(answer.json())


async def test_a_head_request_gets_the_headers_alone(
    alice: Caller, world: World
) -> None:
    await world.give_credit(alice, 700)
    answer = await alice.call("HEAD", PATH)
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["content-type"].startswith("text/csv")


@pytest.mark.parametrize(
    "reason",
    [
        "=HYPERLINK(0)",
        "+1",
        "-1",
        "@SUM(A1)",
        "  =1+1",
        "\t=1",
        "\r=1",
        "\uff1d1+1",
    ],
)
async def test_a_note_is_never_a_formula(
    alice: Caller, world: World, reason: str
) -> None:
    await correct(world, alice, 700, reason)
    (line,) = lines(await alice.get(PATH))
    assert line["note"] == f"'{reason}"
    assert (await alice.get("/flow/ledger")).json()["entries"][0]["note"] == reason


async def test_a_note_stays_in_its_cell(alice: Caller, world: World) -> None:
    reason = 'said "paid", and\r\nleft; then,=1+1'
    await correct(world, alice, 700, reason)
    (line,) = lines(await alice.get(PATH))
    assert line["note"] == reason


def test_what_is_harmless_is_left_alone() -> None:
    for text in ("", "harbour light", "2026-03-01T12:00:00Z", "a=b", "5b0c3d1e-7aFO"):
        assert escape_formula(text) == text


async def test_what_cannot_be_read_to_its_end_is_broken_off(
    alice: Caller, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await credited(world.channels.database, alice.organization_id, 501)
    page = credit.history
    request = 0

    async def first_page_only(*args: object, **kwargs: object) -> object:
        nonlocal request
        request += 1
        if request > 1:
            raise DatabaseAway(retry_after_s=5)
        return await page(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(credit, "history", first_page_only)
    with pytest.raises(DatabaseAway):
        await alice.get(PATH)
