"""The REST of the lnds and poolds of this machine, which speak it alike."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from leyden.errors import Away, Refused
from leyden.lnd.rest import CALL_S, Errors
from leyden.nodes.lnd.connection import LndAccess, LndConnection


class LndEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """An lnd's addresses, with its certificate and macaroon."""

    rest: str  # host:port, as the others
    grpc: str
    peer: str
    certificate: str
    macaroon: str


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    """A poold's addresses and credentials, and the lnd it trades for."""

    rest: str
    grpc: str
    certificate: str
    macaroon: str
    lnd: str  # the name of the one it trades for


@asynccontextmanager
async def opened(name: str, access: LndEndpoint | Pool) -> AsyncIterator[LndConnection]:
    """Open connections to a daemon; it need not answer yet.

    Refused with its own words, Away when it is not there.
    """
    host, _, port = access.rest.rpartition(":")
    connection = LndConnection(
        LndAccess(
            host=host,
            port=int(port),
            certificate=Path(access.certificate),
            macaroon=Path(access.macaroon),
            is_new=True,
        ),
        Errors(
            away=lambda why: Away(f"{name} at {access.rest} {why}"),
            refused=lambda reason, _: Refused(reason),
        ),
        connect_s=CALL_S,  # a dozen daemons may be starting at once
    )
    try:
        yield connection
    finally:
        await connection.close()
