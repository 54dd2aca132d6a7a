"""Messages of the seller's peers, which carry LSPS over BOLT 8.

lnd passes each message to all current subscribers, and keeps none: a message that
arrives while nobody listens is lost, and its sender asks again.
"""

import base64
import binascii
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final, Protocol

from leyden.channels.direct.connection import SellerConnection, refusal
from leyden.errors import NodeRefused
from leyden.nodes.lnd.connection import LndAccess
from leyden.values import Struct

LSPS: Final = 37913  # the type of all messages of LSPS (bLIP-50)
# lnd drops the connection to a peer that one byte more is sent to.
LONGEST: Final = 65_533
_NOT_CONNECTED: Final = "peer is not connected"


class PeerMessage(Struct, frozen=True):
    """A message of a peer, whose key the transport has proven."""

    peer: str
    data: bytes


class Messages(Protocol):
    """Messages of LSPS from and to the seller's peers."""

    def listen(self) -> AsyncGenerator[PeerMessage, None]:
        """Yield messages as they arrive; raise SellerAway when none can arrive."""
        ...

    async def send(self, peer: str, data: bytes) -> bool:
        """Send a message; return False if the peer is not connected."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class LndMessages:
    """Messages through the seller's lnd."""

    def __init__(self, access: LndAccess) -> None:
        self._lnd = SellerConnection(access)

    async def listen(self) -> AsyncGenerator[PeerMessage, None]:
        """Yield messages of LSPS, and no others."""
        stream = self._lnd.stream("GET", "/v1/custommessage/subscribe")
        try:
            async with aclosing(stream) as messages:
                async for message in messages:
                    if int(message["type"]) != LSPS:
                        continue
                    try:
                        yield PeerMessage(
                            base64.b64decode(message["peer"]).hex(),
                            base64.b64decode(message.get("data", "")),
                        )
                    except binascii.Error:
                        continue
        except NodeRefused as error:
            raise refusal(error) from error

    async def send(self, peer: str, data: bytes) -> bool:
        """Send a message of LSPS to a connected peer."""
        if len(data) > LONGEST:
            raise ValueError("no message is as long as this")
        message = {
            "peer": base64.b64encode(bytes.fromhex(peer)).decode(),
            "type": LSPS,
            "data": base64.b64encode(data).decode(),
        }
        try:
            await self._lnd.call("POST", "/v1/custommessage", message)
        except NodeRefused as error:
            if _NOT_CONNECTED in error.message:
                return False
            raise refusal(error) from error
        return True

    async def close(self) -> None:
        """Release the connections to the seller's lnd."""
        await self._lnd.close()
