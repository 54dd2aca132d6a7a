"""A payment to the node that bought a channel, which is what channels are bought for.

The chain's customer pays: it has announced channels to whoever sells here. Where the
customer itself bought the channel, its seller pays.
"""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final, Protocol

from leyden.errors import SetupError
from leyden_workshop.devnet import access, wallet
from leyden_workshop.devnet.waiting import until

_SELLERS: Final = ("asker", "seller")
_MAX_SATS: Final = 10_000


class Payee(Protocol):
    """A node that gets a payment."""

    async def key(self) -> str:
        """Return the node's public key."""
        ...

    async def invoice(self, sats: int) -> str:
        """Return an invoice that names private channels, too."""
        ...


async def receive(home: Path, payee: Payee, channel: Mapping[str, Any]) -> int:
    """Pay an invoice of the node that has this new channel; return the satoshis.

    Payers find a private channel in the invoice, and an announced one in their graph.
    """
    lnds = access.load(home).lnds
    sats = min(_MAX_SATS, int(channel["capacity"]) // 10)
    key = await payee.key()
    async with AsyncExitStack() as stack:
        customer, *sellers = [
            await stack.enter_async_context(wallet.opened(lnds[name]))
            for name in ("customer", *_SELLERS)
        ]
        peer = await _peer(sellers, channel)
        payer = peer if key == await customer.key() else customer
        invoice = ""

        async def is_ready() -> bool:
            nonlocal invoice
            if not await _is_active(peer, channel):
                return False
            if payer is customer and not channel["private"]:
                return await payer.has_route(key, sats)
            invoice = await payee.invoice(sats)
            return payer is peer or await payer.has_hints(invoice)

        async def is_paid() -> bool:
            return bool((await payer.pay(invoice))["status"] == "SUCCEEDED")

        await until(is_ready, "payers don't find the channel")
        invoice = invoice or await payee.invoice(sats)
        await until(is_paid, "the payment through the channel failed")
    return sats


async def _peer(
    sellers: list[wallet.Wallet], channel: Mapping[str, Any]
) -> wallet.Wallet:
    for each in sellers:
        if await each.key() == channel["remote_pubkey"]:
            return each
    raise SetupError("nobody on this private chain sold the channel")


async def _is_active(peer: wallet.Wallet, channel: Mapping[str, Any]) -> bool:
    """Return whether the peer forwards payments to a channel, too.

    lnd avoids a channel for an hour once it failed.
    """
    return any(
        each["channel_point"] == channel["channel_point"] and each["active"]
        for each in await peer.channels()
    )
