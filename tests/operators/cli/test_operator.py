import asyncio
import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from leyden.base import settings
from leyden.base.opening import opened
from leyden.base.platform import Platform
from leyden.base.rules.accounts import INSTALLATION
from leyden.channels.rows.treasury_checks import TreasuryCheck
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.channels.wiring.channels import make_channels
from leyden.errors import Unauthorized
from leyden.people import api_keys
from leyden.people import sign_in as signing_in
from leyden.people.rules.keys import is_key
from leyden.values import replace
from tests.alarms import check_alarms
from tests.app.cli.conftest import Typed, on_platform, printed_json
from tests.channels.orders_harness import HARBOUR, LIGHTHOUSE, PRICE, OrdersHarness


@pytest.fixture
def migrated(typed: Typed) -> Typed:
    assert typed("migrate").exit_code == 0
    return typed


def authenticate(key: str) -> str:
    async def ask(platform: Platform) -> str:
        who = await api_keys.authenticate(platform, key, now=platform.clock())
        return who.organization_id

    return str(on_platform(ask))


def sign_in(email: str, password: str) -> None:
    async def ask(platform: Platform) -> None:
        await signing_in.sign_in(
            platform,
            email,
            password,
            address="192.0.2.7",
            browser="a phone",
            now=platform.clock(),
        )

    on_platform(ask)


def put_task(kind: str, *, due: datetime) -> None:
    async def put(platform: Platform) -> None:
        async with platform.database.transaction() as tx:
            await tx.tasks.put(kind, "", due=due)

    on_platform(put)


def look_for_alarms() -> None:
    async def look(platform: Platform) -> None:
        channels = make_channels(platform)
        await check_alarms(replace(platform, channels=channels))

    on_platform(look)


def test_an_organization_a_user_and_a_key(migrated: Typed, tmp_path: Path) -> None:
    team = printed_json(migrated("orgs", "create", "Harbour Light", "--json"))
    assert set(team) == {"organization_id", "name", "created"}
    id_ = team["organization_id"]
    (tmp_path / "password").write_text("a long enough one\n")
    user = printed_json(
        migrated(
            *("users", "create", "Ada@Example.org", "--organization", id_),
            *("--role", "admin", "--password-file", str(tmp_path / "password")),
            "--json",
        )
    )
    assert (user["email"], user["role"]) == ("ada@example.org", "admin")
    key = printed_json(
        migrated(
            *("api-keys", "create", "--organization", id_, "--name", "backend"),
            *("--scope", "node,flow", "--json"),
        )
    )
    assert is_key(key["api_key"])
    assert authenticate(key["api_key"]) == id_
    assert key["scopes"] == ["flow", "node"]
    listed = printed_json(migrated("api-keys", "list", "--organization", id_, "--json"))
    assert key["api_key"] not in str(listed)
    assert listed["keys"][0]["key_id"] == key["key_id"]

    migrated("api-keys", "revoke", key["key_id"], "--organization", id_, "--yes")
    with pytest.raises(Unauthorized):
        authenticate(key["api_key"])

    lines = printed_json(migrated("audit", "--json"))["audit"]
    assert [line["action"] for line in lines] == [
        "key revoked",
        "key created",
        "user created",
        "organization created",
    ]
    assert all(line["actor"].startswith("operator:") for line in lines)
    assert key["api_key"] not in str(lines)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("orgs", "create", ""), "name: must have 1 to 50 characters"),
        (("api-keys", "list", "--organization", "none"), "no organization 'none'"),
        (
            ("api-keys", "create", "--organization", "x", "--name", "y"),
            "no organization 'x'; see `leyden orgs list`",
        ),
        (
            ("api-keys", "revoke", "x", "--organization", "Pier", "--yes"),
            "no active key x; see `leyden api-keys list`",
        ),
        (("orgs", "credit", "show", "--organization", "x"), "no organization 'x'"),
        (
            (
                "api-keys",
                "create",
                "--organization",
                "Pier",
                "--name",
                "y",
                "--scope",
                "a",
            ),
            "scope: must be one or more of: node, flow",
        ),
        (("users", "sign-out", "bo@example.org"), "no user bo@example.org"),
        (
            ("team", "remove", "bo@example.org", "--organization", "Pier", "--yes"),
            "bo@example.org is not a member; see `leyden team list`",
        ),
        (
            ("team", "withdraw", "bo@example.org", "--organization", "Pier"),
            "bo@example.org is not invited; see `leyden team list`",
        ),
    ],
)
def test_what_cannot_be_done_is_one_line(
    migrated: Typed, words: tuple[str, ...], reason: str
) -> None:
    migrated("orgs", "create", "Pier")
    result = migrated(*words)
    existing = reason.startswith(("name", "scope"))
    assert result.exit_code == (2 if existing else 4)
    assert reason in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_organization_is_named_as_people_do_or_by_its_id(migrated: Typed) -> None:
    team = printed_json(migrated("orgs", "create", "Harbour Light", "--json"))
    shown = [
        printed_json(
            migrated("orgs", "credit", "show", "--organization", word, "--json")
        )
        for word in ("Harbour Light", team["organization_id"])
    ]
    assert (
        shown[0]
        == shown[1]
        == {
            "organization_id": team["organization_id"],
            "name": "Harbour Light",
            "credit": 0,
            "owed": 0,
            "may_owe": None,
        }
    )


def test_somebody_is_invited_given_a_role_and_taken_out(
    migrated: Typed, tmp_path: Path
) -> None:
    migrated("orgs", "create", "Pier")
    (tmp_path / "password").write_text("a long enough one\n")
    of = ("--organization", "Pier")
    for email, role in (("ada@example.org", "owner"), ("bo@example.org", "viewer")):
        migrated(
            *("users", "create", email, *of, "--role", role),
            *("--password-file", str(tmp_path / "password")),
        )
    request = printed_json(
        migrated("team", "invite", "cy@example.org", *of, "--role", "billing", "--json")
    )
    assert "/app/invitation?word=" in request["link"]
    assert migrated("team", "role", "bo@example.org", "admin", *of).exit_code == 0
    listed = printed_json(migrated("team", "list", *of, "--json"))["team"]
    assert [(each["email"], each["role"]) for each in listed] == [
        ("ada@example.org", "owner"),
        ("bo@example.org", "admin"),
        ("cy@example.org", "billing"),
    ]
    assert migrated("team", "withdraw", "cy@example.org", *of).exit_code == 0
    assert migrated("team", "remove", "Bo@example.org", *of, "--yes").exit_code == 0
    last = migrated("team", "remove", "ada@example.org", *of, "--yes")
    assert last.exit_code == 5
    assert "this is the last owner" in last.stderr
    left = printed_json(migrated("team", "list", *of, "--json"))["team"]
    assert [each["email"] for each in left] == ["ada@example.org"]


def test_every_invitation_of_an_address_is_withdrawn(migrated: Typed) -> None:
    migrated("orgs", "create", "Pier")
    of = ("--organization", "Pier")
    for email, role in (("bo", "admin"), ("cy", "viewer"), ("bo", "viewer")):
        migrated("team", "invite", f"{email}@example.org", *of, "--role", role)
    withdrawn = migrated("team", "withdraw", "Bo@example.org", *of)
    assert withdrawn.stdout == "the invitations of Bo@example.org are revoked\n"
    left = printed_json(migrated("team", "list", *of, "--json"))["team"]
    assert [each["email"] for each in left] == ["cy@example.org"]
    again = migrated("team", "withdraw", "bo@example.org", *of)
    assert again.exit_code == 4
    assert "is not invited" in again.stderr


def test_a_user_is_signed_out_everywhere(migrated: Typed, tmp_path: Path) -> None:
    migrated("orgs", "create", "Pier")
    (tmp_path / "password").write_text("a long enough one\n")
    migrated(
        *("users", "create", "ada@example.org", "--organization", "Pier"),
        *("--password-file", str(tmp_path / "password")),
    )
    sign_in("ada@example.org", "a long enough one")
    sessions = ("users", "sessions", "ada@example.org", "--json")
    (one,) = printed_json(migrated(*sessions))["sessions"]
    assert (one["address"], one["browser"]) == ("192.0.2.7", "a phone")
    assert migrated("users", "sign-out", "ada@example.org").exit_code == 0
    assert printed_json(migrated(*sessions))["sessions"] == []
    (last, *_) = printed_json(migrated("audit", "--json"))["audit"]
    assert last["action"] == "user signed out"


def test_a_new_installation_is_looked_over(migrated: Typed) -> None:
    unchecked = migrated("overview")
    assert unchecked.exit_code == 1
    assert "nobody has checked for alarms yet" in unchecked.stdout
    assert "all good" not in unchecked.stdout
    assert "set backup_store" in unchecked.stdout
    assert "channel sources\nnone; see docs/operators/" in unchecked.stdout
    look_for_alarms()
    found = printed_json(migrated("overview", "--json"))
    assert (found["alarms"], found["nodes"], found["orders"]) == ([], {}, {})
    assert f"all good (checked {found['checked']})" in migrated("overview").stdout
    assert printed_json(migrated("fleet", "--json"))["ailing"] == []
    assert printed_json(migrated("orders", "list", "--needs-attention", "--json")) == {
        "orders": []
    }
    assert printed_json(migrated("treasury", "--json"))["treasury"] is None
    assert (
        "no orders need attention"
        in migrated("orders", "list", "--needs-attention").stdout
    )
    assert "needs attention" in migrated("fleet").stdout
    assert "this platform sells no channels" in migrated("treasury").stdout
    assert migrated("till").stdout == migrated("treasury").stdout
    market = printed_json(migrated("market", "status", "--json"))
    assert market == {
        **printed_json(migrated("treasury", "--json")),
        "seller": None,
        "lsps1": None,
        "jit": None,
        "purchases": None,
    }
    said = migrated("market", "status").stdout
    assert "sells no channels" in said
    assert "\nseller\nseller_host: not set" in said
    assert "\njit\njit_host: not set" in said
    assert "opened for nothing" in migrated("jit", "--unpaid").stdout


def test_what_is_amiss_is_an_exit_code(migrated: Typed) -> None:
    late = datetime.now(UTC) - timedelta(hours=1)
    put_task("upkeep", due=late)
    look_for_alarms()
    result = migrated("overview")
    assert result.exit_code == 1
    assert "upkeep: has not run for a while" in result.stdout


def lose_a_ticket(home: Path) -> str:
    """Sell a channel for credit, and lose its ticket; give the order's id."""

    async def run() -> str:
        async with opened(settings.load(os.environ)) as platform:
            market = SimulatedMarket(home / "tickets.json")
            harness = OrdersHarness(platform.database, platform.sealer, market=market)
            harness.now = platform.clock()
            await harness.open()
            await harness.give_credit(PRICE)
            order = await harness.create()
            await harness.settle_down()
            market.forget(await harness.ticket(order))
            check = TreasuryCheck(at=harness.now, orders=1, unknown=1, differences=0)
            async with platform.database.transaction() as tx:
                await tx.treasury_checks.save(check)
            return order.id

    return asyncio.run(run())


def test_an_order_whose_ticket_was_lost_is_named_and_ended(
    migrated: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order_id = lose_a_ticket(tmp_path / "home")
    end = (
        "orders",
        "abandon",
        order_id,
        "--reason",
        "pool.db is gone",
        "--yes",
        "--json",
    )
    assert "this platform sells no channels" in migrated(*end).stderr
    monkeypatch.setenv("LEYDEN_TREASURY_HOST", "127.0.0.1:1")
    monkeypatch.setenv("LEYDEN_MARKET", "simulated")
    (need,) = printed_json(migrated("orders", "list", "--needs-attention", "--json"))[
        "orders"
    ]
    assert (need["order_id"], need["status"]) == (order_id, "created")
    assert "leyden orders abandon" in need["why"]
    look_for_alarms()
    found = migrated("overview")
    assert found.exit_code == 1
    assert f"order {order_id}: the market lost the ticket" in found.stdout
    assert "orders: 1, differences: 0, unknown to it: 1" in found.stdout
    assert migrated("orders", "abandon", order_id).exit_code == 2
    assert printed_json(migrated(*end)) == {
        "order_id": order_id,
        "status": "cancelled",
        "credit_refund": PRICE,
    }
    assert printed_json(migrated("orders", "list", "--needs-attention", "--json")) == {
        "orders": []
    }
    (last, *_) = printed_json(migrated("audit", "--json"))["audit"]
    assert (last["action"], last["subject"]) == ("order abandoned", order_id)


def test_without_a_seller_its_setting_is_named(migrated: Typed) -> None:
    missing = migrated("seller")
    assert missing.exit_code == 1
    assert "seller_host: not set" in missing.stderr


def test_coupons_are_listed_with_their_notes(migrated: Typed) -> None:
    assert "no coupons yet" in migrated("coupons", "list").stdout
    migrated("coupons", "create", "--amount", "21000", "--note", "spring fair")
    (one,) = printed_json(migrated("coupons", "list", "--json"))["coupons"]
    assert (one["amount"], one["note"]) == (21_000, "spring fair")
    assert "spring fair" in migrated("coupons", "list").stdout


def test_two_of_one_name_are_refused(migrated: Typed) -> None:
    migrated("orgs", "create", "Harbour Light")
    again = migrated("orgs", "create", "Harbour Light")
    assert "an organization named 'Harbour Light' already exists" in again.stderr


def test_without_a_schema_the_next_step_is_told(typed: Typed, tmp_path: Path) -> None:
    refused = typed("orgs", "list")
    assert refused.exit_code == 1
    assert "nothing is installed" in refused.stderr
    assert "`leyden migrate` installs it" in refused.stderr
    assert not (tmp_path / "home").exists()


def test_an_organization_may_have_more_than_others(migrated: Typed) -> None:
    platform = printed_json(migrated("orgs", "create", "Harbour Light", "--json"))
    migrated("orgs", "create", "Other Shore")
    changed = migrated(
        *("orgs", "quotas", "Harbour Light", "nodes=100", "unpaid_orders=7", "--json")
    )
    shown = {each["quota"]: each for each in printed_json(changed)["quotas"]}
    assert shown["nodes"] == {"quota": "nodes", "used": 0, "limit": 100, "default": 25}
    others = printed_json(migrated("orgs", "quotas", "Other Shore", "--json"))["quotas"]
    assert {each["limit"] == each["default"] for each in others} == {True}
    taken_back = migrated(
        "orgs", "quotas", platform["organization_id"], "nodes=default"
    )
    assert re.search(r"nodes +0 +25 +25", taken_back.stdout)
    (line,) = (
        each
        for each in printed_json(migrated("audit", "--json"))["audit"]
        if each["action"] == "quotas changed" and each["detail"]["nodes"] == "default"
    )
    assert line["subject"] == platform["organization_id"]
    assert line["detail"]["changes"] == {"nodes": [100, "default"]}
    assert "nodes 100 → default" in migrated("audit").stdout


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("nodes", "nodes: must be a whole number or"),
        ("nodes=-1", "nodes: must be a whole number or"),
        ("nodes=9999999999", "nodes: must be a number from 0 to 1,000,000,000"),
        ("lamps=7", "lamps: not a quota; choose one of nodes, unpaid_orders"),
    ],
)
def test_what_is_no_quota_is_refused(migrated: Typed, change: str, why: str) -> None:
    migrated("orgs", "create", "Harbour Light")
    refused = migrated("orgs", "quotas", "Harbour Light", change)
    assert refused.exit_code != 0
    assert why in refused.stderr


def test_alarms_are_sent_to_an_endpoint_of_the_operators(migrated: Typed) -> None:
    assert "no alarms yet" in migrated("alarms", "list").output
    url = "https://hooks.example/alarms"
    made = printed_json(
        migrated("alarms", "webhooks", "create", url, "--type", "pool.*", "--json")
    )
    assert re.fullmatch("[0-9a-f]{64}", made.pop("secret"))
    shown = printed_json(migrated("alarms", "webhooks", "list", "--json"))
    assert shown == {"endpoints": [made]}
    assert (made["url"], made["types"], made["status"]) == (url, ["pool.*"], "active")
    wrong = migrated("alarms", "webhooks", "create", url, "--type", "order.paid")
    assert (wrong.exit_code, "types: must be types of events" in wrong.stderr) == (
        2,
        True,
    )
    of = made["endpoint_id"]
    paused = migrated("alarms", "webhooks", "update", of, "--pause", "--json")
    assert printed_json(paused)["status"] == "paused"
    resumed = migrated("alarms", "webhooks", "update", of, "--resume", "--json")
    assert printed_json(resumed) == shown["endpoints"][0]
    rotated = printed_json(migrated("alarms", "webhooks", "rotate", of, "--json"))
    assert len(rotated["secret"]) == 64
    gone = migrated("alarms", "webhooks", "delete", made["endpoint_id"], "--yes")
    assert gone.exit_code == 0
    assert "no endpoints yet" in migrated("alarms", "webhooks", "list").output


def test_lsps1_is_off_and_says_what_it_needs(
    migrated: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = migrated("lsps1")
    assert (
        "lsps1: not set, so this platform sells no channels over LSPS1"
        in refused.stderr
    )
    for name, value in {
        "TREASURY_HOST": "127.0.0.1:1",
        "MARKET": "simulated",
        "LSPS1": "true",
    }.items():
        monkeypatch.setenv(f"LEYDEN_{name}", value)
    assert "seller_host: needed by lsps1" in migrated("lsps1").stderr
    for name in ("HOST", "CERTIFICATE", "MACAROON"):
        monkeypatch.setenv(f"LEYDEN_SELLER_{name}", "127.0.0.1:2")
    assert "lsps1_organization: needed by lsps1" in migrated("lsps1").stderr


def test_orders_of_all_organizations_are_listed_newest_first(migrated: Typed) -> None:
    assert migrated("orders", "list").stdout == "no orders\n"
    former = migrated("orders")
    assert former.stdout == "no orders need attention\n"
    assert "`orders` is now `orders list --needs-attention`" in former.stderr

    async def create(platform: Platform) -> None:
        harness = OrdersHarness(platform.database, platform.sealer)
        await harness.open()
        for who in (HARBOUR, LIGHTHOUSE):
            harness.now += timedelta(seconds=1)
            await harness.create(who=who)

    on_platform(create)
    listed = printed_json(migrated("orders", "list", "--json"))["orders"]
    assert len(listed) == 2
    (one,) = printed_json(
        migrated("orders", "list", "--organization", HARBOUR, "--json")
    )["orders"]
    assert one == listed[1]
    assert migrated("orders", "list", "--status", "filled").stdout == "no orders\n"
    shown = migrated("orders", "list", "--status", "waiting_payment").stdout
    assert f"{one['capacity']:,} sat" in shown
    assert migrated("orders", "list", "--status", "lost").exit_code == 2


def test_operators_are_added_listed_and_removed(
    migrated: Typed, tmp_path: Path
) -> None:
    migrated("orgs", "create", "Pier")
    (tmp_path / "password").write_text("a long enough one\n")
    # The only organization need not be named.
    migrated(
        *("users", "create", "ada@example.org"),
        *("--password-file", str(tmp_path / "password")),
    )
    assert "no operators yet" in migrated("operators", "list").stdout
    added = migrated("operators", "add", "ada@example.org")
    assert added.stdout.startswith("ada@example.org can operate this installation now")
    (one,) = printed_json(migrated("operators", "list", "--json"))["operators"]
    assert one["email"] == "ada@example.org"
    ended = migrated("user", "operator", "ada@example.org", "--end")
    assert ended.stdout.startswith("ada@example.org can't operate this installation")
    assert printed_json(migrated("operators", "list", "--json"))["operators"] == []
    migrated("orgs", "create", "Other")
    unnamed = migrated("api-keys", "list")
    assert (unnamed.exit_code, "--organization: name one" in unnamed.stderr) == (
        2,
        True,
    )


def test_keys_of_the_operator_api(migrated: Typed) -> None:
    assert "no keys yet" in migrated("operator-keys", "list").output
    created = migrated("operator-keys", "create", "--name", "billing", "--json")
    made = printed_json(created)
    assert authenticate(made["api_key"]) == INSTALLATION
    assert made["scopes"] == ["operator"]
    listed = migrated("operator-keys", "list", "--json").output
    assert made["key_id"] in listed
    assert made["api_key"] not in listed
    revoked = migrated("operator-keys", "revoke", made["key_id"], "--yes")
    assert revoked.output == "revoked\n"
    with pytest.raises(Unauthorized):
        authenticate(made["api_key"])
    again = migrated("operator-keys", "revoke", made["key_id"], "--yes")
    assert again.exit_code != 0
