"""Connections of aiohttp, for all who stop reading before a server stops telling."""

import aiohttp


def cut(answer: aiohttp.ClientResponse) -> None:
    """Close the connection of an answer that was not read to its end.

    Left to aiohttp it would be open until the server has said goodbye as well, for up
    to 30 s and beyond the end of the session, which knows of it no more.
    """
    if answer.connection is not None and answer.connection.transport is not None:
        answer.connection.transport.abort()
