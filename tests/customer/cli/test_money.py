"""`leyden wallet receive`, `send`, `payments`, `open`, `close`, `fees`."""

import base64
import csv
import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from leyden.client import lnurl, wallets
from leyden.client import macaroons as baked
from leyden.client import payments as lnd_payments
from leyden.customer.node_settings import of_a_new_node
from leyden.customer.session import opened
from leyden.customer.wallet import keeping
from leyden.customer.wallet.send import read_target
from leyden.errors import Malformed
from tests.app.cli.conftest import Typed, printed_json
from tests.client.served_platform import ServedPlatform
from tests.customer.cli.paying_node import (
    MACAROON,
    PEER,
    POINT,
    PayingNode,
    channel,
)
from tests.events.webhooks.conftest import Serving

ADDRESS = "sb1qharbour"
PASSWORD = "a lamp in every window"


@pytest.fixture
def name(
    platform: ServedPlatform,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> str:
    """A machine with the platform in its environment, and a node; its name."""
    monkeypatch.setenv("LEYDEN_URL", platform.url)
    monkeypatch.setenv("LEYDEN_KEY", platform.key)
    monkeypatch.setenv("LEYDEN_WALLET_PASSWORD", PASSWORD)
    monkeypatch.setenv("LEYDEN_CA", "ca.pem")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "macaroon").write_bytes(bytes.fromhex(MACAROON))
    with platform.client() as client:
        settings = of_a_new_node("a light", {}) | {"whitelist": ["::1"]}
        name = f"light {abs(hash(request.node.name)) % 10**9}"
        client.nodes.create(name, settings=settings)
        return name


@pytest.fixture
def lnd(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[PayingNode]:
    authority = Serving(tmp_path)
    with opened("") as session:
        api = session.node(name).api_endpoint
    with PayingNode(authority, api=api) as served:
        monkeypatch.setenv("LEYDEN_GATEWAY", served.address)
        yield served


class Wallet:
    """Types `leyden wallet` commands about one node, with a macaroon."""

    def __init__(self, typed: Typed, name: str) -> None:
        self._typed, self.name = typed, name

    def __call__(self, command: str, *words: str, given: str | None = None) -> Any:
        words = (self.name, *words, "--macaroon-file", "macaroon")
        return self._typed("wallet", command, *words, given=given)

    def json(self, command: str, *words: str) -> Any:
        return printed_json(self(command, *words, "--json"))


@pytest.fixture
def wallet(typed: Typed, name: str, lnd: PayingNode) -> Wallet:
    del lnd
    return Wallet(typed, name)


def test_an_invoice_is_paid_once_however_often_it_is_sent(
    wallet: Wallet, lnd: PayingNode
) -> None:
    invoice = lnd.asks("lnsb1coffee")
    paid = wallet.json("send", f"lightning:{invoice.upper()}", "--yes")
    assert paid == {
        "node_id": paid["node_id"],
        "state": "succeeded",
        "sats": 5000,
        "fee_sats": 1.5,
        "payment_hash": "5a" * 32,
        "preimage": "77" * 32,
        "paid_before": False,
    }
    (wish,) = lnd.done("/v2/router/send")
    assert wish == {
        "payment_request": invoice,
        "fee_limit_msat": "250000",
        "timeout_seconds": 60,
    }
    again = wallet.json("send", invoice, "--yes")
    assert again == {**paid, "paid_before": True}
    assert len(lnd.done("/v2/router/send")) == 1


def test_what_is_paid_is_shown_before_and_can_be_declined(
    wallet: Wallet, lnd: PayingNode
) -> None:
    declined = wallet("send", lnd.asks("lnsb1coffee"), given="n\n")
    assert declined.exit_code == 1
    for words in (PEER, "two coffees", "5,000 sat", "at most 250 sat"):
        assert words in declined.stderr
    assert not lnd.done("/v2/router/send")


@pytest.mark.parametrize(
    ("msat", "changes", "words", "says"),
    [
        (5_000_000, {"timestamp": "1700000000"}, (), "this invoice has expired"),
        (0, {}, (), "names no amount"),
        (5_000_000, {}, ("7000",), "the invoice asks for 5,000 sat"),
        (10**15, {}, (), "100,000 sat to send"),
        (5_000_000, {}, ("--outgoing-channel", "7"), "not an open channel"),
        (5_000_000, {}, ("--last-hop", "7"), "--last-hop: must be a public key"),
    ],
)
def test_an_invoice_that_cannot_be_paid_is_refused_and_nothing_sent(
    wallet: Wallet,
    lnd: PayingNode,
    msat: int,
    changes: dict[str, str],
    words: tuple[str, ...],
    says: str,
) -> None:
    invoice = lnd.asks("lnsb1coffee", msat, **changes)
    refused = wallet("send", invoice, *words, "--yes")
    assert refused.exit_code in {2, 5}, refused.output
    assert says in refused.stderr
    assert says.startswith("--") or "nothing was sent" in refused.stderr
    assert not lnd.done("/v2/router/send")


def test_invoices_and_addresses_of_other_chains_are_refused(
    wallet: Wallet, lnd: PayingNode
) -> None:
    refused = wallet("send", "lnbc1harbour", "--yes")
    assert (refused.exit_code, refused.stderr.count("\n")) == (8, 1)
    assert "this invoice is of another network; nothing was sent" in refused.stderr
    refused = wallet("send", "bc1qharbour", "7000", "--yes")
    assert "this address is of another chain; nothing was sent" in refused.stderr
    assert not lnd.done("/v2/router/send")
    assert not lnd.transactions


def test_an_amountless_invoice_is_paid_with_what_the_payer_says(
    wallet: Wallet, lnd: PayingNode
) -> None:
    words = ("--outgoing-channel", POINT, "--last-hop", PEER, "--fee-limit", "7")
    wallet.json("send", lnd.asks("lnsb1any", 0), "700", "--yes", *words)
    (wish,) = lnd.done("/v2/router/send")
    assert wish["amt_msat"] == "700000"
    assert wish["fee_limit_msat"] == "7000"
    assert wish["outgoing_chan_ids"] == ["123456789"]
    assert len(wish["last_hop_pubkey"]) == 44


def test_a_failed_payment_says_why_and_that_the_money_is_still_there(
    wallet: Wallet, lnd: PayingNode
) -> None:
    lnd.outcome = "FAILED"
    failed = wallet("send", lnd.asks("lnsb1coffee"), "--fee-limit", "0", "--yes")
    assert failed.exit_code == 5
    assert "within the fee limit; you still have the money" in failed.stderr
    lnd.outcome = "SUCCEEDED"
    assert wallet.json("send", "lnsb1coffee", "--yes")["state"] == "succeeded"
    assert len(lnd.done("/v2/router/send")) == 2


def test_a_payment_that_hangs_is_followed_and_never_sent_again(
    wallet: Wallet, lnd: PayingNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lnd_payments, "_ANSWERS_S", 2.0)
    lnd.outcome = "hangs"
    for _ in range(2):
        hung = wallet("send", lnd.asks("lnsb1coffee"), "--timeout", "1", "--yes")
        assert hung.exit_code == 7, hung.output
        assert "the payment hangs" in hung.stderr
        assert "never pays twice" in hung.stderr
    assert len(lnd.done("/v2/router/send")) == 1


def test_a_payment_whose_end_was_not_heard_is_asked_for(
    wallet: Wallet, lnd: PayingNode
) -> None:
    lnd.outcome = "drops"
    paid = wallet.json("send", lnd.asks("lnsb1coffee"), "--yes")
    assert (paid["state"], paid["paid_before"]) == ("succeeded", False)


def test_a_node_that_locks_in_the_middle_leaves_it_unknown(
    wallet: Wallet, lnd: PayingNode
) -> None:
    lnd.outcome = "locks"
    unknown = wallet("send", lnd.asks("lnsb1coffee"), "--yes")
    assert unknown.exit_code == 7, unknown.output
    assert "whether it is paid is unknown" in unknown.stderr
    assert "nothing was sent" not in unknown.stderr
    assert "lnsb1coffee" in unknown.stderr
    again = wallet("send", "lnsb1coffee", "--yes")  # says nothing of the first
    assert again.stderr.rstrip().endswith("nothing was sent by this command")


@pytest.mark.parametrize(
    ("target", "path", "says"),
    [
        (("lnsb1coffee",), "/v2/router/send", "whether it is paid is unknown"),
        ((ADDRESS, "7000"), "/v1/transactions", "whether it was sent is unknown"),
    ],
)
def test_what_the_node_has_not_begun_after_a_lost_answer_may_still_begin(
    wallet: Wallet, lnd: PayingNode, target: tuple[str, ...], path: str, says: str
) -> None:
    lnd.asks("lnsb1coffee")
    lnd.defers = {path}
    unknown = wallet("send", *target, "--yes")
    assert unknown.exit_code == 7, unknown.output
    assert says in unknown.stderr
    assert "nothing was sent" not in unknown.stderr


def test_an_earlier_failure_is_no_answer_about_a_later_try(
    wallet: Wallet, lnd: PayingNode
) -> None:
    lnd.outcome = "FAILED"
    assert wallet("send", lnd.asks("lnsb1coffee"), "--yes").exit_code == 5
    lnd.defers = {"/v2/router/send"}
    unknown = wallet("send", "lnsb1coffee", "--yes")
    assert unknown.exit_code == 7, unknown.output
    assert "whether it is paid is unknown" in unknown.stderr
    assert "still have the money" not in unknown.stderr


@contextmanager
def lnurl_server(**answers: Any) -> Iterator[tuple[str, list[str]]]:
    """Serve one lightning address; yield its domain, and what was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            is_callback = self.path.startswith("/pay")
            content = json.dumps(answers["pay" if is_callback else "offer"]).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    domain = f"localhost:{server.server_port}"
    answers["offer"] = {
        "tag": "payRequest",
        "callback": f"http://{domain}/pay?for=alice",
        "minSendable": 1_000,
        "maxSendable": 10_000_000,
        "metadata": '[["text/plain", "coffee"]]',
        "commentAllowed": 9,
        **answers.get("offer", {}),
    }
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    try:
        yield domain, asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_lightning_address_is_paid_with_its_servers_invoice(
    wallet: Wallet, lnd: PayingNode
) -> None:
    with lnurl_server(pay={"pr": lnd.asks("lnsb1coffee")}) as (domain, asked):
        words = (f"Alice@{domain}", "5000", "--comment", "thanks", "--yes")
        assert wallet.json("send", *words)["sats"] == 5000
    assert asked[0] == "/.well-known/lnurlp/alice"
    assert parse_qs(urlsplit(asked[1]).query) == {
        "for": ["alice"],
        "amount": ["5000000"],
        "comment": ["thanks"],
    }


@pytest.mark.parametrize(
    ("answers", "sats", "says"),
    [
        ({"pay": {"pr": "lnsb1coffee"}}, "4000", "was asked for 4,000 sat, and its"),
        ({"pay": {"pr": "lnsb1any"}}, "4000", "its invoice is for 0 sat"),
        ({"pay": {"status": "ERROR", "reason": "no"}}, "4000", "localhost refused: no"),
        ({"pay": {}}, "4000", "returned no invoice"),
        ({"pay": {"pr": "../v1/channels"}}, "4000", "returned no invoice"),
        ({"offer": {"tag": "withdrawRequest"}}, "4000", "is not for payments"),
        ({"offer": {"callback": "http://harbour.test/"}}, "4000", "must use https"),
        ({"offer": {"metadata": "x"}}, "4000", "does not follow LNURL-pay"),
        ({}, "20000", "accepts from 1 to 10,000 sat"),
        ({}, "", "say how much; this address accepts from 1 to 10,000 sat"),
    ],
)
def test_a_lightning_address_that_lies_or_fails_gets_nothing(
    wallet: Wallet, lnd: PayingNode, answers: dict[str, Any], sats: str, says: str
) -> None:
    lnd.asks("lnsb1coffee")
    lnd.asks("lnsb1any", 0)
    with lnurl_server(**answers) as (domain, _):
        refused = wallet("send", f"alice@{domain}", *filter(None, [sats]), "--yes")
    assert says in refused.stderr
    assert "nothing was sent" in refused.stderr
    assert not lnd.done("/v2/router/send")


def test_an_lnurl_is_decoded() -> None:
    """With the example of LUD-01."""
    text = (
        "LNURL1DP68GURN8GHJ7UM9WFMXJCM99E3K7MF0V9CXJ0M385EKVCENXC6R2C35XVUKXEFCV5MKV"
        "V34X5EKZD3EV56NYD3HXQURZEPEXEJXXEPNXSCRVWFNV9NXZCN9XQ6XYEFHVGCXXCMYXYMNSERX"
        "FQ5FNS"
    )
    assert lnurl.url_of(text).startswith("https://service.com/api?q=3fc3645b439ce8e7f")
    with pytest.raises(Malformed, match="checksum"):
        lnurl.url_of(text[:-1] + "Q")
    assert lnurl.url_of("lnurlp://harbour.test/a") == "https://harbour.test/a"
    assert lnurl.url_of("a@harbour.test") == (
        "https://harbour.test/.well-known/lnurlp/a"
    )
    for other in ("lnsb1coffee", ADDRESS, "@harbour.test", "a@", "a@b/c"):
        assert not lnurl.url_of(other)


@pytest.mark.parametrize(
    ("target", "read"),
    [
        (f"bitcoin:{ADDRESS}", ("", ADDRESS, 0)),
        (f"BITCOIN:{ADDRESS}?amount=0.00021&label=x", ("", ADDRESS, 21_000)),
        (f"bitcoin:{ADDRESS}?amount=1.5&lightning=LNSB1X", ("LNSB1X", "", 0)),
        ("lightning://LNSB1X", ("lnsb1x", "", 0)),
        (ADDRESS, ("", ADDRESS, 0)),
        ("alice@harbour.test", ("", "", 0)),
    ],
)
def test_what_was_pasted_is_read(target: str, read: tuple[str, str, int]) -> None:
    assert read_target(target, on_chain=False) == read


@pytest.mark.parametrize(
    "target",
    [
        "",
        "../getinfo",
        "two words",
        f"bitcoin:{ADDRESS}?amount=many",
        f"bitcoin:{ADDRESS}?amount=0.000000001",
        f"bitcoin:{ADDRESS}?req-harbour=1",
        f"bitcoin:{ADDRESS}?lightning=lnsb1/../x",
    ],
)
def test_what_cannot_be_read_is_refused(target: str) -> None:
    with pytest.raises(Malformed, match="TARGET: "):
        read_target(target, on_chain=False)


def test_coins_are_sent_and_a_lost_answer_is_looked_up(
    wallet: Wallet, lnd: PayingNode
) -> None:
    words = (ADDRESS, "7000", "--sat-per-vbyte", "4", "--coin", POINT)
    sent = wallet("send", *words, given="y\n")
    assert sent.exit_code == 0, sent.output
    assert "about 564 sat (4 sat/vB)" in sent.stderr
    wish = next(each for each in lnd.done("/v1/transactions") if each)
    assert wish["amount"] == "7000"
    assert wish["sat_per_vbyte"] == "4"
    assert wish["outpoints"] == [{"txid_str": "ab" * 32, "output_index": 1}]
    lnd.drops = {"/v1/transactions"}
    lost = wallet("send", ADDRESS, "7000", "--yes")
    assert lost.exit_code == 7
    assert "whether it was sent is unknown" in lost.stderr
    assert "nothing was sent" not in lost.stderr
    refused = wallet("send", ADDRESS, "--yes")
    assert "say how much to send to an address, or --all" in refused.stderr


def test_commands_call_the_node_with_a_macaroon_for_their_calls_alone(
    typed: Typed, name: str, lnd: PayingNode
) -> None:
    with opened("") as session:
        keeping.keep_admin(session, session.node(name), MACAROON, PASSWORD)
    invoice = lnd.asks("lnsb1coffee")
    printed_json(typed("wallet", "send", name, invoice, "--yes", "--json"))
    (wish,) = lnd.done("/v1/macaroon")
    assert wish["root_key_id"] == str(wallets.COMMANDS_ROOT_KEY)
    actions = {each["action"] for each in wish["permissions"]}
    assert {each["entity"] for each in wish["permissions"]} == {"uri"}
    assert "/routerrpc.Router/SendPaymentV2" in actions
    assert "/lnrpc.Lightning/CloseChannel" not in actions
    (narrow,) = lnd.macaroons - {MACAROON}
    assert baked.parse(narrow).caveats[0].startswith("time-before")


def test_an_invoice_is_made_with_hints_if_no_channel_is_announced(
    wallet: Wallet, lnd: PayingNode
) -> None:
    made = wallet.json("receive", "5000", "--memo", "two coffees", "--both")
    (wish,) = lnd.done("/v1/invoices")
    assert wish == {
        "memo": "two coffees",
        "expiry": "86400",
        "private": True,
        "value": "5000",
    }
    assert made["route_hints"] == 1
    uri = "bitcoin:sb1pharbour?amount=0.00005000&lightning=lnsb1own"
    assert made["uri"] == uri
    lnd.answers["/v1/channels"] = {"channels": [channel(private=False)]}
    announced = wallet("receive", "95000")
    assert lnd.done("/v1/invoices")[1]["private"] is False
    assert "can receive at most 90,000 sat" in announced.stderr
    assert "▄" in announced.stderr  # a QR code
    lnd.answers["/v1/channels"] = {"channels": [channel(active=False)]}
    assert "no active channel" in wallet("receive").stderr
    assert wallet.json("receive", "--on-chain")["uri"] == "bitcoin:sb1pharbour"
    assert wallet("receive", "0").exit_code == 2


def test_receive_waits_until_it_is_paid(wallet: Wallet, lnd: PayingNode) -> None:
    path = f"/v1/invoice/{'5a' * 32}"
    lnd.answers[path] = {"state": "SETTLED", "amt_paid_sat": "5000"}
    waited = wallet("receive", "5000", "--wait", "--json")
    first, last = map(json.loads, waited.stdout.splitlines())
    assert first["invoice"] == "lnsb1own"
    assert last == {**first, "paid_sats": 5000}
    lnd.answers[path] = {"state": "CANCELED"}
    assert wallet("receive", "5000", "--wait").exit_code == 7
    unpaid = wallet("receive", "5000", "--wait", "--json")
    assert (json.loads(unpaid.stdout), unpaid.exit_code) == (first, 7)


def test_payments_are_one_list_of_what_came_and_went(
    wallet: Wallet, lnd: PayingNode
) -> None:
    lnd.answers |= {
        "/v1/invoices": {
            "invoices": [
                {
                    "state": "SETTLED",
                    "settle_date": "1790000002",
                    "creation_date": "1790000000",
                    "amt_paid_sat": "5000",
                    "value": "5000",
                    "memo": '=HYPERLINK("x")',
                    "payment_request": "lnsb1own",
                }
            ]
        },
        "/v1/payments": {
            "payments": [
                {
                    "status": "FAILED",
                    "failure_reason": "FAILURE_REASON_NO_ROUTE",
                    "creation_time_ns": "1790000001000000000",
                    "value_sat": "700",
                    "fee_msat": "0",
                    "payment_hash": "5a" * 32,
                }
            ]
        },
        "/v1/switch": {
            "forwarding_events": [
                {
                    "timestamp_ns": "1790000003000000000",
                    "amt_out": "900",
                    "fee_msat": "1000",
                    "chan_id_in": "1",
                    "chan_id_out": "2",
                }
            ],
            "last_offset_index": 1,
        },
    }
    rows = wallet.json("payments", "--days", "36500")["payments"]
    assert [(each["kind"], each["state"], each["sats"]) for each in rows] == [
        ("forward", "earned", 900),
        ("invoice", "received", 5000),
        ("payment", "failed", -700),
    ]
    assert "no route" in rows[2]["memo"]
    text = wallet("payments", "--days", "36500", "--csv").stdout
    table = list(csv.DictReader(io.StringIO(text)))
    assert [each["fee_sats"] for each in table] == ["-1.0", "0.0", "0.0"]
    assert table[1]["memo"].startswith("'=")
    words = ("--kind", "payment", "--state", "in flight")
    assert wallet.json("payments", *words)["payments"] == []


def test_a_channel_is_opened_and_a_lost_answer_is_looked_up(
    wallet: Wallet, lnd: PayingNode
) -> None:
    lnd.answers["/v1/channels"] |= {"funding_txid_str": "ab" * 32, "output_index": 1}
    words = (f"{PEER}@127.0.0.1:9735", "200000", "--private", "--yes")
    assert wallet.json("open", *words)["channel_point"] == POINT
    (peer,) = lnd.done("/v1/peers")
    assert peer["addr"] == {"pubkey": PEER, "host": "127.0.0.1:9735"}
    wish = next(each for each in lnd.done("/v1/channels") if each)
    assert (wish["local_funding_amount"], wish["private"]) == ("200000", True)
    lnd.drops = {"/v1/channels"}
    lost = wallet("open", PEER, "200000", "--yes")
    assert lost.exit_code == 7, lost.output
    assert "whether the channel is opening is unknown" in lost.stderr
    assert wallet("open", "harbour", "200000", "--yes").exit_code == 2


def test_closing_a_channel_says_first_what_it_costs(
    wallet: Wallet, lnd: PayingNode
) -> None:
    declined = wallet("close", POINT, "--force", given="n\n")
    assert declined.exit_code == 1
    for words in ("100,000 sat", "288 blocks (2.0 days)", "2,810 sat", "90,000 sat"):
        assert words in declined.stderr
    at = f"/v1/channels/{'ab' * 32}/1"
    assert not lnd.done(at)
    txid = "zc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc3Nzc0="
    lnd.answers[at] = {"result": {"close_pending": {"txid": txid}}}
    closed = wallet.json("close", POINT, "--sat-per-vbyte", "3", "--yes")
    assert closed["closing_txid"] == "cd" * 32
    method, path, _ = lnd.asked[-1]
    assert (method, path) == ("DELETE", f"{at}?force=false&sat_per_vbyte=3")
    lnd.drops = {at}
    lost = wallet("close", POINT, "--yes")
    assert (lost.exit_code, "closing is unknown" in lost.stderr) == (7, True)
    lnd.answers["/v1/channels"] = {"channels": [channel(active=False)]}
    away = wallet("close", POINT, "--yes")
    assert (away.exit_code, "close with --force" in away.stderr) == (5, True)
    assert wallet("close", f"{'cd' * 32}:0", "--yes").exit_code == 5
    assert wallet("close", "../x", "--yes").exit_code == 2


def test_fees_are_listed_and_set(wallet: Wallet, lnd: PayingNode) -> None:
    other = f"{'cd' * 32}:0"
    fee = {"base_fee_msat": "1000", "fee_per_mil": "1"}
    lnd.answers["/v1/fees"] = {
        "channel_fees": [
            {"channel_point": POINT, "chan_id": "42", **fee},
            {"channel_point": other, "chan_id": "43", **fee},
        ],
        "day_fee_sum": "7",
    }
    listed = wallet.json("fees")
    assert listed["earned_day_sats"] == 7
    assert listed["channels"] == [
        {"channel_point": point, "base_fee_msat": 1000, "fee_rate_ppm": 1}
        for point in (POINT, other)
    ]
    lnd.answers["/v1/getinfo"] = {"identity_pubkey": "02aa"}
    for id_, own, peers in (("42", 1, 2), ("43", 2, 1)):
        lnd.answers[f"/v1/graph/edge/{id_}"] = {
            f"node{own}_pub": "02aa",
            f"node{own}_policy": {"time_lock_delta": int(id_)},
            f"node{peers}_pub": "03bb",
            f"node{peers}_policy": {"time_lock_delta": 144},
        }
    both = ("--base-fee-msat", "0", "--fee-rate-ppm", "250")
    wallet.json("fees", POINT, *both)
    wallet.json("fees", "--all", *both)
    wallet.json("fees", POINT, *both, "--time-lock-delta", "80")
    fees = {"base_fee_msat": "0", "fee_rate_ppm": 250}
    first = {"funding_txid_str": "ab" * 32, "output_index": 1}
    second = {"funding_txid_str": "cd" * 32, "output_index": 0}
    assert lnd.done("/v1/chanpolicy") == [
        {"chan_point": first, **fees, "time_lock_delta": 42},
        {"chan_point": first, **fees, "time_lock_delta": 42},
        {"chan_point": second, **fees, "time_lock_delta": 43},
        {"chan_point": first, **fees, "time_lock_delta": 80},
    ]
    for words in (both, (POINT, "--fee-rate-ppm", "2"), (POINT, "--all", *both)):
        assert wallet("fees", *words).exit_code == 2
    lnd.answers["/v1/chanpolicy"] = {"failed_updates": [{"update_error": "no"}]}
    assert "has the new fees: no" in wallet("fees", "--all", *both).stderr
    done = len(lnd.done("/v1/chanpolicy"))
    unknown = wallet("fees", f"{'ef' * 32}:0", *both)
    assert "is not an open channel" in unknown.stderr
    assert len(lnd.done("/v1/chanpolicy")) == done


def test_a_stuck_transaction_is_bumped_by_its_change(
    wallet: Wallet, lnd: PayingNode
) -> None:
    ours = {"output_index": "1", "is_our_address": True}
    details = [{"output_index": "0"}, ours]
    lnd.transactions = [
        {"tx_hash": "ab" * 32, "num_confirmations": 0, "output_details": details}
    ]
    words = ("--sat-per-vbyte", "20", "--yes")
    bumped = wallet.json("bump", "ab" * 32, *words)
    assert bumped["spent_output"] == POINT
    (wish,) = lnd.done("/v2/wallet/bumpfee")
    assert bumped["fee_sats"] == 2_220
    # Without a budget, lnd would go on until half of the output is gone.
    assert (wish["budget"], wish["deadline_delta"], wish["immediate"]) == (
        *("2220", 1),
        True,
    )
    lnd.drops = {"/v2/wallet/bumpfee"}
    lost = wallet("bump", "ab" * 32, *words)
    assert (lost.exit_code, "safe to repeat" in lost.stderr) == (7, True)
    lnd.transactions[0]["num_confirmations"] = 1
    assert wallet("bump", "ab" * 32, *words).exit_code == 5
    assert wallet("bump", "cd" * 32, *words).exit_code == 5


OTHER_PEER = f"03{'cd' * 32}"
OTHER_POINT = f"{'ef' * 32}:0"


def test_balance_moves_from_one_channel_to_another_within_a_fee_limit(
    wallet: Wallet, lnd: PayingNode
) -> None:
    other = channel(channel_point=OTHER_POINT, chan_id="7", remote_pubkey=OTHER_PEER)
    lnd.answers["/v1/channels"] = {"channels": [channel(), other]}
    words = (POINT, OTHER_POINT, "5000", "--fee-limit", "7")
    declined = wallet("rebalance", *words, given="n\n")
    assert "Move 5,000 sat, for at most 7 sat of fees?" in declined.stderr
    moved = wallet.json("rebalance", *words, "--yes")
    assert (moved["sats"], moved["fee_sats"]) == (5000, 1.5)
    (wish,) = lnd.done("/v2/router/send")
    assert wish["allow_self_payment"] is True
    assert wish["fee_limit_msat"] == "7000"
    assert wish["outgoing_chan_ids"] == ["123456789"]
    assert (
        wish["last_hop_pubkey"] == base64.b64encode(bytes.fromhex(OTHER_PEER)).decode()
    )
    for outcome, code, says in (
        ("FAILED", 5, "nothing was moved, and no fee paid"),
        ("loses", 7, "whether it was moved is not known yet"),
        ("locks", 7, "whether it was moved is not known yet"),
    ):
        lnd.outcome = outcome
        refused = wallet("rebalance", *words, "--yes")
        assert (refused.exit_code, says in refused.stderr) == (code, True)


def test_balance_that_cannot_move_stays(wallet: Wallet, lnd: PayingNode) -> None:
    for changes, sats, says in (
        ({"remote_pubkey": PEER}, "5000", "same peer; choose one with another"),
        ({"active": False}, "5000", "TO: its peer is not connected; try again"),
        ({"remote_balance": "10"}, "5000", "TO: has 10 sat to move"),
        ({}, "100001", "FROM: has 100,000 sat to move"),
    ):
        other = {"channel_point": OTHER_POINT, "remote_pubkey": OTHER_PEER, **changes}
        lnd.answers["/v1/channels"] = {"channels": [channel(), channel(**other)]}
        words = (POINT, OTHER_POINT, sats, "--fee-limit", "7", "--yes")
        refused = wallet("rebalance", *words)
        assert (refused.exit_code, says in refused.stderr) == (5, True), says
    assert not lnd.done("/v2/router/send")


def test_peers_and_coins_are_listed_and_peers_change(
    wallet: Wallet, lnd: PayingNode
) -> None:
    lnd.answers["/v1/peers"] = {
        "peers": [{"pub_key": PEER, "address": "192.0.2.9:9735", "ping_time": "21000"}]
    }
    assert wallet.json("peers")["peers"] == [
        {"peer": PEER, "address": "192.0.2.9:9735", "inbound": False, "ping_ms": 21}
    ]
    assert wallet.json("connect", f"{PEER}@192.0.2.9:9735")["connected"]
    assert lnd.done("/v1/peers")[-1]["addr"]["host"] == "192.0.2.9:9735"
    assert not wallet.json("disconnect", PEER)["connected"]
    assert lnd.asked[-1][:2] == ("DELETE", f"/v1/peers/{PEER}")
    assert wallet("connect", PEER).exit_code == 2
    small = {"outpoint": {"txid_str": "ab" * 32, "output_index": 1}, "amount_sat": "7"}
    large = {"outpoint": {"txid_str": "cd" * 32}, "amount_sat": "9"}
    for each in (small, large):
        each["address"] = ADDRESS
    lnd.answers["/v1/utxos"] = {"utxos": [small, large]}
    assert [each["coin"] for each in wallet.json("coins")["coins"]] == [
        f"{'cd' * 32}:0",
        POINT,
    ]


def test_channels_have_the_alias_and_uptime_of_their_peer(
    wallet: Wallet, lnd: PayingNode
) -> None:
    known = channel(peer_alias="pier", lifetime="864000", uptime="777600")
    lost = channel(peer_alias="unable to lookup peer alias: not found")
    lnd.answers["/v1/channels"] = {"channels": [known, lost]}
    rows = wallet.json("channels")["channels"]
    assert [(each["alias"], each["uptime_percent"]) for each in rows] == [
        ("pier", 90),
        ("", None),
    ]
    assert rows[0]["lease_ends_block"] is None
