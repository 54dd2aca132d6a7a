"""What somebody pastes to be paid, and the URI that asks for it."""

from typing import Any

import pytest

from tests.nodes.pages.wallet.conftest import Modular

pytestmark = pytest.mark.asyncio(loop_scope="session")

INVOICE = "lnbc20u1pvjluezqqqq"
ADDRESS = "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"  {INVOICE}\n", {"invoice": INVOICE}),
        (f"LIGHTNING:{INVOICE.upper()}", {"invoice": INVOICE}),
        (ADDRESS, {"address": ADDRESS}),
        (f"bitcoin:{ADDRESS}", {"address": ADDRESS, "message": ""}),
        (
            f"BITCOIN:{ADDRESS}?amount=0.00021&label=a%20lamp&lightning={INVOICE.upper()}",
            {
                "address": ADDRESS,
                "sats": 21_000,
                "message": "a lamp",
                "invoice": INVOICE,
            },
        ),
        # A float would make 29 of it.
        (f"bitcoin:{ADDRESS}?amount=0.0000003", {"address": ADDRESS, "sats": 30}),
        (f"bitcoin:?lightning={INVOICE}", {"invoice": INVOICE}),
        ("lightning:pier@example.org", {"lnurl": "pier@example.org"}),
        ("LNURL1DP68GURN8GHJ7", {"lnurl": "LNURL1DP68GURN8GHJ7"}),
    ],
)
async def test_it_is_read(js: Modular, text: str, found: dict[str, Any]) -> None:
    assert await js.call("destination", "destination", text) == {
        **({"message": ""} if "?" in text else {}),
        **found,
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a lamp",
        "bitcoin:",
        f"bitcoin:{ADDRESS}?amount=-1",
        f"bitcoin:{ADDRESS}?amount=0.000000001",
        f"bitcoin:{ADDRESS}?amount=1e3",
        f"bitcoin:{ADDRESS}?req-signature=7",
    ],
)
async def test_it_is_refused(js: Modular, text: str) -> None:
    assert (await js.call("destination", "destination", text))["trouble"] == "form"


async def test_a_uri_that_is_written_is_read(js: Modular) -> None:
    given = {
        "address": ADDRESS,
        "sats": 150_000_001,
        "message": "a & b",
        "invoice": INVOICE,
    }
    text = await js.call("destination", "bip21", given)
    assert "amount=1.50000001&" in text
    assert await js.call("destination", "destination", text) == given


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("21", 21),
        (" 1,000 ", 1_000),
        ("1 000 000", 1_000_000),
        ("0", 0),
        ("1,5", None),
        ("0,00021", None),
        ("1.5", None),
        ("-1", None),
        ("1e3", None),
        ("", None),
        ("1" * 17, None),
    ],
)
async def test_an_amount_is_whole_or_none(
    js: Modular, text: str, amount: int | None
) -> None:
    assert await js.call("shown", "typedSats", text) == amount
