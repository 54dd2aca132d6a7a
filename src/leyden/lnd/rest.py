"""lnd's REST API without I/O: request headers, and parsing of responses.

`client.py` does the I/O with asyncio, `leyden.client.lnd` with blocking calls; poold
has the same protocol. Fast to import, as the Python library must be.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from leyden.errors import LeydenError, NodeAway, NodeRefused
from leyden.values import Struct

CALL_S: Final = 30.0  # for one call
# lnd answers when the wallet is open: a second, or a minute for one of many channels.
WALLET_S: Final = 180.0
CONNECT_S: Final = 10.0  # the part of that for connecting
_LOWEST_ERROR: Final = 400
_UNKNOWN: Final = 2  # gRPC's code, for responses without one
_RETRY_AFTER_S: Final = 5


class Errors(Struct, frozen=True):
    """Functions that create the errors to raise; they depend on whose lnd is called.

    `away` gets the reason as a verb phrase ("does not respond"). `refused` gets lnd's
    own reason, and its gRPC status code.
    """

    away: Callable[[str], LeydenError]
    refused: Callable[[str, int], LeydenError]


def refused(reason: str, code: int) -> NodeRefused:
    """Return the error for a refusal, with lnd's reason."""
    return NodeRefused(reason, code=code)


def _away(why: str) -> NodeAway:
    return NodeAway(f"the node {why}", retry_after_s=_RETRY_AFTER_S)


NODE: Final = Errors(_away, refused)


def headers(macaroon: str) -> dict[str, str]:
    """Return the headers that authenticate a call with a macaroon in hex, if any."""
    return {"Grpc-Metadata-macaroon": macaroon} if macaroon else {}


def read(status: int, content: bytes, errors: Errors) -> dict[str, Any]:
    """Parse a response; raise if it is an error."""
    body = _read(content, errors)
    if status >= _LOWEST_ERROR:
        raise _refusal(body, errors)
    return body


def read_line(content: bytes, errors: Errors) -> dict[str, Any]:
    """Parse one line of a stream; raise if it is an error."""
    body = _read(content, errors)
    if "error" in body:
        raise _refusal(body, errors)
    result: dict[str, Any] = body["result"]
    return result


def _read(content: bytes, errors: Errors) -> dict[str, Any]:
    try:
        body = json.loads(content)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise errors.away("did not return JSON")
    return body


def _refusal(body: Mapping[str, Any], errors: Errors) -> LeydenError:
    inner = body.get("error")
    if isinstance(inner, Mapping):  # the form that streams use
        body = inner
    code = body.get("code", body.get("grpc_code", _UNKNOWN))
    return errors.refused(str(body.get("message", "")), int(code))
