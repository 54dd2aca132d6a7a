"""A connector for aiohttp that drops connections of calls not read to the end."""

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ConnectionKey


class Connector(aiohttp.TCPConnector):
    """A connector that closes the connection of a call not read to its end.

    aiohttp alone keeps it open until the server closes it as well, for up to 30 s and
    beyond the end of the session, which no longer knows it. Its setting
    for this, `enable_cleanup_closed`, waits for 2 s, and does nothing on a Python from
    3.12.8 on.
    """

    def _release(
        self,
        key: ConnectionKey,
        protocol: ResponseHandler,
        *,
        should_close: bool = False,
    ) -> None:
        left = should_close or protocol.should_close
        transport = protocol.transport
        super()._release(key, protocol, should_close=should_close)
        if left and transport is not None:
            transport.abort()
