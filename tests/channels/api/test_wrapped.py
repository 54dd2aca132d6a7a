"""Wrapped invoices over HTTP: the requests of ZEUS, Mutiny and BTCPay, and garbage."""

import asyncio
import json
import secrets
from datetime import timedelta
from typing import Any

import pytest

from leyden.app.endpoints import OPERATIONS
from leyden.app.serving.api import Api
from leyden.app.serving.public import Public
from leyden.base.platform import Platform
from leyden.channels.direct.api.wrapped import WrappedOverHttp
from leyden.channels.direct.base import Purse
from leyden.channels.direct.jit import proposals
from leyden.channels.direct.rules.jit import JitStatus
from leyden.channels.direct.rules.wrapped import InnerPayment, PaidState
from leyden.channels.rules.payments import InvoiceState
from leyden.channels.services import JitSettings
from leyden.values import replace
from tests.base.api.conftest import Answer, Caller
from tests.channels.api.flow.conftest import World, platform, world  # noqa: F401  fixtures
from tests.channels.wrapped_harness import FEE, INNER
from tests.fakes.forwarding import FakeForwarding
from tests.fakes.messages import FakeMessages
from tests.fakes.seller import FakeSeller
from tests.fakes.wrapping import FakeWrapping

PURSE = f"02{'f9308a01' * 8}"
PEER = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
OTHER = f"02{'c6047f94' * 8}"
SIZE = 100_000_000


class Sold:
    """What wallets call, and what is behind it."""

    def __init__(self, platform: Platform, world: World) -> None:  # noqa: F811
        self.world = world
        self.purse = FakeSeller(pubkey=PURSE)
        self.purse.fill([3_000_000] * 20)
        self.purse.online |= {PEER, OTHER}
        forwarding = FakeForwarding(self.purse)
        self.wrapping = FakeWrapping(self.purse, forwarding, clock=lambda: world.now[0])
        self.rows = world.channels.database.reader
        self.channels = replace(
            world.channels,
            purse=Purse(
                seller=self.purse,
                messages=FakeMessages(),
                forwarding=forwarding,
                wrapping=self.wrapping,
            ),
            rules=replace(
                world.channels.rules,
                jit=JitSettings(wraps_invoices=True, messages_per_minute=10_000),
            ),
        )
        application = WrappedOverHttp(self.channels)
        public = Public(
            platform, Api(platform, OPERATIONS), version="1", wrapped=application
        )
        self.caller = Caller(public, None, "")  # type: ignore[arg-type]

    async def post(self, what: str, body: object) -> Answer:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.caller.call("POST", f"/api/v1/{what}", raw)

    async def fee(self, amount: int = SIZE, pubkey: str = PEER) -> dict[str, Any]:
        answer = await self.post("fee", {"amount_msat": amount, "pubkey": pubkey})
        assert answer.status == 200, answer.body
        found: dict[str, Any] = answer.json()
        return found

    async def refused(self, what: str, body: object) -> tuple[int, str]:
        answer = await self.post(what, body)
        said = answer.json()
        assert set(said) == {"error", "message"}
        return answer.status, said["message"]

    async def sold(self) -> int:
        return len(await self.rows.jit_orders.in_states([JitStatus.SOLD]))


@pytest.fixture
def sold(platform: Platform, world: World) -> Sold:  # noqa: F811
    return Sold(platform, world)


async def test_where_to_connect_is_told_to_anybody(sold: Sold) -> None:
    answer = await sold.caller.get("/api/v1/info")
    assert answer.json() == {
        "connection_methods": [
            {"address": "seller.example", "port": 9735, "type": "dns"}
        ],
        "pubkey": PURSE,
    }
    head = await sold.caller.call("HEAD", "/api/v1/info")
    assert (head.status, head.body) == (200, b"")


@pytest.mark.parametrize("taproot", [False, True], ids=["", "taproot"])
async def test_zeus_has_its_invoice_wrapped(sold: Sold, *, taproot: bool) -> None:
    """As its LSPStore and InvoicesStore do it, step by step."""
    sold.caller.headers.append(("x-auth-token", "an access key"))  # of other services
    info = (await sold.caller.get("/api/v1/info")).json()
    method = info["connection_methods"][0]
    assert f"{method['address']}:{method['port']}" == "seller.example:9735"
    value = 100_000
    data = await sold.fee(value * 1_000)
    zero_conf_fee = int(data["fee_amount_msat"] / 1_000)
    inner = sold.wrapping.invoice(PEER, (value - zero_conf_fee) * 1_000)
    body = {"bolt11": inner.request, "fee_id": data["id"], "simpleTaproot": taproot}
    answer = await sold.post("proposal", body)
    assert answer.status == 200
    held = sold.wrapping.held[inner.payment_hash]
    assert answer.json() == {"jit_bolt11": held.invoice.request}
    # What it verifies of the wrapped invoice: the hash, and the amount.
    assert held.asked_msat == value * 1_000 == inner.msat + data["fee_amount_msat"]


@pytest.mark.parametrize("more", [{}, {"host": None, "port": None}, {"port": 9735}])
async def test_mutiny_and_btcpay_have_theirs_wrapped(
    sold: Sold, more: dict[str, Any]
) -> None:
    data = await sold.fee()
    assert data["amount_msat"] == data["fee_amount_msat"] == FEE  # BTCPay reads this
    inner = sold.wrapping.invoice(PEER, INNER)
    body = {"bolt11": inner.request.upper(), "fee_id": data["id"], **more}
    assert (await sold.post("proposal", body)).status == 200


async def test_without_a_fee_id_the_fee_of_now_is_added(sold: Sold) -> None:
    """As ZEUS did before it had them."""
    inner = sold.wrapping.invoice(PEER, INNER)
    body = {"bolt11": inner.request, "simpleTaproot": False}
    assert (await sold.post("proposal", body)).status == 200
    assert sold.wrapping.held[inner.payment_hash].asked_msat == INNER + FEE


async def test_the_same_proposal_gets_the_same_invoice_and_one_order(
    sold: Sold,
) -> None:
    fee = await sold.fee()
    inner = sold.wrapping.invoice(PEER, INNER)
    body = {"bolt11": inner.request, "fee_id": fee["id"]}
    answers = await asyncio.gather(*(sold.post("proposal", body) for _ in range(5)))
    answers.append(await sold.post("proposal", body))
    wrapped = sold.wrapping.held[inner.payment_hash].invoice.request
    for each in answers:
        assert each.status in {200, 409}, each.body
        if each.status == 200:
            assert each.json() == {"jit_bolt11": wrapped}
    assert answers[-1].status == 200
    assert await sold.sold() == len(sold.wrapping.held) == 1


async def test_a_proposal_whose_answer_was_lost_is_sent_again(sold: Sold) -> None:
    fee = await sold.fee()
    inner = sold.wrapping.invoice(PEER, INNER)
    body = {"bolt11": inner.request, "fee_id": fee["id"]}
    sold.wrapping.loses = "hold"
    assert (await sold.post("proposal", body)).status == 503
    assert (await sold.post("proposal", body)).status == 200
    assert await sold.sold() == 1


async def test_two_invoices_with_one_hash_are_wrapped_once(sold: Sold) -> None:
    preimage = secrets.token_hex(32)
    for peer, status in ((PEER, 200), (OTHER, 409), (PEER, 409)):
        fee = await sold.fee(pubkey=peer)
        inner = sold.wrapping.invoice(peer, INNER, preimage=preimage)
        body = {"bolt11": inner.request, "fee_id": fee["id"]}
        assert (await sold.post("proposal", body)).status == status
    assert await sold.sold() == len(sold.wrapping.held) == 1


async def test_two_invoices_with_one_hash_at_once_are_wrapped_once(sold: Sold) -> None:
    """Both are looked for, and neither is found, before either is stored."""
    preimage = secrets.token_hex(32)
    bodies = []
    for peer in (PEER, OTHER):
        fee = await sold.fee(pubkey=peer)
        inner = sold.wrapping.invoice(peer, INNER, preimage=preimage)
        bodies.append({"bolt11": inner.request, "fee_id": fee["id"]})
    answers = await asyncio.gather(*(sold.post("proposal", each) for each in bodies))
    assert sorted(each.status for each in answers) == [200, 409]
    assert await sold.sold() == len(sold.wrapping.held) == 1


async def test_an_invoice_that_was_used_before_is_refused(sold: Sold) -> None:
    fee = await sold.fee()
    inner = sold.wrapping.invoice(PEER, INNER)
    body = {"bolt11": inner.request, "fee_id": fee["id"]}
    sold.wrapping.paid[inner.payment_hash] = InnerPayment(
        state=PaidState.SUCCEEDED, preimage="00" * 32
    )
    status, why = await sold.refused("proposal", body)
    assert (status, "was used before" in why) == (409, True)
    del sold.wrapping.paid[inner.payment_hash]
    assert (await sold.post("proposal", body)).status == 200
    held = sold.wrapping.held[inner.payment_hash]
    held.invoice = replace(held.invoice, state=InvoiceState.CANCELLED)
    (order,) = await sold.rows.jit_orders.in_states([JitStatus.SOLD])
    turned_back = replace(order, payment_hash=inner.payment_hash)
    async with sold.world.channels.database.transaction() as tx:
        await tx.jit_orders.save(order, turned_back)
    assert (await sold.post("proposal", body)).status == 409
    async with sold.world.channels.database.transaction() as tx:
        await tx.jit_orders.save(order, replace(order, status=JitStatus.EXPIRED))
    assert (await sold.post("proposal", body)).status == 409


async def test_a_fee_is_promised_to_one_node_for_one_amount_and_a_time(
    sold: Sold,
) -> None:
    fee = await sold.fee()
    inner = sold.wrapping.invoice(OTHER, INNER)
    assert await sold.refused(
        "proposal", {"bolt11": inner.request, "fee_id": fee["id"]}
    ) == (
        400,
        "fee_id: was not promised to the node of this invoice; ask for its fee",
    )
    large = sold.wrapping.invoice(PEER, SIZE + 1)
    assert await sold.refused(
        "proposal", {"bolt11": large.request, "fee_id": fee["id"]}
    ) == (
        400,
        "bolt11: its amount is more than 100,000,000 msat, which the fee was asked for",
    )
    cheap = fee["id"].replace(str(FEE), "1000")
    mine = sold.wrapping.invoice(PEER, INNER)
    status, why = await sold.refused(
        "proposal", {"bolt11": mine.request, "fee_id": cheap}
    )
    assert (status, "was not promised" in why) == (400, True)
    wrongs: tuple[object, ...] = (7, "", "x" * 100, {})
    for wrong in wrongs:
        status, why = await sold.refused(
            "proposal", {"bolt11": mine.request, "fee_id": wrong}
        )
        assert (status, "is not one of ours" in why) == (400, True)
    sold.world.later(minutes=10)
    assert await sold.refused(
        "proposal", {"bolt11": mine.request, "fee_id": fee["id"]}
    ) == (400, "fee_id: has expired; ask for the fee again")
    assert await sold.sold() == 0


async def test_invoices_that_cant_be_wrapped_are_refused(sold: Sold) -> None:
    invoice = sold.wrapping.invoice
    for inner, status, why in (
        (invoice(PEER, 0), 400, "has no amount"),
        (invoice(PURSE, INNER), 400, "of the node that wraps it"),
        (invoice(PEER, INNER, lives=timedelta(minutes=3)), 400, "has expired"),
        (invoice(PEER, INNER, lives=timedelta(0)), 400, "has expired"),
        (invoice(PEER, INNER, delta=161), 400, "its time lock"),
        (invoice(PEER, INNER, amp=True), 400, "is an AMP invoice"),
        (invoice(PEER, 16_000_000), 400, "below the minimum"),
        (invoice(PEER, 10**9 + 1), 400, "beyond the maximum"),
        (invoice(PEER, 2**63), 400, "beyond the maximum"),
        (invoice(f"03{'ab' * 32}", INNER), 409, f"connect your node to {PURSE}@"),
    ):
        found = await sold.refused("proposal", {"bolt11": inner.request})
        assert (found[0], why in found[1]) == (status, True), found
    for request, why in (
        ("lnbc1x", "not for current active network"),
        ("lnbcrt1unknown", "invalid checksum"),
        ("not an invoice", "is not a BOLT 11 invoice"),
        ("lnbcrt1" + "x" * 5_000, "must be an invoice"),
        (None, "must be an invoice"),
        (7, "must be an invoice"),
    ):
        found = await sold.refused("proposal", {"bolt11": request})
        assert (found[0], why in found[1]) == (400, True), found
    assert await sold.sold() == 0
    assert sold.wrapping.held == {}


async def test_a_fee_for_another_amount_leads_beyond_no_limit(sold: Sold) -> None:
    fee, largest = await sold.fee(), await sold.fee(10**9)
    for msat, promise, why in (
        (1_000, fee["id"], "below the minimum of 20,000 sat"),
        (10**9, largest["id"], "beyond the maximum of 1,000,000 sat"),
    ):
        inner = sold.wrapping.invoice(PEER, msat)
        body = {"bolt11": inner.request, "fee_id": promise}
        found = await sold.refused("proposal", body)
        assert (found[0], why in found[1]) == (400, True), found
    assert await sold.sold() == 0


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"pubkey": PEER}, "amount_msat"),
        ({"amount_msat": "7", "pubkey": PEER}, "amount_msat"),
        ({"amount_msat": 2**64, "pubkey": PEER}, "amount_msat"),
        ({"amount_msat": SIZE}, "pubkey"),
        ({"amount_msat": SIZE, "pubkey": "02ab"}, "pubkey"),
        ({"amount_msat": 1, "pubkey": PEER}, "below the minimum"),
        ({"amount_msat": 10**9 + 1, "pubkey": PEER}, "beyond the maximum"),
        ({"amount_msat": 2**63 - 1, "pubkey": PEER}, "beyond the maximum"),
        (b"", "JSON object"),
        (b"[]", "JSON object"),
        (b"\xff", "JSON object"),
        (b"[" * 8_000, "JSON object"),
    ],
)
async def test_a_fee_that_cant_be_told_says_why(
    sold: Sold, body: object, why: str
) -> None:
    status, said = await sold.refused("fee", body)
    assert (status, why in said) == (400, True), said


async def test_other_methods_paths_and_long_bodies_are_refused(sold: Sold) -> None:
    get = await sold.caller.get("/api/v1/fee")
    assert (get.status, get.headers["allow"]) == (405, "POST")
    assert (await sold.post("info", {})).status == 405
    assert (await sold.post("nothing", {})).status == 404
    assert (await sold.post("proposal", b" " * 9_000)).status == 413


async def test_the_purse_may_be_away_or_poor(sold: Sold) -> None:
    sold.purse.away = True
    assert (await sold.caller.get("/api/v1/info")).status == 503
    inner = sold.wrapping.invoice(PEER, INNER)
    assert (await sold.refused("proposal", {"bolt11": inner.request}))[0] == 503
    sold.purse.away = False
    sold.purse.coins.clear()
    status, why = await sold.refused("proposal", {"bolt11": inner.request})
    assert (status, "sold out" in why) == (503, True)
    sold.purse.fill([3_000_000])
    sold.purse.peer_features = frozenset()
    status, why = await sold.refused("proposal", {"bolt11": inner.request})
    assert (status, "protocol.zero-conf" in why) == (409, True)


async def test_invoices_are_limited_by_node_by_address_and_in_all(
    sold: Sold, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "MOST_OF_ADDRESS", 7)
    monkeypatch.setattr(proposals, "MOST_OPEN", 8)

    async def propose(peer: str) -> int:
        inner = sold.wrapping.invoice(peer, INNER)
        return (await sold.post("proposal", {"bolt11": inner.request})).status

    assert [await propose(PEER) for _ in range(6)] == [200] * 5 + [400]
    assert [await propose(OTHER) for _ in range(3)] == [200, 200, 429]
    sold.caller.address = "192.0.2.7"
    assert [await propose(OTHER) for _ in range(2)] == [200, 429]
    assert len(sold.wrapping.held) == 8


async def test_a_node_that_can_receive_it_pays_nothing_and_keeps_its_invoice(
    sold: Sold,
) -> None:
    sold.wrapping.free_msat[PEER] = SIZE
    fee = await sold.fee()
    assert (fee["amount_msat"], fee["fee_amount_msat"]) == (0, 0)
    assert (await sold.fee(SIZE + 1))["fee_amount_msat"] > 0
    hinted = sold.wrapping.invoice(PEER, SIZE, hints=frozenset({PURSE}))
    for body in ({"fee_id": fee["id"]}, {}):
        answer = await sold.post("proposal", {"bolt11": hinted.request, **body})
        assert answer.json() == {"jit_bolt11": hinted.request}
    hidden = sold.wrapping.invoice(PEER, SIZE)
    status, why = await sold.refused(
        "proposal", {"bolt11": hidden.request, "fee_id": fee["id"]}
    )
    assert (status, "route hints" in why) == (400, True)
    assert await sold.sold() == 0


async def test_there_is_nothing_without_the_setting(
    platform: Platform,  # noqa: F811
) -> None:
    public = Public(platform, Api(platform, OPERATIONS), version="1")
    caller = Caller(public, None, "")  # type: ignore[arg-type]
    assert (await caller.get("/api/v1/info")).status in {401, 404}
