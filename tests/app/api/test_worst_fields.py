"""The worst that anybody can put into each field of each operation.

What is known to be costly has its table in
tests/nodes/api/nodes/test_worst_cases.py; here is every field there is,
also of operations that nobody has thought about.
"""

import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from leyden.app.endpoints import OPERATIONS, OPERATOR_OPERATIONS
from leyden.app.serving.api import Api
from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.http.operations import Operation
from leyden.base.rules.accounts import Scope
from leyden.base.rules.times import utc_now
from leyden.manual.examples import examples
from leyden.nodes.certificates.authority import open_or_create
from leyden.people import api_keys
from tests.base.api.conftest import Caller
from tests.loop_work import HEADLINE, cost
from tests.manual.api.test_openapi import ORDER, furnish, platform_of
from tests.nodes.fleet_harness import FleetHarness

# At most 8 KiB each, so that they are read on the event loop.
_MARKS = "a" + "\u0316\u0300" * 1_300
_VALUES: dict[str, Any] = {
    "letters": "a" * 8_000,
    "marks": _MARKS,
    "labels": "https://" + "a." * 3_900,
    "escapes": "%41" * 2_600,
    "digits": "9" * 4_000,
    "a number": 10**300,
    "a list": ["a"] * 2_000,
    "objects": [{}] * 2_500,
    "deep": [[[[[[[[[[]]]]]]]]]] * 300,
}
# What makes a library raise something else than the error that one expects of it.
_ODD: tuple[Any, ...] = (
    *(
        "",
        " ",
        "a\nb",
        "\u2028",
        "\x7f",
        "\ufeff",
        "\U0010ffff",
        "²",
        "٣",
        "1e400",
        "%s",
        "{0}",
    ),
    *(r"\ud800 %41 of what follows", r"\ud800 =41 of what follows", "$HOME", "../.."),
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-W01-1T00:00:00Z"),
    *("https://[::1", "https://[v1.a]/", "https://a:99999/", "https://a:٣/", "https:"),
    *("::1%\n", "1.2.3.4/-1", "1.2.3.4/0.0.0.0", "v٣.20.2", f"v{10**20}.0.0", "*.*"),
    *("evt_ffffffffffff0000ffffffffffffffff", f"02{'0' * 64}@[::1", f"02{'0' * 64}@:0"),
    *("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "Zm9v", "9" * 19),
    *(
        None,
        True,
        -1,
        2**31,
        2**53,
        2**63 - 1,
        2**63,
        -(2**63) - 1,
        1.5,
        [],
        {},
        [None],
    ),
)
_QUERIES = [name for name, value in _VALUES.items() if isinstance(value, str)]
_OPERATIONS = (*OPERATIONS, *OPERATOR_OPERATIONS)
_WITH_FIELDS = [each for each in _OPERATIONS if each.body or each.query]


@pytest.fixture
async def callers(
    sqlite_db: Database, sealer: Sealer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[dict[bool, Caller], dict[str, str]]]:
    """An operator, and somebody with a node, an order and a subscription; their ids."""
    folder = tmp_path_factory.mktemp("authority")
    fleet_harness = FleetHarness(
        sqlite_db, sealer, open_or_create(folder, now=utc_now())
    )
    async with platform_of(sqlite_db, sealer, fleet_harness) as platform:
        key, organization_id, node_id, _ = await furnish(platform, fleet_harness)
        caller = Caller(Api(platform, _OPERATIONS), key, organization_id)
        wish = {"url": "https://hooks.harbour.test/events", "types": ["order.*"]}
        made = (await caller.post("/subscriptions", wish)).json()
        _, text = await api_keys.create_operator_key(
            platform, name="billing", expires=None, actor="test"
        )
        yield (
            {False: caller, True: Caller(caller.api, text, "")},
            {
                "organization_id": organization_id,
                "node_id": node_id,
                "order_id": ORDER,
                "subscription_id": made["subscription_id"],
            },
        )
    await fleet_harness.watching.close()


@pytest.mark.parametrize("operation", _WITH_FIELDS, ids=lambda each: each.name)
async def test_whatever_a_field_holds_it_is_answered_in_no_time(
    callers: tuple[dict[bool, Caller], dict[str, str]], operation: Operation
) -> None:
    caller, ids = callers[0][operation.scope is Scope.OPERATOR], callers[1]
    example = examples()[operation.name]
    path = operation.path.format_map({**example.path, **ids})
    given = example.body if isinstance(example.body, dict) else {}

    async def ask(field: str, value: Any) -> int:
        if operation.body is None:
            query = f"?{field}={quote(value)[:8_000]}"
            return (await caller.get(f"{path}{query}")).status
        raw = msgspec.json.encode({**given, field: value})
        return (await caller.call(operation.method, path, raw)).status

    taken: Any = operation.body or operation.query
    for field in msgspec.structs.fields(taken):
        for what in _QUERIES if operation.body is None else _VALUES:
            request = partial(ask, field.name, _VALUES[what])
            found = await cost(f"{field.name}: {what}", request)
            assert found.status < 500, found
            assert found.is_short, f"{HEADLINE}\n{found}"


@pytest.mark.parametrize("operation", _WITH_FIELDS, ids=lambda each: each.name)
async def test_whatever_a_field_holds_is_no_mistake_of_ours(
    callers: tuple[dict[bool, Caller], dict[str, str]], operation: Operation
) -> None:
    caller, ids = callers[0][operation.scope is Scope.OPERATOR], callers[1]
    example = examples()[operation.name]
    path = operation.path.format_map({**example.path, **ids})
    given = example.body if isinstance(example.body, dict) else {}
    taken: Any = operation.body or operation.query
    for field in msgspec.structs.fields(taken):
        for odd in _ODD:
            if operation.body is None:
                answer = await caller.get(f"{path}?{field.name}={quote(str(odd))}")
            else:
                raw = json.dumps({**given, field.name: odd}).encode()
                answer = await caller.call(operation.method, path, raw)
            assert answer.status < 500, (field.name, odd)
