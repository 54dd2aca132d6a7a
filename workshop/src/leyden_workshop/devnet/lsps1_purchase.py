"""Buying a channel over LSPS1, as a wallet does that has no account here."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from leyden.errors import Conflict
from leyden_workshop.devnet import access, direct_purchase, wallet
from leyden_workshop.devnet.calls import Calls
from leyden_workshop.devnet.direct_purchase import PurchasingNode

_BASE = "/lsps1/v1"
_EXPIRY_BLOCKS = 4_380


async def buy(
    home: Path,
    call: Calls,
    to: PurchasingNode,
    tell: Callable[[str], None],
    *,
    capacity: int,
) -> tuple[str, dict[str, Any]]:
    """Order and pay a channel; return the order's id and the channel once it is active.

    Raise Conflict if the order ends without one.
    """
    info = await call("GET", f"{_BASE}/get_info", None)
    (uri,) = info["uris"]
    tell(f"the LSP is {uri}")
    await _connect(home, uri)
    order = await call("POST", f"{_BASE}/create_order", _wish(to.key, capacity))
    id_, bolt11 = order["order_id"], order["payment"]["bolt11"]
    tell(f"order {id_}: {int(bolt11['order_total_sat']):,} sat to pay")
    found: Mapping[str, Any] = order

    async def completed() -> bool:
        nonlocal found
        found = await call("GET", f"{_BASE}/get_order?order_id={id_}", None)
        if found["order_state"] == "FAILED":
            raise Conflict("the order failed")
        return bool(found["order_state"] == "COMPLETED")

    await direct_purchase.paid(home, bolt11["invoice"], completed)
    tell("paid; the channel is published, and the payment is settled")
    point = found["channel"]["funding_outpoint"]
    return id_, await direct_purchase.active(home, to, point)


async def _connect(home: Path, uri: str) -> None:
    key, _, host = uri.partition("@")
    async with wallet.opened(access.load(home).lnds["customer"]) as customer:
        await customer.connect(key, at=host)


def _wish(key: str, capacity: int) -> dict[str, object]:
    return {
        "public_key": key,
        "lsp_balance_sat": str(capacity),
        "client_balance_sat": "0",
        "required_channel_confirmations": 1,
        "funding_confirms_within_blocks": 6,
        "channel_expiry_blocks": _EXPIRY_BLOCKS,
        "token": "",
        "announce_channel": False,
    }
