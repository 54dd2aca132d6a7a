"""The REST of the private chain's lnds and poolds, which speak it alike."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from leyden.devnet.access import Lnd, Pool
from leyden.errors import Away, Refused
from leyden.lnd.connection import Access, Connection
from leyden.lnd.rest import CALL_S, Errors


@asynccontextmanager
async def opened(name: str, access: Lnd | Pool) -> AsyncIterator[Connection]:
    """Open connections to a daemon; it need not answer yet.

    Refused with its own words, Away when it is not there.
    """
    host, _, port = access.rest.rpartition(":")
    connection = Connection(
        Access(
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
