"""A client for the treasury's lnd: a host, a certificate, a macaroon.

Any lnd can be the treasury.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from leyden.errors import NodeRefused, TreasuryAway
from leyden.lnd import rest
from leyden.nodes.lnd.connection import LndAccess, LndConnection

# All that our macaroon has to allow: nothing that spends, opens or bakes.
PERMISSIONS = (
    "invoices:read",
    "invoices:write",
    "address:write",
    "onchain:read",
    "info:read",
    "uri:/lnrpc.Lightning/ChannelBalance",
)

_RETRY_AFTER_S = 5


class Treasury(LndConnection):
    """Calls the treasury; TreasuryAway without answer, NodeRefused with its reason."""

    def __init__(self, access: LndAccess) -> None:
        super().__init__(access, rest.Errors(_away, rest.refused))

    async def stream(
        self, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Yield what it tells until it ends; TreasuryAway when it does not."""
        try:
            async with aclosing(super().stream(method, path, body)) as stream:
                async for message in stream:
                    yield message
        except NodeRefused as error:
            raise refusal(error) from error


def _away(why: str) -> TreasuryAway:
    return TreasuryAway(why=f"the treasury {why}", retry_after_s=_RETRY_AFTER_S)


def unknown_invoice() -> TreasuryAway:
    """Return the error for an invoice that this treasury never created.

    This is another treasury than the one that created the invoice.
    """
    return TreasuryAway(
        why="the treasury does not know an invoice of ours",
        retry_after_s=_RETRY_AFTER_S,
    )


def refusal(error: NodeRefused) -> TreasuryAway:
    """Return the error for a refusal for reasons of lnd: locked, starting."""
    return TreasuryAway(
        why=f"the treasury refuses: {error.message}", retry_after_s=_RETRY_AFTER_S
    )
