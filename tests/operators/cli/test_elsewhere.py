"""Operators' commands on another machine than the platform's."""

from pathlib import Path
from typing import Any

import pytest

from leyden.people import api_keys
from tests.app.cli.conftest import Typed, printed_json
from tests.client.served_platform import ServedPlatform

PASSWORD = "a lamp in the harbour"


@pytest.fixture
def key(platform: ServedPlatform, monkeypatch: pytest.MonkeyPatch) -> str:
    async def make() -> str:
        _, text = await api_keys.create_operator_key(
            platform.platform, name="laptop", expires=None, actor="test"
        )
        return text

    made = platform.do(make)
    monkeypatch.setenv("LEYDEN_URL", platform.url)
    monkeypatch.setenv("LEYDEN_OPERATOR_KEY", made)
    return made


@pytest.fixture
def told(typed: Typed) -> Any:
    """Type a command with --json, and get its object."""
    return lambda *words, **more: printed_json(typed(*words, "--json", **more))


@pytest.mark.usefixtures("key")
def test_organizations_and_their_money(told: Any, tmp_path: Path) -> None:
    made = told("orgs", "create", "Tide Mill")
    of = ("--organization", "Tide Mill")
    assert made in told("orgs", "list")["organizations"]
    changed = told("orgs", "quotas", "Tide Mill", "nodes=7", "keys=default")
    nodes, *_ = (each for each in changed["quotas"] if each["quota"] == "nodes")
    assert (nodes["limit"], nodes["used"]) == (7, 0)
    assert told("orgs", "quotas", made["organization_id"]) == changed
    assert told("orgs", "credit", "open", *of, "--limit", "5000") == {"may_owe": 5000}
    gift = ("--kind", "credit", "--amount", "500", "--reason", "late", "--key", "g1")
    for _ in range(2):
        found = told("orgs", "credit", "correct", *of, *gift)
        assert found == {"credit": 500, "owed": 0}
    shown = told("orgs", "credit", "show", *of)
    assert shown["may_owe"] == 5000
    assert told("orgs", "credit", "close", *of) == {"may_owe": None}
    coupon = told("coupons", "create", "--amount", "2100", "--count", "2", *of)
    assert coupon["organization_id"] == made["organization_id"]
    listed = told("coupons", "list", "--limit", "500")["coupons"]
    assert {each["coupon"] for each in coupon["coupons"]} <= {
        each["coupon"] for each in listed
    }
    assert not (tmp_path / "home").exists()


@pytest.mark.usefixtures("key")
def test_people_and_keys(
    typed: Typed, told: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LEYDEN_NEW_PASSWORD", PASSWORD)
    told("orgs", "create", "Far Pier")
    of = ("--organization", "Far Pier")
    ada = told("users", "create", "ada@example.org", *of)
    bo = told("users", "create", "bo@example.org", *of, "--role", "viewer")
    assert bo["role"] == "viewer"
    assert ada["user_id"] in {
        each["user_id"] for each in told("users", "list")["users"]
    }
    assert told("users", "sessions", "ada@example.org") == {"sessions": []}
    assert told("users", "sign-out", "ada@example.org")["signed_out"]
    assert told("users", "reset-password", "ada@example.org")["reset"]
    assert told("team", "role", "bo@example.org", "admin", *of)["role"] == "admin"
    invited = told("team", "invite", "cy@example.org", *of)
    assert "/app/invitation?word=" in invited["link"]
    team = told("team", "list", *of)["team"]
    assert [each["email"][:2] for each in team] == ["ad", "bo", "cy"]
    assert told("team", "withdraw", "cy@example.org", *of)["withdrawn"]
    assert told("team", "remove", "bo@example.org", *of, "--yes")["removed"]
    again = typed("team", "remove", "bo@example.org", *of, "--yes")
    assert (again.exit_code, "not a member" in again.stderr) == (4, True)
    made = told("api-keys", "create", *of, "--name", "backend", "--scope", "node")
    assert made["api_key"].startswith(made["begins"])
    refused = typed("api-keys", "revoke", made["key_id"], *of)
    assert refused.exit_code == 1  # nobody said yes
    assert told("api-keys", "revoke", made["key_id"], *of, "--yes")["revoked"]
    (listed,) = told("api-keys", "list", *of)["keys"]
    assert listed["revoked"]
    assert not (tmp_path / "home").exists()


@pytest.mark.usefixtures("key")
def test_orders(platform: ServedPlatform, typed: Typed, told: Any) -> None:
    with platform.client() as customer:
        made = [customer.flow.create(1_000_000).order_id for _ in range(3)]
        customer.flow.cancel(made[0])
    listed = told("orders", "list", "--limit", "2")["orders"]
    assert [each["order_id"] for each in listed] == made[:0:-1]
    of = ("--organization", "Harbour")
    cancelled = told("orders", "list", *of, "--status", "cancelled")["orders"]
    assert [each["order_id"] for each in cancelled] == made[:1]
    assert told("orders", "list", "--needs-attention") == {"orders": []}
    end = ("orders", "abandon", made[0], "--reason", "lost")
    assert typed(*end).exit_code == 1  # nobody said yes
    assert told(*end, "--yes") == cancelled[0]
    assert "--organization" in typed("orders", "list", "--status", "filled").stderr
    assert made[0] in typed("orders", "list", *of).stdout


def test_a_key_that_opens_nothing_is_named_and_nothing_is_done_here(
    platform: ServedPlatform,
    key: str,
    typed: Typed,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    file = tmp_path / "key"
    file.write_text(f"{key}\n")
    monkeypatch.delenv("LEYDEN_OPERATOR_KEY")
    monkeypatch.setenv("LEYDEN_OPERATOR_KEY_FILE", str(file))
    assert typed("orgs", "list").exit_code == 0
    file.write_text(platform.key)
    refused = typed("orgs", "list")
    assert (refused.exit_code, "operator" in refused.stderr) == (3, True)
    file.write_text("leyden_wrong")
    refused = typed("orgs", "list")
    assert (refused.exit_code, "rejected" in refused.stderr) == (3, True)
    monkeypatch.delenv("LEYDEN_URL")
    assert "LEYDEN_URL is not set" in typed("orgs", "list").stderr
    file.unlink()
    assert "LEYDEN_OPERATOR_KEY_FILE" in typed("orgs", "list").stderr
    assert not (tmp_path / "home").exists()
