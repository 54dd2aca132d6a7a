"""The customer's commands, typed against a platform behind real sockets."""

import csv
import io
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete

from leyden.app.main import leyden
from leyden.base.cli import exit_codes
from leyden.base.rules.times import utc_now
from leyden.channels.money import credit
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.customer import node_settings, profiles
from leyden.customer.node_settings import settings
from leyden.customer.node_views import added
from leyden.schemas.node_settings import TABLE
from tests.app.cli.conftest import Typed, printed_json
from tests.client.served_platform import ServedPlatform

ROOT = Path(__file__).parents[3]
CAPACITY = "1000000"
POINT = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine that knows of no platform."""
    for name in os.environ:
        if name.startswith("LEYDEN_") and name != "LEYDEN_CACHE":
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("LEYDEN_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def here(platform: ServedPlatform, monkeypatch: pytest.MonkeyPatch) -> ServedPlatform:
    """The platform, in the environment."""
    monkeypatch.setenv("LEYDEN_URL", platform.url)
    monkeypatch.setenv("LEYDEN_KEY", platform.key)
    return platform


@pytest.fixture(scope="module")
def pier(platform: ServedPlatform) -> str:
    """A node that waits for its wallet."""
    with platform.client() as client:
        settings = node_settings.of_a_new_node("pier", {}) | {"whitelist": ["::1"]}
        made = client.nodes.create("pier", settings=settings)
        client.nodes.wait(made.node_id, {"waiting_init"})
    return "pier"


@pytest.mark.usefixtures("here")
def test_a_node_from_the_first_word_to_the_last(typed: Typed) -> None:
    made = typed("nodes", "create", "tide mill", "--wait", "--no-keysend", "--wumbo")
    assert made.exit_code == 0, made.output
    assert "waiting_init" in made.stdout
    assert made.stdout.endswith("next: leyden wallet init 'tide mill'\n")
    shown = printed_json(typed("nodes", "show", "tide mill", "--json"))
    assert shown["settings"]["keysend"] is False
    assert shown["settings"]["wumbo"] is True
    assert shown["settings"]["alias"] == "tide mill"
    assert shown["settings"]["whitelist"] == ["127.0.0.1"]
    by_id = printed_json(typed("nodes", "show", shown["node_id"], "--json"))
    assert by_id["node_name"] == "tide mill"
    for command, status in (
        ("stop", "stopped"),
        ("start", "waiting_init"),
        ("restart", "waiting_init"),
    ):
        done = printed_json(typed("nodes", command, "tide mill", "--wait", "--json"))
        assert done["status"] == status, command
    again = typed("nodes", "start", "tide mill")
    assert again.exit_code == 5
    assert again.stderr.count("\n") == 1
    updated = typed(
        "nodes", "update", "tide mill", "--yes", "--version", "v0.21.2-beta"
    )
    assert "v0.21.2-beta" in updated.stdout
    wrong = typed("nodes", "delete", "tide mill", given="tide\n")
    assert wrong.exit_code == 1
    assert "nothing was deleted" in wrong.stderr
    gone = typed("nodes", "delete", "tide mill", given="tide mill\n")
    assert "deleting" in gone.stdout
    assert f"leyden nodes restore {shown['node_id']}" in gone.stdout
    assert "tide mill" in typed("nodes", "list", "--deleted").stdout
    back = typed("nodes", "restore", "tide mill", "--name", "old mill")
    assert back.stdout.endswith("next: leyden nodes start 'old mill' --wait\n")
    assert printed_json(typed("nodes", "list", "--deleted", "--json")) == {"nodes": []}
    none = typed("nodes", "restore", "tide mill")
    assert (none.exit_code, "leyden nodes list --deleted" in none.stderr) == (4, True)


@pytest.mark.usefixtures("here")
def test_the_list_is_for_people_and_for_machines(typed: Typed, pier: str) -> None:
    listed = printed_json(typed("nodes", "list", "--json"))["nodes"]
    assert pier in {each["node_name"] for each in listed}
    table = typed("nodes", "list").stdout
    assert table.split()[:2] == ["name", "status"]
    assert any(line.startswith(f"{pier}  ") for line in table.splitlines())


@pytest.mark.usefixtures("here")
def test_a_deletion_that_is_repeated_leads_to_no_other_node(typed: Typed) -> None:
    for name in ("quay one", "quay two"):
        assert typed("nodes", "create", name, "--wait").exit_code == 0
    assert typed("nodes", "delete", "quay one", "--yes").exit_code == 0
    again = typed("nodes", "delete", "quay one", "--yes")
    while "leyden nodes restore 'quay one'" not in again.stderr:
        assert "quay two" not in again.stderr
        again = typed("nodes", "delete", "quay one", "--yes")  # it goes meanwhile
    assert again.exit_code == 4
    assert typed("nodes", "restore", "quay one").exit_code == 0


@pytest.mark.usefixtures("here")
def test_a_name_that_is_mistyped_is_told_by_the_nearest(
    typed: Typed, pier: str
) -> None:
    wrong = typed("nodes", "show", "peir")
    assert (wrong.exit_code, wrong.stdout) == (4, "")
    assert wrong.stderr == f"leyden: no node 'peir'; did you mean {pier!r}?\n"
    other = typed("nodes", "show", "something else")
    assert other.stderr.endswith("'something else'; see `leyden nodes list`\n")


def test_a_profile_may_stand_anywhere_on_the_line(typed: Typed) -> None:
    for words in (
        ("--profile", "work", "nodes", "webhook", "show", "pier"),
        ("nodes", "--profile=work", "webhook", "show", "pier"),
        ("nodes", "webhook", "--profile", "work", "show", "pier"),
        ("nodes", "webhook", "show", "--profile", "work", "pier"),
        ("nodes", "webhook", "show", "pier", "--profile", "work"),
        ("--profile", "home", "nodes", "webhook", "show", "pier", "--profile", "work"),
    ):
        printed = typed(*words)
        assert printed.exit_code != 0
        assert "no profile 'work'" in printed.stderr, words


def test_a_command_without_profiles_refuses_one_wherever_it_stands(
    typed: Typed,
) -> None:
    for words in (("--profile", "work", "config"), ("config", "--profile", "work")):
        refused = typed(*words)
        assert (refused.exit_code, "No such option" in refused.stderr) == (2, True)


def test_a_former_name_works_and_says_the_new_one(typed: Typed) -> None:
    former = typed("node", "unlock", "--help")
    assert former.exit_code == 0
    assert former.stderr == "leyden: `node unlock` is now `wallet unlock`\n"
    assert former.stdout.startswith("Usage: leyden wallet unlock")
    for words in (("node", "list"), ("flow", "order")):
        alias = typed(*words, "--help")
        assert (alias.exit_code, alias.stderr) == (0, "")
    listed = typed("--help").stdout
    assert "\n  wallet " in listed
    assert "\n  node " not in listed


@pytest.mark.usefixtures("here")
def test_settings_are_shown_and_changed(typed: Typed) -> None:
    typed("nodes", "create", "jetty", "--wait")  # others keep the pier as it is
    changed = typed("nodes", "settings", "jetty", "--alias", "jut", "--basefee", "7")
    assert "lnd restarts" in changed.stdout
    found = printed_json(typed("nodes", "settings", "jetty", "--json"))
    assert (found["alias"], found["basefee"]) == ("jut", "7")
    in_words = ("--base-fee", "8", "--no-allowcircularroute")  # base fee: as forms say
    found = printed_json(typed("nodes", "settings", "jetty", *in_words, "--json"))
    assert (found["basefee"], found["allowcircularroute"]) == ("8", False)
    at_once = typed("nodes", "settings", "jetty", "--no-grpc")
    assert "restarted" not in at_once.stdout
    wrong = typed("nodes", "settings", "jetty", "--color", "blue")
    assert (wrong.exit_code, wrong.stderr.count("\n")) == (2, 1)
    assert wrong.stderr.startswith("leyden: color: ")


def test_every_setting_has_an_option_with_its_sentence() -> None:
    options = {each.name: each for each in settings.params}
    for name, setting in TABLE.items():
        option = options.get(name)
        assert (option is None) is (name == "whitelist")
        if isinstance(option, click.Option):
            assert option.help is not None
            assert option.help.endswith(setting.help)


@pytest.mark.usefixtures("here")
def test_the_whitelist_grows_and_shrinks(typed: Typed, pier: str) -> None:
    def now() -> list[str]:
        found: list[str] = printed_json(typed("nodes", "whitelist", pier, "--json"))[
            "whitelist"
        ]
        return found

    typed("nodes", "whitelist", pier, "192.0.2.7")
    assert now() == ["192.0.2.7"]
    typed("nodes", "whitelist", pier, "--add", "2001:db8::/32", "198.51.100.0/24")
    assert sorted(now()) == ["192.0.2.7", "198.51.100.0/24", "2001:db8::/32"]
    typed("nodes", "whitelist", pier, "--remove", "192.0.2.7", "2001:db8::/32")
    assert now() == ["198.51.100.0/24"]
    assert typed("nodes", "whitelist", pier, "--remove", "203.0.113.1").exit_code == 1
    assert typed("nodes", "whitelist", pier, "--add").exit_code == 1
    assert now() == ["198.51.100.0/24"]
    assert "nobody" in typed("nodes", "whitelist", pier, "--allow-none").stdout
    assert now() == []


@pytest.mark.usefixtures("here")
def test_looking_at_a_node(typed: Typed, pier: str, tmp_path: Path) -> None:
    pem = tmp_path / "pier.pem"
    typed("nodes", "cert", pier, "--out", str(pem))
    assert pem.read_text() == typed("nodes", "cert", pier).stdout
    assert printed_json(typed("nodes", "metrics", pier, "--json"))["crashes"] == 0
    way = typed("nodes", "connect", pier).stdout
    assert "lncli --rpcserver=" in way
    assert "curl --cacert" in way
    assert re.search(r"^peers by Tor +-$", way, re.MULTILINE), "there is no Tor"
    assert "v0.20.2-beta (default)" in typed("nodes", "versions").stdout
    assert typed("nodes", "logs", pier, "-n", "5").exit_code == 0


def test_a_log_that_grows_is_shown_once() -> None:
    assert added(["a", "b"], ["a", "b", "c"]) == ["c"]
    assert added(["a", "b"], ["b", "c", "d"]) == ["c", "d"]
    assert added(["a", "b"], ["x", "y"]) == ["x", "y"]
    assert added(["a", "a"], ["a", "a"]) == []
    assert added([], ["a"]) == ["a"]


@pytest.mark.usefixtures("here")
def test_a_webhook_is_set_tried_and_looked_at(typed: Typed, pier: str) -> None:
    url = "https://hooks.example.org/"
    secret = printed_json(typed("nodes", "webhook", "set", pier, url, "--json"))
    assert secret["webhook"] == url
    tried = printed_json(typed("nodes", "webhook", "test", pier, "--json"))
    found = printed_json(typed("nodes", "webhook", "deliveries", pier, "--json"))
    assert found["deliveries"][0]["delivery_id"] == tried["delivery_id"]
    assert "redelivery" not in typed("nodes", "webhook", "deliveries", pier).stdout
    again = typed("nodes", "webhook", "redeliver", pier, tried["delivery_id"])
    assert again.exit_code == 0, again.output
    rotated = printed_json(typed("nodes", "webhook", "rotate", pier, "--json"))
    assert rotated["webhook_secret"] != secret["webhook_secret"]


def test_an_order_is_priced_paid_and_given_up(
    here: ServedPlatform, typed: Typed
) -> None:
    shown = typed("channels", "quote", CAPACITY).stdout
    assert "amount_due" in shown
    assert "at most, seller and network fees; the rest is credited" in shown
    priced = printed_json(
        typed("channels", "quote", CAPACITY, "--tier", "any", "--json")
    )
    made = printed_json(typed("channels", "order", CAPACITY, "--tier", "any", "--json"))
    assert made["total_fee"] == priced["total_fee"]
    assert "leyden channels show" in typed("channels", "show", made["order_id"]).stdout
    here.pay(made["order_id"])
    waited = typed("channels", "show", made["order_id"], "--wait", "created")
    assert f"leyden channels use-ticket {made['order_id']}" in waited.stdout
    assert "pool sidecar register sidecar1" in waited.stdout
    assert made["order_id"] in typed("channels", "list").stdout
    claim_folder = typed("channels", "cancel", made["order_id"], given="n\n")
    assert claim_folder.exit_code == 1
    assert f"{made['total_fee']:,} sat as credit" in claim_folder.stderr
    given_up = typed("channels", "cancel", made["order_id"], "--yes")
    in_vain = typed("channels", "show", made["order_id"], "--wait", "created")
    assert in_vain.exit_code == 5
    assert made["order_id"] in in_vain.stdout
    assert "amount_due" not in in_vain.stdout  # nothing is, any more
    assert "can't become created" in in_vain.stderr
    assert f"{made['total_fee']:,} sat as credit" in given_up.stdout
    assert (
        printed_json(typed("credit", "show", "--json"))["credit"] == made["total_fee"]
    )


@pytest.mark.usefixtures("here")
def test_a_number_that_is_none_is_refused_and_not_left_out(typed: Typed) -> None:
    refused = typed("channels", "quote", CAPACITY, "--lease", "0")
    assert refused.exit_code != 0
    assert "lease" in refused.stderr


def test_of_an_order_that_failed_it_says_where_the_money_is(
    here: ServedPlatform, typed: Typed
) -> None:
    """Cancelling it gives nothing: all was returned when it failed."""
    channels = here.platform.channels
    assert channels is not None
    assert isinstance(channels.market, SimulatedMarket)
    channels.market.refuses = "the batch is over"
    dear = printed_json(typed("channels", "order", "16000000", "--json"))["order_id"]
    here.pay(dear)
    failed = typed("channels", "show", dear, "--wait", "created")
    channels.market.refuses = ""
    assert failed.exit_code == 5
    claimed = typed("channels", "use-ticket", dear)
    assert (claimed.exit_code, "the order is failed" in claimed.stderr) == (5, True)
    for said in (failed.stdout, claimed.stderr):
        assert "a held Lightning payment was returned" in said
        assert "channels cancel" not in said
    has = printed_json(typed("credit", "show", "--json"))
    claim_folder = typed("channels", "cancel", dear, given="n\n")
    assert "You get" not in claim_folder.stderr
    assert typed("channels", "cancel", dear, "--yes").exit_code == 0
    assert printed_json(typed("credit", "show", "--json")) == has


def test_of_an_order_on_account_it_says_that_debts_come_first(
    here: ServedPlatform, typed: Typed
) -> None:
    def open_account(most_owed: int | None) -> None:
        here.do(
            lambda: credit.open_account(
                here.platform.database,
                here.organization_id,
                most_owed=most_owed,
                actor="operator:test",
                now=utc_now(),
            )
        )

    open_account(10**9)
    made = printed_json(typed("channels", "order", "16000000", "--json"))
    claim_folder = typed("channels", "cancel", made["order_id"], given="n\n")
    open_account(None)
    assert f"{made['total_fee']:,} sat back: debts first" in claim_folder.stderr
    assert typed("channels", "cancel", made["order_id"], "--yes").exit_code == 0


def test_a_channel_is_ordered_for_a_node_by_its_key(
    here: ServedPlatform, typed: Typed
) -> None:
    node = f"02{POINT}"
    here.seller.fill([1_500_000] * 2)
    quoted = printed_json(typed("channels", "quote", CAPACITY, "--for", node, "--json"))
    assert quoted["source"] == "own"
    refused = typed("channels", "order", CAPACITY, "--for", node, "--bps", "10")
    assert (refused.exit_code, "bps" in refused.stderr) == (2, True)
    made = printed_json(
        typed("channels", "order", CAPACITY, "--for", node, "--announce", "--json")
    )
    assert (made["node"], made["announce"]) == (node, True)
    assert made["total_fee"] == quoted["total_fee"]
    here.pay(made["order_id"])
    away = typed("channels", "show", made["order_id"], "--wait", "created")
    assert (
        "next: your node is not connected to the seller: lncli connect "
        f"{here.seller.pubkey}"
    ) in (away.stdout)
    claim_folder = typed("channels", "cancel", made["order_id"], given="n\n")
    assert "A held Lightning payment is returned" in claim_folder.stderr
    another = typed("channels", "order", CAPACITY, "--for", node)
    assert (another.exit_code, "another open order" in another.stderr) == (5, True)
    here.seller.online.add(node)
    filled = typed("channels", "show", made["order_id"], "--wait", "filled")
    assert filled.exit_code == 0, filled.output
    (channel,) = here.seller.opened_for(made["order_id"])
    assert channel.point in filled.stdout
    assert channel.wanted.announce
    assert "next: the channel is published" in filled.stdout


def test_a_lease_is_extended_after_a_question(
    here: ServedPlatform, typed: Typed
) -> None:
    node = "02c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5"
    here.seller.fill([1_500_000])
    here.seller.online.add(node)
    made = printed_json(typed("channels", "order", CAPACITY, "--for", node, "--json"))
    order_id = made["order_id"]
    if not made["paid"]:
        here.pay(order_id)
    filled = typed("channels", "show", order_id, "--wait", "filled", "--json")
    before = printed_json(filled)["lease_ends_block"]
    extend = ("channels", "extend", order_id)
    price = printed_json(typed(*extend, "--quote", "--json"))
    assert (price["total_fee"], price["lease_ends_block"]) == (6_999, before + 2_016)
    asked = typed(*extend, given="n\n")
    assert "by 2 weeks (2,016 blocks) for 6,999 sat" in asked.stderr
    cheap = typed(*extend, "--yes", "--max-fee", "6998")
    assert (cheap.exit_code, "max_fee: the price is 6,999" in cheap.stderr) == (5, True)
    dear = typed(*extend, "--lease", "52416", "--yes", "--qr")
    assert dear.exit_code == 0, dear.output
    if "next: pay the invoice" in dear.stdout:
        assert "█" in dear.stderr or "▄" in dear.stderr
        with here.client() as client:
            (first,) = client.flow.extensions(order_id)
        again = typed(*extend, "--yes", "--json")  # as if that answer was lost
        assert "is not paid yet" in again.stderr
        assert printed_json(again)["lightning_invoice"] == first.lightning_invoice
    automatic = typed(*extend, "--auto")
    assert (automatic.exit_code, "--max-fee" in automatic.stderr) == (2, True)
    only_price = typed(*extend, "--auto", "--max-fee", "10000", "--quote", "--json")
    assert printed_json(only_price)["total_fee"] == 6_999
    assert "auto_extend" not in typed("channels", "show", order_id).stdout
    automatic = typed(*extend, "--auto", "--max-fee", "10000")
    assert "by 2 weeks (2,016 blocks), for at most 10,000 sat" in automatic.stdout
    assert "auto_extend" not in typed(*extend, "--no-auto").stdout
    missing = typed("channels", "extend", "nowhere", "--yes")
    assert missing.exit_code == 4


def test_a_channel_for_a_name_that_is_not_there_is_refused(
    here: ServedPlatform, typed: Typed, pier: str
) -> None:
    del here
    refused = typed("channels", "order", CAPACITY, "--for", "peir")
    assert (refused.exit_code, f"did you mean {pier!r}" in refused.stderr) == (4, True)


def test_a_channel_for_a_node_without_a_wallet_asks_for_no_password(
    here: ServedPlatform, typed: Typed, pier: str
) -> None:
    here.seller.fill([1_500_000] * 3)
    refused = typed("channels", "quote", CAPACITY, "--for", pier)
    assert (refused.exit_code, f"leyden wallet init {pier!r}" in refused.stderr) == (
        5,
        True,
    )


def test_what_cannot_be_claimed_says_what_to_do(
    here: ServedPlatform,
    typed: Typed,
    pier: str,
    alone: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(alone / "state"))
    dear = ("channels", "order", "16000000", "--json")  # more than any credit here
    made = printed_json(typed(*dear))["order_id"]
    unpaid = typed("channels", "use-ticket", made)
    assert (unpaid.exit_code, "pay the order first" in unpaid.stderr) == (5, True)
    here.pay(made)
    printed_json(typed("channels", "show", made, "--wait", "created", "--json"))
    early = typed("channels", "use-ticket", made, "--for", pier)
    assert (early.exit_code, f"leyden wallet init {pier!r}" in early.stderr) == (
        5,
        True,
    )
    typed("nodes", "create", "deaf", "--no-grpc", "--whitelist", "::1")
    deaf = typed("channels", "use-ticket", made, "--for", "deaf")
    assert (deaf.exit_code, "does not serve gRPC" in deaf.stderr) == (5, True)
    which = typed("channels", "use-ticket", made)
    assert (which.exit_code, "--for: name the node" in which.stderr) == (2, True)
    unwanted = printed_json(typed(*dear))["order_id"]
    typed("channels", "cancel", unwanted, "--yes")
    ended = typed("channels", "use-ticket", unwanted)
    assert (ended.exit_code, "the order is cancelled" in ended.stderr) == (5, True)
    here.seller.fill([1_500_000])
    node = f"03{POINT}"
    direct = printed_json(typed("channels", "order", CAPACITY, "--for", node, "--json"))
    named = typed("channels", "use-ticket", direct["order_id"])
    assert (named.exit_code, "names its node" in named.stderr) == (5, True)
    assert typed("channels", "use-ticket", "../x").exit_code == 2
    assert "order not found" in typed("channels", "use-ticket", "nowhere").stderr
    assert not list((alone / "state").rglob("claim.json"))


@pytest.mark.usefixtures("here")
def test_waiting_shows_how_to_pay_and_ends_in_time(typed: Typed) -> None:
    late = typed("channels", "order", "2000000", "--wait", "--timeout", "1", "--qr")
    assert late.exit_code == exit_codes.TOOK_TOO_LONG
    assert "invoice   ln" in late.stderr
    assert "█" in late.stderr or "▄" in late.stderr
    assert "waiting_payment" in late.stderr


def test_money_is_listed_and_exported(here: ServedPlatform, typed: Typed) -> None:
    coupon = here.coupon(2_100)
    assert "2,100 sat" in typed("credit", "redeem", coupon).stdout
    again = typed("credit", "redeem", coupon)
    assert again.exit_code == 4
    assert "coupon not found, or already redeemed" in again.stderr
    assert coupon in typed("credit", "coupons").stdout
    rows = list(csv.DictReader(io.StringIO(typed("credit", "list", "--csv").stdout)))
    entries = printed_json(typed("credit", "list", "--json"))["entries"]
    assert [row["amount"] for row in rows] == [str(each["amount"]) for each in entries]
    assert typed("credit", "list", "-n", "1").exit_code == 0


@pytest.mark.parametrize(
    ("environment", "code", "words"),
    [
        ({}, 3, "set LEYDEN_URL and LEYDEN_KEY"),
        ({"LEYDEN_URL": "http://127.0.0.1:9"}, 3, "LEYDEN_KEY is not set"),
        (
            {"LEYDEN_URL": "http://127.0.0.1:9", "LEYDEN_KEY": "k"},
            6,
            "check that the platform is up",
        ),
        ({"LEYDEN_URL": "nonsense", "LEYDEN_KEY": "k"}, 1, "must look like"),
        ({"LEYDEN_PROFILE": "work"}, 1, "no profile 'work'"),
    ],
)
def test_without_a_way_in_one_line_says_what_to_do(
    typed: Typed,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    code: int,
    words: str,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    refused = typed("nodes", "list")
    assert refused.exit_code == code
    assert words in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert refused.stdout == ""


def test_a_key_that_is_refused_is_not_repeated(
    here: ServedPlatform, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEYDEN_KEY", "leyden_made_up")
    refused = typed("nodes", "list")
    assert refused.exit_code == 3
    assert "rejected this key" in refused.stderr
    assert "leyden_made_up" not in refused.output
    monkeypatch.setenv("LEYDEN_KEY", here.new_key("flow"))
    assert typed("credit", "show").exit_code == 0
    lacks = typed("nodes", "list")
    assert (lacks.exit_code, lacks.stderr.count("\n")) == (3, 1)
    assert "scope" in lacks.stderr


@pytest.mark.usefixtures("here")
def test_what_is_not_there_is_said_so(typed: Typed) -> None:
    for words in (("nodes", "show", "no such"), ("channels", "show", "no-such")):
        absent = typed(*words)
        assert (absent.exit_code, absent.stderr.count("\n")) == (4, 1)


def test_a_platform_started_here_needs_no_words(
    alone: Path, platform: ServedPlatform, typed: Typed
) -> None:
    home = alone / "home"
    home.mkdir()
    (home / "root.pem").write_text("")
    (home / "dev.json").write_text(
        json.dumps(
            {
                "base_url": platform.url,
                "api_key": platform.key,
                "organization_id": platform.organization_id,
                "ca_path": str(home / "root.pem"),
                "gateway": {"host": "127.0.0.1", "rest_port": 8080, "grpc_port": 1},
            }
        )
    )
    assert typed("credit", "show").exit_code == 0


def test_profiles_keep_platforms_apart(
    platform: ServedPlatform, typed: Typed, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    key.write_text(f"{platform.key}\n")
    added = typed(
        "profile", "add", "work", "--url", platform.url, "--key-file", str(key)
    )
    assert (added.exit_code, added.stdout) == (0, "work: Harbour, key 'test'\n")
    prompted = typed(
        "profile", "add", "home", "--url", platform.url, given=platform.key
    )
    assert prompted.exit_code == 0, prompted.output
    assert platform.key not in prompted.output
    assert typed("credit", "show").exit_code == 0, "the first one is in use"
    assert typed("profile", "use", "home").exit_code == 0
    listed = printed_json(typed("profile", "list", "--json"))["profiles"]
    assert [(each["name"], each["current"]) for each in listed] == [
        ("home", "yes"),
        ("work", ""),
    ]
    assert platform.key not in json.dumps(listed)
    assert typed("credit", "show", "--profile", "work").exit_code == 0
    path = profiles.file_path()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert typed("profile", "remove", "home", "--yes").exit_code == 0
    assert typed("credit", "show").exit_code == 3
    assert typed("profile", "remove", "home", "--yes").exit_code == 1


def test_login_stores_a_profile_that_is_used_from_now_on(
    platform: ServedPlatform, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = typed("login", platform.url, "--name", "work", given=f"{platform.key}\n")
    assert (made.exit_code, made.stdout) == (0, "work: Harbour, key 'test'\n")
    again = typed("login", "--json", given=f"{platform.url}\n{platform.key}\n")
    assert printed_json(again)["profile"] == "127.0.0.1"
    assert platform.key not in made.output + again.output
    listed = printed_json(typed("profile", "list", "--json"))["profiles"]
    assert [each["name"] for each in listed if each["current"]] == ["127.0.0.1"]
    assert typed("credit", "show").exit_code == 0
    opened: list[str] = []

    def browse(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr("webbrowser.open", browse)
    assert typed("open").stdout == f"{platform.url}/app/\n"
    assert opened == [f"{platform.url}/app/"]
    shown = typed("open", "--no-browser", "--profile", "work", "--json")
    assert printed_json(shown) == {"url": opened[0]}
    assert len(opened) == 1


@pytest.mark.usefixtures("here")
def test_what_cannot_be_undone_is_asked(typed: Typed, pier: str) -> None:
    asked = typed("nodes", "update", pier, given="n\n")
    assert (asked.exit_code, asked.stdout) == (1, "")
    assert f"Update {pier} to the newest lnd? You can't go back" in asked.stderr
    typed("login", "http://127.0.0.1:1")  # nothing of it is kept
    assert typed("profile", "remove", "nobody", "--yes").exit_code == 1


def test_a_profile_whose_key_opens_nothing_is_not_kept(
    platform: ServedPlatform, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEYDEN_KEY", "leyden_made_up")
    refused = typed("profile", "add", "work", "--url", platform.url)
    assert refused.exit_code == 3
    assert not profiles.file_path().exists()


def test_who_may_reach_a_node_elsewhere_has_to_be_said() -> None:
    with pytest.raises(Exception, match="--whitelist"):
        node_settings.first_whitelist((), nobody=False, is_here=False)
    assert node_settings.first_whitelist((), nobody=True, is_here=False) == []


@pytest.mark.usefixtures("here")
def test_a_shell_completes_commands_and_names_of_nodes(typed: Typed, pier: str) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_LEYDEN_COMPLETE" in typed("completion", shell).stdout
    bash = BashComplete(leyden, {}, "leyden", "_LEYDEN_COMPLETE")
    assert "create" in {each.value for each in bash.get_completions(["nodes"], "cr")}
    offered = bash.get_completions(["nodes", "show"], "pi")
    assert [each.value for each in offered] == [pier]
    here_no_more = {"LEYDEN_URL": "http://127.0.0.1:9"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in here_no_more.items():
            patch.setenv(name, value)
        assert bash.get_completions(["nodes", "show"], "pi") == []


def test_a_name_is_no_command_to_the_terminal(
    here: ServedPlatform, typed: Typed, pier: str
) -> None:
    node_id = printed_json(typed("nodes", "show", pier, "--json"))["node_id"]
    here.fleet_harness.node_files.logs[node_id] = ["[bold]a\x1b[2J\x07 peer[/bold]"]
    shown = typed("nodes", "logs", pier).stdout
    assert "[bold]a?[2J? peer[/bold]" in shown


def test_the_exit_code_is_the_one_of_the_table(alone: Path) -> None:
    """As a shell sees it."""
    done = subprocess.run(
        [Path(sys.executable).parent / "leyden", "nodes", "list"],
        env={**os.environ, "LEYDEN_HOME": str(alone)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr.startswith("leyden: no platform configured: ")
    page = (ROOT / "docs" / "customers" / "cli.md").read_text()
    for code, words in exit_codes.CODES.items():
        assert f"| {code} | {words} |" in page
