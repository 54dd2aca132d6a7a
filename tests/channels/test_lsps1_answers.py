"""What clients of LSPS1 are shown of an order, field by field and state by state."""

import json
from datetime import timedelta
from typing import Any

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.direct.lsps1 import answers, rpc
from leyden.channels.direct.lsps1.rpc import LONGEST, Rpc
from leyden.channels.direct.lsps1.server import Lsps1
from leyden.channels.direct.rows.lsps1_orders import Lsps1Order
from leyden.channels.direct.rules import lsps1
from leyden.channels.direct.rules.lsps1 import Transport
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.payments import InvoiceState, PaymentRequest
from leyden.errors import MarketAway, NotAllowed, SellerAway, SoldOut
from leyden.values import replace
from tests.channels.orders_harness import OrdersHarness, request_of
from tests.channels.test_lsps1 import (
    LDK_ID,
    PEER,
    PRICE,
    WANTED,
    ZEUS_ID,
    call_lsps1,
    direct,
    ordered,
    over_bolt8,
)
from tests.fakes.payments import FakePayments

__all__ = ["direct"]  # the fixture: a seller with many coins, and no limit but LSPS1's


async def shown(harness: OrdersHarness, order: Order, **of: Any) -> dict[str, Any]:
    sold = Lsps1(harness.channels)
    return await sold.show(*await sold.get(order.id, over_bolt8()), **of)


async def test_an_order_is_shown_whole_and_then_its_channel(
    direct: OrdersHarness,
) -> None:
    order = await ordered(
        direct,
        required_channel_confirmations=3,
        funding_confirms_within_blocks=9,
        announce_channel=True,
        token=None,
    )
    bolt11 = {
        "state": "EXPECT_PAYMENT",
        "expires_at": "2026-03-01T12:20:00.000Z",
        "fee_total_sat": str(PRICE),
        "order_total_sat": str(PRICE),
        "invoice": order.lightning_invoice,
    }
    unpaid = {
        "order_id": order.id,
        "lsp_balance_sat": "1000000",
        "client_balance_sat": "0",
        "required_channel_confirmations": 3,
        "funding_confirms_within_blocks": 9,
        "channel_expiry_blocks": 4_380,
        "token": None,
        "announce_channel": True,
        "created_at": "2026-03-01T12:00:00.000Z",
        "order_state": "CREATED",
        "payment": {"bolt11": bolt11},
        "channel": None,
    }
    assert await shown(direct, order) == unpaid
    direct.now += timedelta(minutes=1)
    direct.payments.pay(request_of(order))
    await direct.settle_down()
    (opened,) = direct.seller.opened_for(order.id)
    assert await shown(direct, order) == {
        **unpaid,
        "order_state": "COMPLETED",
        "payment": {"bolt11": {**bolt11, "state": "PAID"}},
        "channel": {
            "funded_at": "2026-03-01T12:01:00.000Z",
            "funding_outpoint": opened.point,
            "expires_at": "2026-03-31T22:01:00.000Z",  # 4,380 blocks: 30 days 10 hours
        },
    }


@pytest.mark.parametrize(
    ("status", "invoice", "order_state", "payment"),
    [
        (OrderStatus.WAITING_PAYMENT, InvoiceState.OPEN, "CREATED", "EXPECT_PAYMENT"),
        (OrderStatus.WAITING_PAYMENT, None, "CREATED", "EXPECT_PAYMENT"),
        (OrderStatus.WAITING_PAYMENT, InvoiceState.ACCEPTED, "CREATED", "HOLD"),
        (OrderStatus.CREATING, InvoiceState.ACCEPTED, "CREATED", "HOLD"),
        (OrderStatus.CREATED, InvoiceState.ACCEPTED, "CREATED", "HOLD"),
        (OrderStatus.SUBMITTED, InvoiceState.ACCEPTED, "CREATED", "HOLD"),
        (OrderStatus.SUBMITTED, InvoiceState.SETTLED, "CREATED", "PAID"),
        (OrderStatus.EXPIRED, InvoiceState.OPEN, "FAILED", "REFUNDED"),
        (OrderStatus.EXPIRED, None, "FAILED", "REFUNDED"),
        (OrderStatus.EXPIRED, InvoiceState.CANCELLED, "FAILED", "REFUNDED"),
        (OrderStatus.FAILED, InvoiceState.CANCELLED, "FAILED", "REFUNDED"),
        (OrderStatus.FAILED, InvoiceState.SETTLED, "FAILED", "PAID"),
        (OrderStatus.CANCELLED, InvoiceState.CANCELLED, "FAILED", "REFUNDED"),
    ],
)
async def test_each_state_has_a_word_of_the_specification(
    direct: OrdersHarness,
    status: OrderStatus,
    invoice: InvoiceState | None,
    order_state: str,
    payment: str,
) -> None:
    order = (await ordered(direct)).with_changes(status=status, invoice=invoice)
    lsps1_order = Lsps1Order(
        order_id=order.id,
        source=Transport.BOLT8,
        address="",
        confirmations=1,
        within_blocks=6,
        token=None,
    )
    for hides, state in (
        (False, payment),
        (True, "EXPECT_PAYMENT" if payment == "HOLD" else payment),
    ):
        found = await answers.show(
            direct.database.reader, order, lsps1_order, hides_hold=hides
        )
        assert found["announce_channel"] is False
        assert found["order_state"] == order_state
        assert found["payment"]["bolt11"]["state"] == state
    plain = await answers.show(direct.database.reader, order, lsps1_order)
    assert plain["payment"]["bolt11"]["state"] == payment


# Refusals, whole.


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (lsps1.not_found(), (101, "Not found", {"message": "there is no such order"})),
        (NotAllowed("no"), (1, "Client rejected", {"message": "no"})),
        (SoldOut("none left"), (1, "Client rejected", {"message": "none left"})),
        (SellerAway("later"), (-32603, "Internal error", {"message": "later"})),
        (MarketAway("later"), (-32603, "Internal error", {"message": "later"})),
    ],
)
def test_an_error_is_told_with_the_code_of_the_specification(
    error: Exception, answer: tuple[int, str, dict[str, Any]]
) -> None:
    fault = rpc.fault_of(error)  # type: ignore[arg-type]
    assert (fault.code, str(fault), fault.data) == answer


async def test_a_refusal_has_its_data_or_for_ldk_its_message(
    direct: OrdersHarness,
) -> None:
    order_id = "00000000-0000-4000-8000-000000000021FO"
    answer = await call_lsps1(direct, "lsps1.get_order", order_id=order_id)
    assert answer == {
        "jsonrpc": "2.0",
        "id": ZEUS_ID,
        "error": {
            "code": 101,
            "message": "Not found",
            "data": {"message": "there is no such order"},
        },
    }
    answer = await call_lsps1(direct, "lsps1.get_order", id_=LDK_ID, order_id=order_id)
    assert answer["error"] == {
        "code": 101,
        "message": "Not found: there is no such order",
    }
    for id_ in (ZEUS_ID, LDK_ID):
        answer = await call_lsps1(direct, "lsps2.get_info", id_=id_)
        assert answer["error"] == {"code": -32601, "message": "Method not found"}


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        (b"{nope", {"code": -32700, "message": "Parse error"}),
        (b"[]", {"code": -32600, "message": "Invalid request"}),
    ],
)
async def test_garbage_is_refused_with_an_id_that_is_none(
    direct: OrdersHarness, raw: bytes, error: dict[str, Any]
) -> None:
    answer = await Rpc(Lsps1(direct.channels)).answer(PEER, raw)
    expected = {"jsonrpc": "2.0", "id": None, "error": error}
    assert json.loads(answer or b"") == expected


async def test_params_may_be_missing_and_are_an_object(direct: OrdersHarness) -> None:
    answering = Rpc(Lsps1(direct.channels))
    for params in ("", ',"params":null', ',"params":{}'):
        raw = f'{{"id":"1","method":"lsps0.list_protocols"{params}}}'.encode()
        answer = await answering.answer(PEER, raw)
        assert json.loads(answer or b"") == {
            "jsonrpc": "2.0",
            "id": "1",
            "result": {"protocols": [1]},
        }
    raw = b'{"id":"1","method":"lsps0.list_protocols","params":[]}'
    answer = await answering.answer(PEER, raw)
    assert json.loads(answer or b"")["error"]["data"] == {
        "property": "params",
        "message": "params: must be an object",
        "unrecognized": [],
    }


async def test_each_call_takes_its_own_fields_alone(direct: OrdersHarness) -> None:
    for method, known in (
        ("lsps0.list_protocols", {}),
        ("lsps1.get_info", {}),
        ("lsps1.get_order", {"order_id": "1"}),
    ):
        answer = await call_lsps1(direct, method, **known, more=1)
        assert answer["error"]["data"]["unrecognized"] == ["more"]


async def test_the_longest_message_and_the_longest_id_are_answered(
    direct: OrdersHarness,
) -> None:
    answering = Rpc(Lsps1(direct.channels))
    raw = json.dumps({"id": "1" * 128, "method": "lsps0.list_protocols"}).encode()
    for padded in (raw, raw.ljust(LONGEST)):
        answer = await answering.answer(PEER, padded)
        assert json.loads(answer or b"")["id"] == "1" * 128
    assert await answering.answer(PEER, raw.ljust(LONGEST + 1)) is None


class Broken(FakePayments):
    """A treasury of which nobody thought."""

    async def request(
        self, order_id: str, sats: Sats, *, lives: timedelta, with_address: bool = True
    ) -> PaymentRequest:
        del order_id, sats, lives, with_address
        raise RuntimeError("the password is hunter2")


async def test_what_is_broken_is_ours_to_mend_and_not_to_show(
    direct: OrdersHarness, logged: pytest.LogCaptureFixture
) -> None:
    broken = replace(direct.channels, payments=Broken())
    request = {"id": ZEUS_ID, "method": "lsps1.create_order", "params": WANTED}
    raw = json.dumps(request).encode()
    answer = await Rpc(Lsps1(broken)).answer(PEER, raw)
    assert json.loads(answer or b"") == {
        "jsonrpc": "2.0",
        "id": ZEUS_ID,
        "error": {"code": -32603, "message": "Internal error"},
    }
    assert "an LSPS request failed" in logged.text
