"""Buying a channel, as the story first-channel and the quickstart do."""

from typing import Any

import pytest

from leyden_workshop.devnet.purchase import Purchase

CHANNEL = {"channel_point": "ab:0", "active": True, "capacity": "1000000"}


class Shelf:
    """A platform that sells one channel, and a buyer who takes it."""

    def __init__(self, *, invoice: str, due: int, credit: int) -> None:
        self.order = {
            "order_id": "7",
            "lightning_invoice": invoice,
            "amount_due": due,
            "credit_used": credit,
            "sidecar_ticket": "sidecar1",
        }
        self.ways = iter(("created", "submitted", "filled"))
        self.paid: list[str] = []
        self.registered: list[str] = []

    async def call(self, _: str, path: str, body: object = None) -> dict[str, Any]:
        assert path in {"/flow/create", "/flow/status"}, body
        if path == "/flow/create":
            return {**self.order, "status": "waiting_payment"}
        return {**self.order, "status": next(self.ways)}

    async def pay(self, invoice: str) -> None:
        self.paid.append(invoice)

    async def register(self, ticket: str) -> None:
        self.registered.append(ticket)

    async def channels(self) -> list[dict[str, Any]]:
        return [CHANNEL] if self.registered else []


@pytest.mark.parametrize(
    ("invoice", "due", "credit", "told"),
    [
        ("lnsb1", 16_163, 0, "16,163 sat to pay over Lightning"),
        (
            *("lnsb1", 4_625, 11_538),
            "4,625 sat to pay over Lightning; credit of earlier orders pays 11,538 sat",
        ),
        ("", 0, 16_163, "nothing to pay; credit of earlier orders pays 16,163 sat"),
        ("", 0, 0, "nothing to pay"),
    ],
    ids=["paid for", "partly from credit", "from credit", "charged later"],
)
async def test_a_channel_is_bought_whether_there_is_something_to_pay_or_not(
    invoice: str, due: int, credit: int, told: str
) -> None:
    shelf = Shelf(invoice=invoice, due=due, credit=credit)
    said = list[str]()
    buying = Purchase(call=shelf.call, pay=shelf.pay, buyer=shelf, tell=said.append)
    assert await buying.buy(1_000_000) == ("7", CHANNEL)
    assert shelf.paid == [invoice] * bool(invoice)
    assert shelf.registered == ["sidecar1"]
    assert said[0] == f"order 7: {told}"
