"""The interface of external certificate authorities."""

from datetime import timedelta
from typing import Protocol


class Issuer(Protocol):
    """An external certificate authority.

    AuthorityRefused is a refusal; AuthorityAway is not an answer: retry.
    """

    async def begin(self, name: str) -> str:
        """Place an order for a certificate of that name; return its URL."""
        ...

    async def advance(self, order_url: str, request: bytes) -> bytes | timedelta:
        """Advance an order; return the chain as PEM, or the time to wait.

        `request` is the signing request in DER; it has to be the same each time.
        Raise AuthorityRefused if the order has failed for good.
        """
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
