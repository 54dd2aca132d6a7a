"""What an interceptor makes of the messages that lnd sends it."""

from collections.abc import AsyncIterator
from typing import Any, cast

import aiohttp
import pytest

from leyden.channels.direct.lnd_forwarding import LndInterception
from leyden.errors import SellerAway

REFUSED = '{"error":{"code":2,"message":"interceptor already exists"}}'


class Heard:
    """A socket with one message."""

    def __init__(self, kind: aiohttp.WSMsgType, data: object) -> None:
        self._message = aiohttp.WSMessage(cast("Any", kind), data, None)

    async def __aiter__(self) -> AsyncIterator[aiohttp.WSMessage]:
        yield self._message


@pytest.mark.parametrize(
    ("kind", "data", "why"),
    [
        (aiohttp.WSMsgType.TEXT, REFUSED, "interceptor already exists"),
        (aiohttp.WSMsgType.ERROR, TimeoutError(), "closed the interceptor"),
    ],
)
async def test_an_interceptor_that_ends_is_away(
    kind: aiohttp.WSMsgType, data: object, why: str
) -> None:
    connection = LndInterception(cast("Any", Heard(kind, data)))
    with pytest.raises(SellerAway, match=why):
        _ = [each async for each in connection.htlcs()]
