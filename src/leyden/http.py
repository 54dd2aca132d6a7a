"""Connections of aiohttp, for all who stop before a server has told everything."""

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ConnectionKey


class Connector(aiohttp.TCPConnector):
    """Closes the connection of a call that is cancelled or not read to its end.

    Left to aiohttp it would be open until the server has said goodbye as well, for up
    to 30 s and beyond the end of the session, which knows of it no more. Its setting
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
