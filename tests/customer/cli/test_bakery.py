"""`leyden wallet macaroons` and `test-macaroon`, with a node that the test plays."""

import base64
import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from leyden.base.rules.times import utc_now
from tests.app.cli.conftest import Typed
from tests.bakery import REFUSED, baked, identifier
from tests.customer.cli.paying_node import PayingNode
from tests.customer.cli.test_money import Wallet, lnd, name, wallet  # noqa: F401  fixtures

# Root key 1 is one that the node knows.
TILL = baked(identifier("1", ("invoices", "read"), ("uri", "/lnrpc.Lightning/GetInfo")))
CHECK = "/v1/macaroon/checkpermissions"


@pytest.fixture
def till(typed: Typed, wallet: Wallet) -> Wallet:  # noqa: F811
    """Keep a macaroon as `till` in the node's vault."""
    Path("till").write_bytes(TILL)
    words = ("--macaroon", "till", "--name", "till")
    kept = typed("wallet", "keep", wallet.name, *words)
    assert kept.exit_code == 0, kept.output
    return wallet


def test_macaroons_are_listed_with_the_time_at_which_they_were_stored(
    till: Wallet,
) -> None:
    commands, stored = till.json("macaroons")["macaroons"]
    assert (commands["root_key"], commands["created"]) == ("0", None)
    assert stored["name"] == "till"
    age = utc_now() - datetime.fromisoformat(stored["created"])
    assert timedelta(0) <= age < timedelta(minutes=5)
    shown = till("macaroons").stdout
    assert "created" in shown


def test_the_node_checks_a_macaroon_for_its_own_permissions(
    till: Wallet,
    lnd: PayingNode,  # noqa: F811
) -> None:
    lnd.answers[CHECK] = {"valid": True}
    assert till.json("test-macaroon", "till") == {
        "name": "till",
        "works": True,
        "why": "",
    }
    assert till("test-macaroon", "till").stdout == "till: works\n"
    asked, again = lnd.done(CHECK)
    assert asked == again
    assert base64.b64decode(asked["macaroon"]) == TILL
    assert asked["permissions"] == [
        {"entity": "invoices", "action": "read"},
        {"entity": "uri", "action": "/lnrpc.Lightning/GetInfo"},
    ]
    unknown = till("test-macaroon", "door")
    assert unknown.exit_code == 4
    assert "leyden wallet macaroons" in unknown.stderr


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("revoked", "it was revoked"),
        ("of another node", "does not know this macaroon"),
        ("expired", "has expired"),
        ("elsewhere", "not valid from the address"),
    ],
)
def test_a_macaroon_that_does_not_work_says_why(
    till: Wallet,
    lnd: PayingNode,  # noqa: F811
    state: str,
    why: str,
) -> None:
    lnd.refuses[CHECK] = {"code": 3, "message": REFUSED[state]}
    failed = till("test-macaroon", "till", "--json")
    assert failed.exit_code == 5
    printed = json.loads(failed.stdout)
    assert (printed["works"], why in printed["why"]) == (False, True)
    assert f"till does not work: {printed['why']}" in failed.stderr


def test_a_locked_node_says_nothing_of_the_macaroon(
    till: Wallet,
    lnd: PayingNode,  # noqa: F811
) -> None:
    lnd.is_locked = True
    failed = till("test-macaroon", "till", "--json")
    assert (failed.exit_code, failed.stdout) == (8, "")
    assert "does not work" not in failed.stderr
