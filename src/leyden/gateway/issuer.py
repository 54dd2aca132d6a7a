"""What the platform wants of whoever issues certificates for its names."""

from datetime import timedelta
from typing import Protocol


class Issuer(Protocol):
    """A certificate authority of others.

    It says no with AuthorityRefused; AuthorityAway is not an answer: ask again.
    """

    async def begin(self, name: str) -> str:
        """Place an order for a certificate of that name; give where it is."""
        ...

    async def advance(self, order_url: str, request: bytes) -> bytes | timedelta:
        """Take an order on: give the chain as PEM, or how long to wait and try again.

        `request` is what is to be signed, as DER; it has to be the same each time.
        AuthorityRefused is the end of the order.
        """
        ...

    async def close(self) -> None:
        """Let go of the authority."""
        ...
